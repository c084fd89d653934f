// How blocks of parameters travel between workers. A block is an id here: what it stands for lies where both can reach
// it, and whoever has popped the id owns that memory until it pushes the id on. A transport between machines keeps this
// face, and sends the block's bytes along.
#pragma once
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <vector>

#include "asynchronous/queue.hpp"

namespace topmix::nomad {

using Block = uint32_t;

class Transport {
  public:
    virtual ~Transport() = default;
    virtual void push(Block b, size_t to) = 0;
    /// False if nothing waits for this worker.
    virtual bool pop(size_t at, Block& b) = 0;
};

/// Within one process: a ring for each worker, with room for every block, so that a push never waits.
class Rings final : public Transport {
  public:
    Rings(size_t blocks, size_t workers) {
        for (size_t w = 0; w < workers; ++w) ring_.push_back(std::make_unique<Ring<Block>>(blocks));
    }
    void push(Block b, size_t to) override {
        if (!ring_[to]->push(b))
            throw std::logic_error("a queue with room for every block is full: one is there twice");
    }
    bool pop(size_t at, Block& b) override { return ring_[at]->pop(b); }

  private:
    std::vector<std::unique_ptr<Ring<Block>>> ring_;
};

}  // namespace topmix::nomad
