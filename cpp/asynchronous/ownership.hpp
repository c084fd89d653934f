// Who holds each block, where it goes next, and how often each worker has had it.
//
// A block is held by one worker, on its way to one, or at home once its rounds are over. In each round it visits every
// worker once, in an order that is drawn from (seed, round, block), so that no worker waits long for it, as it would
// now and then if every step were drawn anew. Or the first order is kept for all rounds, as topics have it: then a
// worker sees a block again after about as long as the last time. Drawn for each round, a block often comes back at
// once, when little has changed, and then late: two workers need a tenth more passes. Clusters of a mixture are drawn
// for each round, because those that meet at a worker compete for its rows and should be others every time.
//
// The ledger is always on: it is a few words a visit. A block that is taken or given by someone who has no right to it
// is a logic_error at once, in every build.
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

namespace topmix::nomad {

enum class Routes { kept, drawn_each_round };

class Ledger {
  public:
    Ledger(size_t blocks, size_t workers, uint64_t seed, Routes routes)
        : blocks_(blocks),
          workers_(workers),
          seed_(seed),
          routes_(routes),
          entry_(new Entry[blocks]),
          visits_(blocks * workers, 0) {
        for (Block b = 0; b < blocks; ++b) entry_[b].route.resize(workers), entry_[b].draw(seed_, b);
    }

    size_t blocks() const { return blocks_; }
    size_t workers() const { return workers_; }

    /// Where the block goes next.
    size_t next(Block b) const { return entry_[b].route[entry_[b].hops % workers_]; }

    /// Rounds that it has completed. For whoever holds the block.
    size_t rounds(Block b) const { return entry_[b].hops / workers_; }

    /// Worker w has received the block.
    void take(Block b, size_t w) {
        if (b >= blocks_) fail(b, w, "is no block");
        int32_t before = kTravels;
        if (!entry_[b].holder.compare_exchange_strong(before, int32_t(w), std::memory_order_acquire))
            fail(b, w, before == kHome ? "was taken from home" : "was taken while another worker holds it");
        if (next(b) != w) fail(b, w, "came to the wrong worker");
    }

    /// Worker w has had the block and lets go of it: the next worker, or `workers` if the block has made its rounds.
    size_t give(Block b, size_t w, size_t last_round) {
        if (holder(b) != int32_t(w)) fail(b, w, "was given by a worker that does not hold it");
        Entry& entry = entry_[b];
        ++visits_[b * workers_ + w];
        if (++entry.hops % workers_ == 0 && routes_ == Routes::drawn_each_round) entry.draw(seed_, b);
        const bool home = entry.hops >= last_round * workers_;
        const size_t to = home ? workers_ : next(b);
        entry.holder.store(home ? kHome : kTravels, std::memory_order_release);
        return to;
    }

    /// A worker that is to stop lets go of a block that it has not worked on.
    void put_back(Block b, size_t w) {
        if (holder(b) != int32_t(w)) fail(b, w, "was put back by a worker that does not hold it");
        entry_[b].holder.store(kTravels, std::memory_order_release);
    }

    /// The worker that holds it, kTravels or kHome.
    int32_t holder(Block b) const { return entry_[b].holder.load(std::memory_order_acquire); }

    /// Blocks at home set out again. For when nobody works.
    void set_out(Block b) { entry_[b].holder.store(kTravels, std::memory_order_release); }

    /// [blocks, workers]; exact when nobody works.
    const std::vector<uint64_t>& visits() const { return visits_; }

    /// For when nobody works: takes what waits for each worker out and back in, and throws logic_error unless every
    /// block is there once, for the right worker, or at home.
    void audit(Transport& transport) {
        std::vector<size_t> found(blocks_, 0);
        for (size_t w = 0; w < workers_; ++w) {
            std::vector<Block> waiting;
            for (Block b; waiting.size() <= blocks_ && transport.pop(w, b);) waiting.push_back(b);
            for (const Block b : waiting) {
                if (b >= blocks_ || next(b) != w) fail(b, w, "waits for the wrong worker");
                ++found[b];
                transport.push(b, w);
            }
        }
        for (Block b = 0; b < blocks_; ++b) {
            if (holder(b) == kHome ? found[b] != 0 : found[b] != 1)
                fail(b, workers_, found[b] ? "is there twice" : "is lost");
            if (holder(b) >= 0) fail(b, size_t(holder(b)), "is held by a worker that does not work");
            const auto row = visits_.begin() + std::ptrdiff_t(b * workers_);
            if (std::accumulate(row, row + std::ptrdiff_t(workers_), uint64_t(0)) != entry_[b].hops)
                fail(b, workers_, "was not visited as often as it moved");
        }
    }

    static constexpr int32_t kTravels = -1, kHome = -2;

  private:
    struct Entry {
        std::atomic<int32_t> holder{kTravels};
        uint64_t hops = 0;              // written by the holder
        std::vector<uint32_t> route{};  // of this round, written by the holder

        void draw(uint64_t seed, Block b) {
            std::iota(route.begin(), route.end(), uint32_t(0));
            Rng rng(seed, uint32_t(hops / route.size()), b);
            for (size_t i = route.size(); i > 1; --i) std::swap(route[i - 1], route[rng.below(uint32_t(i))]);
        }
    };
    [[noreturn]] static void fail(Block b, size_t w, const char* what) {
        throw std::logic_error("block " + std::to_string(b) + " " + what + " (worker " + std::to_string(w) + ")");
    }

    const size_t blocks_, workers_;
    const uint64_t seed_;
    const Routes routes_;
    std::unique_ptr<Entry[]> entry_;
    std::vector<uint64_t> visits_;  // [blocks, workers], each written by the holder
};

}  // namespace topmix::nomad
