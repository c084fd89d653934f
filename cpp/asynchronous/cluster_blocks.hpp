// Clusters of a mixture travel in blocks. Here is which clusters a block has, and which of them a worker holds at a
// time.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "asynchronous/routes.hpp"

namespace topmix::asynchronous {

/// Clusters of a block: consecutive ones, at least two if there are two, since one alone can take nothing from another.
struct Blocks {
    size_t clusters, count;
    size_t begin(size_t b) const { return b * clusters / count; }
    size_t end(size_t b) const { return begin(b + 1); }
    std::vector<BlockId> all() const {
        std::vector<BlockId> out(count);
        for (size_t b = 0; b < count; ++b) out[b] = BlockId(b);
        return out;
    }
};

/// The clusters that are with a worker, ascending, and the slot of each among them.
class HeldClusters {
  public:
    explicit HeldClusters(const Blocks& blocks) : blocks_(blocks), slot_(blocks.clusters, -1) {}

    /// Those of the last visit are let go, should it have failed.
    void take(std::span<const BlockId> blocks) {
        let_go();
        for (const BlockId b : blocks)
            for (size_t k = blocks_.begin(b); k < blocks_.end(b); ++k) held_.push_back(k);
        std::ranges::sort(held_);
        for (size_t h = 0; h < held_.size(); ++h) slot_[held_[h]] = int32_t(h);
    }

    void let_go() {
        for (const size_t k : held_) slot_[k] = -1;
        held_.clear();
    }

    size_t size() const { return held_.size(); }
    size_t operator[](size_t h) const { return held_[h]; }
    /// Where cluster k is among those held; -1: elsewhere.
    int32_t slot(size_t k) const { return slot_[k]; }

  private:
    Blocks blocks_;
    std::vector<size_t> held_;
    std::vector<int32_t> slot_;  // [K]
};

}  // namespace topmix::asynchronous
