// Workers that stay with their data while blocks of parameters come and go: the loop that each runs, and how the one
// who started them watches.
//
//     pop a block -> visit it -> tell the ledger -> push it to the next worker
//
// A pass of a worker is one visit to every block. After each it posts what it is at that moment (its own statistics,
// which nobody else writes), and works on: the posts of all workers after the same pass add up to a model that is
// consistent, because what the workers hold adds up to the parameters at any time, whichever blocks are on their way.
// A worker may be `kLead` passes ahead of whoever reads the posts; then it waits.
//
// A Worker has
//     using Post = ...;                            a value that can be moved
//     void visit(std::span<const Block> held);     it alone has these blocks, until it returns
//     Post post() const;
#pragma once
#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "asynchronous/ownership.hpp"
#include "asynchronous/transport.hpp"
#include "base/parallel.hpp"

namespace topmix::nomad {

/// How many blocks a worker visits together: up to `most`; with fewer than `least` it waits a little for more to come.
struct Hold {
    size_t most = 1, least = 1;
};

template <class Worker>
class Fleet {
  public:
    using Post = typename Worker::Post;
    static constexpr size_t kLead = 2;

    Fleet(size_t blocks, std::vector<std::unique_ptr<Worker>> workers, uint64_t seed, Routes routes, Hold hold = {})
        : workers_(std::move(workers)),
          berth_(workers_.size()),
          ledger_(blocks, workers_.size(), seed, routes),
          transport_(std::make_unique<Rings>(blocks, workers_.size())),
          hold_(hold) {
        for (Block b = 0; b < blocks; ++b) transport_->push(b, ledger_.next(b));
    }
    ~Fleet() {
        halt_.store(true);
        crew_.reset();
    }

    size_t size() const { return workers_.size(); }
    Worker& operator[](size_t w) { return *workers_[w]; }
    Ledger& ledger() { return ledger_; }
    /// For when nobody works.
    void audit() { ledger_.audit(*transport_); }

    /// Sets the workers to work until each has made this many passes, counted from the beginning.
    void start(size_t passes) {
        stop();
        passes_ = passes;
        for (Block b = 0; b < ledger_.blocks(); ++b)
            if (ledger_.holder(b) == Ledger::kHome && ledger_.rounds(b) < passes) {
                ledger_.set_out(b);
                transport_->push(b, ledger_.next(b));
            }
        halt_.store(false);
        crew_ = std::make_unique<Crew>(workers_.size(), [this](size_t w) { run(w); });
    }

    /// Has the workers stop after the blocks that they hold, and waits for it. Throws what a worker threw.
    void stop() {
        halt_.store(true);
        if (!crew_) return;
        const std::unique_ptr<Crew> crew = std::move(crew_);
        crew->join();
    }

    /// The next pass whose posts nobody has read.
    size_t next_pass() const { return read_.load(std::memory_order_relaxed) + 1; }

    /// Waits until every worker has posted the next pass: their posts, in order of workers. Asks for interrupts while
    /// it waits, and throws what a worker threw. Empty if the workers were stopped or have no such pass to make.
    std::vector<Post> next() {
        const size_t pass = next_pass();
        auto asked = std::chrono::steady_clock::now();
        for (size_t w = 0; w < workers_.size();) {
            if (berth_[w].posted.load(std::memory_order_acquire) >= pass) {
                ++w;
                continue;
            }
            if (halt_.load() || pass > passes_) {
                if (failed_.load()) stop();
                return {};
            }
            std::this_thread::sleep_for(std::chrono::microseconds(100));
            const auto now = std::chrono::steady_clock::now();
            if (check_interrupt && now - asked > std::chrono::milliseconds(50)) asked = now, check_interrupt();
        }
        std::vector<Post> out;
        for (Berth& berth : berth_) {
            out.push_back(std::move(*berth.slot[pass % kLead]));
            berth.slot[pass % kLead].reset();
        }
        read_.store(pass, std::memory_order_release);
        return out;
    }

    /// What the workers are now. For when nobody works.
    std::vector<Post> now() const {
        std::vector<Post> out;
        for (const auto& worker : workers_) out.push_back(worker->post());
        return out;
    }

    /// Visits so far, of all workers.
    size_t visits() const {
        size_t n = 0;
        for (const Berth& berth : berth_) n += berth.visits.load(std::memory_order_relaxed);
        return n;
    }

  private:
    struct alignas(64) Berth {
        std::atomic<size_t> visits{0}, posted{0};       // written by the worker
        std::array<std::optional<Post>, kLead> slot{};  // the worker fills it, then says posted; the reader empties it
    };

    void run(size_t w) {
        try {
            std::vector<Block> held;
            work(w, held);
            for (const Block b : held) {
                ledger_.put_back(b, w);
                transport_->push(b, w);
            }
        } catch (...) {
            failed_.store(true);
            halt_.store(true);
            throw;
        }
    }

    void work(size_t w, std::vector<Block>& held) {
        Berth& me = berth_[w];
        const size_t B = ledger_.blocks();
        size_t visits = me.visits.load(), posted = me.posted.load();
        for (size_t idle = 0; !halt_.load(std::memory_order_relaxed);) {
            if (visits / B > posted) {  // a pass is over
                if (posted + 1 > read_.load(std::memory_order_acquire) + kLead) {
                    rest(idle++);
                    continue;
                }
                me.slot[(posted + 1) % kLead].emplace(workers_[w]->post());
                me.posted.store(++posted, std::memory_order_release);
            }
            if (visits >= passes_ * B) return;
            const size_t room = std::min(hold_.most, B - visits % B);
            for (Block b; held.size() < room && transport_->pop(w, b);) {
                ledger_.take(b, w);
                held.push_back(b);
            }
            // With too few it waits for more, but not for ever: two workers may each hold what the other waits for.
            if (held.empty() || (held.size() < std::min(hold_.least, room) && idle < kPatience)) {
                rest(idle++);
                continue;
            }
            idle = 0;
            workers_[w]->visit(std::span<const Block>(held));
            for (const Block b : held) {
                const size_t to = ledger_.give(b, w, passes_);
                if (to < workers_.size()) transport_->push(b, to);
            }
            me.visits.store(visits += held.size(), std::memory_order_relaxed);
            held.clear();
        }
    }

    static constexpr size_t kPatience = 200;

    static void rest(size_t idle) {
        if (idle < 100) {
            std::this_thread::yield();
        } else {
            std::this_thread::sleep_for(std::chrono::microseconds(50));
        }
    }

    std::vector<std::unique_ptr<Worker>> workers_;
    std::vector<Berth> berth_;
    Ledger ledger_;
    std::unique_ptr<Transport> transport_;
    const Hold hold_;
    size_t passes_ = 0;
    std::atomic<size_t> read_{0};
    std::atomic<bool> halt_{true}, failed_{false};
    std::unique_ptr<Crew> crew_;  // last: its threads use all of the above
};

}  // namespace topmix::nomad
