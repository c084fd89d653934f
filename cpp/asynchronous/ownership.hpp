// Which worker owns each block, where the block goes next, and how often each worker has had it.
//
// A block is held by one worker, in transit to one, or finished once its rounds are over. In each round it visits every
// worker once, in a random order that is a function of (seed, round, block). So no worker waits long for a block, as it
// would now and then if every move were drawn on its own.
//
// Topics keep the order of the first round (Routes::fixed): a worker then sees a block again after about the same time.
// With an order drawn for each round, a block often returns at once, when little has changed, and then late: two
// workers need a tenth more passes. Clusters of a mixture do get an order for each round: clusters that meet at a
// worker compete for its rows, and should meet others each time.
//
// The checks are on in every build, because they cost little. A worker that takes or gives a block without owning it
// gets a logic_error at once.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "asynchronous/transport.hpp"
#include "base/rng.hpp"

namespace topmix::asynchronous {

enum class Routes { fixed, drawn_each_round };

class OwnershipTable {
  public:
    OwnershipTable(size_t blocks, size_t workers, uint64_t seed, Routes routes)
        : blocks_(blocks),
          workers_(workers),
          seed_(seed),
          routes_(routes),
          entry_(new Entry[blocks]),
          visits_(blocks * workers, 0) {
        for (BlockId b = 0; b < blocks; ++b) entry_[b].route.resize(workers), entry_[b].draw(seed_, b);
    }

    size_t blocks() const { return blocks_; }
    size_t workers() const { return workers_; }

    /// Where the block goes next.
    size_t next(BlockId b) const { return entry_[b].route[entry_[b].moves % workers_]; }

    /// Rounds that the block has completed. Only its holder may ask.
    size_t rounds(BlockId b) const { return entry_[b].moves / workers_; }

    /// Worker w has received the block.
    void take(BlockId b, size_t w) {
        if (b >= blocks_) fail(b, w, "is no block");
        int32_t before = kInTransit;
        if (!entry_[b].holder.compare_exchange_strong(before, int32_t(w), std::memory_order_acquire))
            fail(b, w,
                 before == kFinished ? "was taken after its last round" : "was taken while another worker holds it");
        if (next(b) != w) fail(b, w, "came to the wrong worker");
    }

    /// Worker w has had the block and lets go of it: the next worker, or `workers` if the block has made its rounds.
    size_t give(BlockId b, size_t w, size_t last_round) {
        if (holder(b) != int32_t(w)) fail(b, w, "was given by a worker that does not hold it");
        Entry& entry = entry_[b];
        ++visits_[b * workers_ + w];
        if (++entry.moves % workers_ == 0 && routes_ == Routes::drawn_each_round) entry.draw(seed_, b);
        const bool finished = entry.moves >= last_round * workers_;
        const size_t to = finished ? workers_ : next(b);
        entry.holder.store(finished ? kFinished : kInTransit, std::memory_order_release);
        return to;
    }

    /// A worker that is to stop lets go of a block that it has not worked on.
    void give_back(BlockId b, size_t w) {
        if (holder(b) != int32_t(w)) fail(b, w, "was given back by a worker that does not hold it");
        entry_[b].holder.store(kInTransit, std::memory_order_release);
    }

    /// The worker that holds it, kInTransit or kFinished.
    int32_t holder(BlockId b) const { return entry_[b].holder.load(std::memory_order_acquire); }

    /// A finished block is to make more rounds. Call it while no worker runs.
    void send_again(BlockId b) { entry_[b].holder.store(kInTransit, std::memory_order_release); }

    /// [blocks, workers]; exact while no worker runs.
    const std::vector<uint64_t>& visits() const { return visits_; }

    /// Empties and refills each worker's queue; throws logic_error unless every block is there once, for the right
    /// worker, or is finished. Call it while no worker runs.
    void audit(Transport& transport) {
        std::vector<size_t> found(blocks_, 0);
        for (size_t w = 0; w < workers_; ++w) {
            std::vector<BlockId> waiting;
            for (BlockId b; waiting.size() <= blocks_ && transport.pop(w, b);) waiting.push_back(b);
            for (const BlockId b : waiting) {
                if (b >= blocks_ || next(b) != w) fail(b, w, "waits for the wrong worker");
                ++found[b];
                transport.push(b, w);
            }
        }
        for (BlockId b = 0; b < blocks_; ++b) {
            if (holder(b) == kFinished ? found[b] != 0 : found[b] != 1)
                fail(b, workers_, found[b] ? "is there twice" : "is lost");
            if (holder(b) >= 0) fail(b, size_t(holder(b)), "is held by a worker that does not work");
            const auto row = visits_.begin() + std::ptrdiff_t(b * workers_);
            if (std::accumulate(row, row + std::ptrdiff_t(workers_), uint64_t(0)) != entry_[b].moves)
                fail(b, workers_, "was not visited as often as it moved");
        }
    }

    static constexpr int32_t kInTransit = -1, kFinished = -2;

  private:
    struct Entry {
        std::atomic<int32_t> holder{kInTransit};
        uint64_t moves = 0;             // written by the holder
        std::vector<uint32_t> route{};  // of this round, written by the holder

        void draw(uint64_t seed, BlockId b) {
            std::iota(route.begin(), route.end(), uint32_t(0));
            Rng rng(seed, uint32_t(moves / route.size()), b);
            for (size_t i = route.size(); i > 1; --i) std::swap(route[i - 1], route[rng.below(uint32_t(i))]);
        }
    };
    [[noreturn]] static void fail(BlockId b, size_t w, const char* what) {
        throw std::logic_error("block " + std::to_string(b) + " " + what + " (worker " + std::to_string(w) + ")");
    }

    const size_t blocks_, workers_;
    const uint64_t seed_;
    const Routes routes_;
    std::unique_ptr<Entry[]> entry_;
    std::vector<uint64_t> visits_;  // [blocks, workers], each written by the holder
};

}  // namespace topmix::asynchronous
