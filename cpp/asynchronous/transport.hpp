// How blocks of parameters get from one worker to the next. A block is an id here; its parameters lie in memory that
// all workers can reach, and the worker that has popped the id owns that memory until it pushes the id on. A transport
// between machines would have the same interface, and send the block's bytes with the id.
#pragma once
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <vector>

#include "asynchronous/queue.hpp"

namespace topmix::asynchronous {

using BlockId = uint32_t;

class Transport {
  public:
    virtual ~Transport() = default;
    virtual void push(BlockId b, size_t to) = 0;
    /// False if nothing waits for this worker.
    virtual bool pop(size_t at, BlockId& b) = 0;
};

/// Within one process: a queue for each worker, with room for every block, so that a push never waits.
class Queues final : public Transport {
  public:
    Queues(size_t blocks, size_t workers) {
        for (size_t w = 0; w < workers; ++w) queue_.push_back(std::make_unique<Queue<BlockId>>(blocks));
    }
    void push(BlockId b, size_t to) override {
        if (!queue_[to]->push(b))
            throw std::logic_error("a queue with room for every block is full: one is there twice");
    }
    bool pop(size_t at, BlockId& b) override { return queue_[at]->pop(b); }

  private:
    std::vector<std::unique_ptr<Queue<BlockId>>> queue_;
};

}  // namespace topmix::asynchronous
