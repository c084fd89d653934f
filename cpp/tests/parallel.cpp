// parallel_for: every index once, the first exception out, a way in for Ctrl-C, and few threads.
#include "base/parallel.hpp"

#include <numeric>
#include <stdexcept>
#include <string>

#include "tests/check.hpp"
#include "tests/few_threads.hpp"

using topmix::parallel_for;

namespace {

std::atomic<int> asked{0};

void every_index_is_visited_once() {
    for (size_t n : {0, 1, 7, 1000, 10'003})
        for (int threads : {-1, 0, 1, 2, 7}) {
            std::vector<int> seen(n), owner(n);
            parallel_for(n, 13, threads, [&](size_t begin, size_t end, size_t t) {
                check(begin % 13 == 0 && end - begin <= 13 && t < size_t(std::max(threads, 1)));
                for (size_t i = begin; i < end; ++i) ++seen[i], owner[i] = int(t);
            });
            check(std::accumulate(seen.begin(), seen.end(), size_t(0)) == n);
            check(std::all_of(seen.begin(), seen.end(), [](int c) { return c == 1; }));
        }
}

void the_first_exception_reaches_the_caller() {
    for (int threads : {1, 2, 7}) {
        std::atomic<int> chunks{0};
        try {
            parallel_for(100'000, 1, threads, [&](size_t begin, size_t, size_t) {
                ++chunks;
                if (begin == 50) throw std::runtime_error("fifty");
                if (begin > 50)
                    std::this_thread::sleep_for(std::chrono::microseconds(50));  // the thrower may wait its turn
            });
            check(false, "nothing was thrown");
        } catch (const std::runtime_error& e) {
            check(std::string(e.what()) == "fifty");
        }
        check(chunks < 100'000, "the work went on");
    }
}

void the_caller_is_asked_whether_to_stop() {
    topmix::check_interrupt = [] {
        if (++asked == 2) throw std::domain_error("stop");
    };
    try {
        parallel_for(100'000, 1, 2,
                     [](size_t, size_t, size_t) { std::this_thread::sleep_for(std::chrono::milliseconds(2)); });
        check(false, "the interrupt was ignored");
    } catch (const std::domain_error&) {
        check(asked == 2);
    }
    topmix::check_interrupt = nullptr;
}

size_t running = 0, wanted = 0;

void fewer_threads_do_the_same_work() {
    topmix::report_few_threads = [](size_t r, size_t w) { running = r, wanted = w; };
    for (int left = 0; left <= 4; ++left) {
        running = wanted = 0;
        std::vector<int> seen(1000);
        threads_left = left;
        parallel_for(1000, 13, 4, [&](size_t begin, size_t end, size_t) {
            for (size_t i = begin; i < end; ++i) ++seen[i];
        });
        threads_left = INT_MAX;
        check(std::all_of(seen.begin(), seen.end(), [](int c) { return c == 1; }));
        check(left < 3 ? running == size_t(left) + 1 && wanted == 4 : running == 0, "what was reported");
    }
    topmix::report_few_threads = nullptr;
}

void a_group_is_complete_or_does_nothing() {
    for (int left = 0; left <= 4; ++left) {
        std::atomic<int> ran{0};
        threads_left = left;
        try {
            topmix::ThreadGroup group(4, [&](size_t) { ++ran; });
            group.join();
            check(left == 4 && ran == 4);
        } catch (const std::runtime_error& e) {
            check(left < 4 && ran == 0, "a thread worked without the others");
            check(std::string(e.what()).starts_with("could not start thread " + std::to_string(left + 1) + " of 4"));
        }
        threads_left = INT_MAX;
    }
}

}  // namespace

int main() {
    every_index_is_visited_once();
    the_first_exception_reaches_the_caller();
    the_caller_is_asked_whether_to_stop();
    fewer_threads_do_the_same_work();
    a_group_is_complete_or_does_nothing();
}
