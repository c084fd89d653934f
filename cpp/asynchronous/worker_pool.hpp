// Workers keep their data, and blocks of parameters move between them. Here is the loop of a worker, and the interface
// of the caller that starts the workers and reads their results.
//
//     take a block -> visit it -> give it to the next worker
//
// A pass of a worker is one visit to every block. After each pass the worker puts a post into its mailbox: its own
// statistics, which no other worker writes. Then it works on. The posts of all workers after the same pass add up to a
// consistent model, because the statistics of the workers add up to the parameters at any time, wherever the blocks
// are. A worker that is `kLead` passes ahead of the reader waits.
//
// A Worker has
//     using Post = ...;                            a value that can be moved
//     void visit(std::span<const BlockId> held);   it owns these blocks until it returns
//     Post post() const;
#pragma once
#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "asynchronous/routes.hpp"
#include "base/parallel.hpp"

namespace topmix::asynchronous {

/// How many blocks a worker visits together: up to `most`; with fewer than `least` it waits a little for more to come.
struct HeldBlocks {
    size_t most = 1, least = 1;
};

template <class Worker>
class WorkerPool {
  public:
    using Post = typename Worker::Post;
    static constexpr size_t kLead = 2;

    /// The caller keeps the workers.
    WorkerPool(size_t blocks, const std::vector<std::unique_ptr<Worker>>& workers, uint64_t seed, Routes routes,
               HeldBlocks hold = {})
        : workers_(workers), mailbox_(workers.size()), routes_(blocks, workers.size(), seed, routes), hold_(hold) {}
    ~WorkerPool() {
        halt_.store(true);
        threads_.reset();
    }

    size_t size() const { return workers_.size(); }
    Worker& operator[](size_t w) { return *workers_[w]; }
    const RouteTable& routes() const { return routes_; }

    /// Starts the workers; they run until each has made this many passes, counted from the beginning. Throws where the
    /// system has no thread for one of them, and then none has worked.
    void start(size_t passes) {
        stop();
        if (failed_.load()) throw std::logic_error("a worker failed with blocks in its hands");
        passes_ = std::min(passes, size_t(UINT32_MAX));  // products with blocks and workers fit
        routes_.go_on(passes_);
        halt_.store(false);
        try {
            threads_ = std::make_unique<ThreadGroup>(workers_.size(), [this](size_t w) { run(w); });
        } catch (...) {
            halt_.store(true);  // nobody waits for a pass that nobody makes
            throw;
        }
    }

    /// Stops the workers after the blocks that they hold, and waits for that. Throws what a worker threw.
    void stop() {
        halt_.store(true);
        if (!threads_) return;
        const std::unique_ptr<ThreadGroup> threads = std::move(threads_);
        threads->join();
    }

    /// The next pass whose posts nobody has read.
    size_t next_pass() const { return read_.load(std::memory_order_relaxed) + 1; }

    /// Waits until every worker has posted the next pass: their posts, in order of workers. Asks for interrupts while
    /// it waits, and throws what a worker threw. Empty if the workers were stopped or have no such pass to make.
    std::vector<Post> next() {
        const size_t pass = next_pass();
        auto asked = std::chrono::steady_clock::now();
        for (size_t w = 0; w < workers_.size();) {
            if (mailbox_[w].posted.load(std::memory_order_acquire) >= pass) {
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
        for (Mailbox& mailbox : mailbox_) {
            out.push_back(std::move(*mailbox.slot[pass % kLead]));
            mailbox.slot[pass % kLead].reset();
        }
        read_.store(pass, std::memory_order_release);
        return out;
    }

    /// Posts of the workers as they are now. Call it while no worker runs.
    std::vector<Post> now() const {
        std::vector<Post> out;
        for (const auto& worker : workers_) out.push_back(worker->post());
        return out;
    }

    /// Visits so far, of all workers.
    size_t visits() const {
        size_t n = 0;
        for (const Mailbox& mailbox : mailbox_) n += mailbox.visits.load(std::memory_order_relaxed);
        return n;
    }

  private:
    struct alignas(64) Mailbox {
        std::atomic<size_t> visits{0}, posted{0};  // written by the worker
        // The worker fills a slot, then raises `posted`; the reader empties it.
        std::array<std::optional<Post>, kLead> slot{};
    };

    void run(size_t w) {
        try {
            std::vector<BlockId> held;
            work(w, held);
            for (const BlockId b : held) routes_.give_back(b, w);
        } catch (...) {
            failed_.store(true);
            halt_.store(true);
            throw;
        }
    }

    void work(size_t w, std::vector<BlockId>& held) {
        Mailbox& me = mailbox_[w];
        const size_t B = routes_.blocks();
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
            while (held.size() < room) {
                const auto block = routes_.take(w);
                if (!block) break;
                held.push_back(*block);
            }
            // With too few it waits for more, but not for ever: two workers may each hold what the other waits for.
            if (held.empty() || (held.size() < std::min(hold_.least, room) && idle < kMostIdle)) {
                rest(idle++);
                continue;
            }
            idle = 0;
            workers_[w]->visit(std::span<const BlockId>(held));
            for (const BlockId b : held) routes_.give(b, w, passes_);
            me.visits.store(visits += held.size(), std::memory_order_relaxed);
            held.clear();
        }
    }

    static constexpr size_t kMostIdle = 200;

    static void rest(size_t idle) {
        if (idle < 100) {
            std::this_thread::yield();
        } else {
            std::this_thread::sleep_for(std::chrono::microseconds(50));
        }
    }

    const std::vector<std::unique_ptr<Worker>>& workers_;
    std::vector<Mailbox> mailbox_;
    RouteTable routes_;
    const HeldBlocks hold_;
    size_t passes_ = 0;
    std::atomic<size_t> read_{0};
    std::atomic<bool> halt_{true}, failed_{false};
    std::unique_ptr<ThreadGroup> threads_;  // last: its threads use all of the above
};

}  // namespace topmix::asynchronous
