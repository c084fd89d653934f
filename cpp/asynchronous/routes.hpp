// Where each block of parameters is, where it goes next, and how often each worker has had it. A block is an id here:
// its parameters lie in memory that all workers can reach, and the worker that has taken the id owns that memory until
// it gives the id on.
//
// A block waits for a worker, is held by one, or is finished once its rounds are over. In each round it visits every
// worker once, in a random order that is a function of (seed, round, block). So no worker waits long for a block, as it
// would now and then if every move were drawn on its own.
//
// Topics keep the order of the first round (Routes::fixed): a worker then sees a block again after about the same time.
// With an order drawn for each round, a block often returns at once, when little has changed, and then late: two
// workers need a tenth more passes. Clusters of a mixture do get an order for each round: clusters that meet at a
// worker compete for its rows, and should meet others each time.
//
// The checks are on in every build, because they cost little. A worker that gives a block without owning it gets a
// logic_error at once.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/rng.hpp"

namespace topmix::asynchronous {

using BlockId = uint32_t;

enum class Routes { fixed, drawn_each_round };

class RouteTable {
  public:
    static constexpr int32_t kWaiting = -1, kFinished = -2;

    /// Every block waits for its first worker.
    RouteTable(size_t blocks, size_t workers, uint64_t seed, Routes routes)
        : workers_(workers),
          seed_(seed),
          routes_(routes),
          entry_(blocks),
          queue_(workers),
          visits_(blocks * workers, 0) {
        for (BlockId b = 0; b < blocks; ++b) {
            entry_[b].route.resize(workers);
            draw(b);
            push(b);
        }
    }

    size_t blocks() const { return entry_.size(); }
    size_t workers() const { return workers_; }

    /// The worker that holds the block, kWaiting or kFinished.
    int32_t holder(BlockId b) const { return entry_[b].holder.load(); }

    /// A block that waits for worker w, if there is one: now w holds it.
    std::optional<BlockId> take(size_t w) {
        Queue& queue = queue_[w];
        std::unique_lock hold(queue.lock);
        if (queue.blocks.empty()) return std::nullopt;
        const BlockId b = queue.blocks.front();
        queue.blocks.pop_front();
        hold.unlock();
        int32_t before = kWaiting;
        if (!entry_[b].holder.compare_exchange_strong(before, int32_t(w)))
            fail(b, w, before == kFinished ? "was taken after its last round" : "was taken while another holds it");
        return b;
    }

    /// Worker w has had the block, which goes to the next, unless it has made its rounds.
    void give(BlockId b, size_t w, size_t last_round) {
        require_holder(b, w);
        Entry& entry = entry_[b];
        ++visits_[b * workers_ + w];
        if (++entry.moves % workers_ == 0 && routes_ == Routes::drawn_each_round) draw(b);
        if (entry.moves < last_round * workers_) return push(b);
        entry.holder.store(kFinished);
    }

    /// A worker that is to stop lets go of a block that it has not worked on.
    void give_back(BlockId b, size_t w) {
        require_holder(b, w);
        push(b);
    }

    /// Finished blocks are to make more rounds. Call it while no worker runs.
    void go_on(size_t last_round) {
        for (BlockId b = 0; b < blocks(); ++b)
            if (holder(b) == kFinished && entry_[b].moves / workers_ < last_round) push(b);
    }

    /// [blocks, workers]; exact while no worker runs.
    const std::vector<uint64_t>& visits() const { return visits_; }

    /// Throws logic_error unless every block waits once, for the right worker, or is finished. Call it while no worker
    /// runs.
    void audit() const {
        std::vector<size_t> found(blocks(), 0);
        for (size_t w = 0; w < workers_; ++w)
            for (const BlockId b : queue_[w].blocks) {
                if (next(b) != w) fail(b, w, "waits for the wrong worker");
                ++found[b];
            }
        for (BlockId b = 0; b < blocks(); ++b) {
            if (holder(b) >= 0) fail(b, size_t(holder(b)), "is held by a worker that does not work");
            if (found[b] != size_t(holder(b) == kWaiting)) fail(b, workers_, found[b] ? "is there twice" : "is lost");
            const auto row = visits_.begin() + std::ptrdiff_t(b * workers_);
            if (std::accumulate(row, row + std::ptrdiff_t(workers_), uint64_t(0)) != entry_[b].moves)
                fail(b, workers_, "was not visited as often as it moved");
        }
    }

  private:
    struct Entry {  // written by the holder
        std::atomic<int32_t> holder{kWaiting};
        uint64_t moves = 0;
        std::vector<uint32_t> route{};  // of this round
    };
    struct Queue {
        std::mutex lock{};
        std::deque<BlockId> blocks{};
    };

    size_t next(BlockId b) const { return entry_[b].route[entry_[b].moves % workers_]; }

    void push(BlockId b) {
        entry_[b].holder.store(kWaiting);
        Queue& queue = queue_[next(b)];
        const std::lock_guard hold(queue.lock);
        queue.blocks.push_back(b);
    }

    void draw(BlockId b) {
        auto& [holder, moves, route] = entry_[b];
        std::iota(route.begin(), route.end(), uint32_t(0));
        Rng rng(seed_, uint32_t(moves / workers_), b);
        for (size_t i = workers_; i > 1; --i) std::swap(route[i - 1], route[rng.below(uint32_t(i))]);
    }

    void require_holder(BlockId b, size_t w) const {
        if (holder(b) != int32_t(w)) fail(b, w, "was given by a worker that does not hold it");
    }
    [[noreturn]] static void fail(BlockId b, size_t w, const char* what) {
        throw std::logic_error("block " + std::to_string(b) + " " + what + " (worker " + std::to_string(w) + ")");
    }

    const size_t workers_;
    const uint64_t seed_;
    const Routes routes_;
    std::vector<Entry> entry_;
    std::vector<Queue> queue_;
    std::vector<uint64_t> visits_;  // [blocks, workers], each written by the holder
};

}  // namespace topmix::asynchronous
