// parallel_for: every index once, the first exception out, and a way in for Ctrl-C.
#include "base/parallel.hpp"

#include <numeric>
#include <stdexcept>
#include <string>

#include "tests/check.hpp"

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

}  // namespace

int main() {
    every_index_is_visited_once();
    the_first_exception_reaches_the_caller();
    the_caller_is_asked_whether_to_stop();
}
