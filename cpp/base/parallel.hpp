// The only file that starts a thread.
//
// Work is cut into chunks whose bounds depend on n and grain alone, never on the number of threads: every
// thread would compute the same for a chunk. What chunks write must not overlap; then the bits are the same for
// any number of threads.
#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace topmix {

/// Asked by the calling thread every tenth of a second or so while it works. It may throw to abandon the work: that is
/// how Ctrl-C gets in. The bindings set it once, when the module loads.
inline void (*check_interrupt)() = nullptr;

/// Told by the calling thread, after its work, that so many threads could be started of those that it wanted. It may
/// throw. The bindings set it, too.
inline void (*report_few_threads)(size_t started, size_t wanted) = nullptr;

/// Threads that their owner joins, as std::jthread does, which Apple's library lacks before Xcode 26.
class JoinedThreads {
  public:
    JoinedThreads() = default;
    JoinedThreads(const JoinedThreads&) = delete;
    JoinedThreads& operator=(const JoinedThreads&) = delete;
    ~JoinedThreads() { join(); }

    /// False where the system starts no more: there are limits of processes, of a container and of memory.
    template <class Fn>
    bool start(Fn fn) {
        try {
            threads_.emplace_back(std::move(fn));
            return true;
        } catch (const std::system_error&) {
            return false;
        }
    }
    void join() {
        for (std::thread& thread : threads_) thread.join();
        threads_.clear();
    }

  private:
    std::vector<std::thread> threads_;
};

/// A function that somebody else keeps while it is called: its address and how to call it.
template <class... Args>
class Borrowed {
  public:
    template <class Fn>
        requires(!std::same_as<std::remove_cvref_t<Fn>, Borrowed>)
    Borrowed(Fn&& fn)
        : fn_(&fn), call_([](const void* p, Args... args) {
              (*static_cast<std::remove_reference_t<Fn>*>(const_cast<void*>(p)))(args...);
          }) {}
    void operator()(Args... args) const { call_(fn_, args...); }

  private:
    const void* fn_;
    void (*call_)(const void*, Args...);
};

using Chunk = Borrowed<size_t, size_t, size_t>;

/// What parallel_for does, compiled once and not for each of many loops; one more call for a chunk is nothing. A
/// template only so that bind/precompiled.hpp can say where it is compiled.
template <class Fn>
void run_chunks(size_t n, size_t grain, int threads, Fn fn) {
    grain = std::max<size_t>(grain, 1);
    const size_t chunks = (n + grain - 1) / grain;
    const size_t T = std::clamp<size_t>(threads > 0 ? size_t(threads) : 1, 1, std::max<size_t>(chunks, 1));

    std::atomic<size_t> next{0};
    std::atomic<bool> failed{false};
    std::exception_ptr error;
    std::mutex error_lock;

    auto work = [&](size_t t) {
        auto asked = std::chrono::steady_clock::now();
        try {
            for (size_t c; !failed.load(std::memory_order_relaxed) && (c = next.fetch_add(1)) < chunks;) {
                fn(c * grain, std::min(n, (c + 1) * grain), t);
                if (t == 0 && check_interrupt) {
                    const auto now = std::chrono::steady_clock::now();
                    if (now - asked > std::chrono::milliseconds(100)) asked = now, check_interrupt();
                }
            }
        } catch (...) {
            const std::lock_guard hold(error_lock);
            if (!failed.exchange(true)) error = std::current_exception();
        }
    };
    // Chunks go to whoever asks, so fewer threads do the same work.
    size_t running = 1;
    {
        JoinedThreads pool;
        while (running < T && pool.start([&work, t = running] { work(t); })) ++running;
        work(0);
    }
    if (error) std::rethrow_exception(error);
    if (running < T && report_few_threads) report_few_threads(running, T);
}

/// As many of these threads as have half a millisecond of work each, so that none is started for less: to start one
/// takes a good part of that. `operations` are additions and multiplications in vector code, about.
inline int busy_threads(int threads, double operations) {
    return int(std::clamp(operations / 5e6, 1.0, double(std::max(threads, 1))));
}

/// Calls fn(begin, end, t) on chunks of at most `grain` of [0, n); t < threads says which thread calls (for scratch).
/// The first exception ends the work early and is thrown to the caller.
template <class Fn>
void parallel_for(size_t n, size_t grain, int threads, Fn&& fn) {
    run_chunks<Chunk>(n, grain, threads, fn);
}

/// Threads that work while the caller does something else: fn(t) for t < n, each on a thread of its own. The caller
/// needs a way to tell them to end; the destructor waits for them. Where one cannot be started none calls fn, because
/// the others would wait for it for ever.
class ThreadGroup {
  public:
    template <class Fn>
    ThreadGroup(size_t n, Fn fn) {
        const std::lock_guard until_all_have_started(lock_);
        for (size_t t = 0; t < n; ++t)
            if (!pool_.start([this, fn, t] { run(fn, t); }))
                throw std::runtime_error("could not start thread " + std::to_string(t + 1) + " of " +
                                         std::to_string(n) +
                                         " (limit of processes): use fewer (n_jobs, or workers of the learner)");
        complete_ = true;
    }
    /// Waits for all of them, and throws what was thrown first.
    void join() {
        pool_.join();
        if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
    }

  private:
    template <class Fn>
    void run(const Fn& fn, size_t t) {
        {
            const std::lock_guard wait(lock_);
            if (!complete_) return;
        }
        try {
            fn(t);
        } catch (...) {
            const std::lock_guard hold(lock_);
            if (!error_) error_ = std::current_exception();
        }
    }

    std::mutex lock_;
    bool complete_ = false;
    std::exception_ptr error_;
    JoinedThreads pool_;  // last: destroyed, and so joined, before what they use
};

}  // namespace topmix
