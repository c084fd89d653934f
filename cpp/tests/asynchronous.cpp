// Blocks that move between workers: every one is somewhere once, whoever stops or starts the workers and when.
#include "asynchronous/worker_pool.hpp"

#include <numeric>
#include <string>

#include "asynchronous/shared_topics.hpp"
#include "tests/check.hpp"
#include "tests/few_threads.hpp"

using namespace topmix;
using namespace topmix::asynchronous;

namespace {

/// Plain memory of blocks, and plain memory of workers: the thread sanitizer finds a race on either.
struct Shared {
    std::vector<uint64_t> visits;
    Totals total;
    Shared(size_t blocks) : visits(blocks, 0), total(2) {}
};

struct Counter {
    using Post = std::vector<uint64_t>;
    Counter(Shared* s, std::vector<uint64_t> m) : shared(s), mine(std::move(m)) {}
    Shared* shared;
    std::vector<uint64_t> mine;
    size_t fail_after = SIZE_MAX;
    bool pause = false;

    void visit(std::span<const BlockId> held) {
        if (pause) std::this_thread::sleep_for(std::chrono::milliseconds(40));
        for (const BlockId b : held) {
            if (fail_after-- == 0) throw std::runtime_error("out of order");
            ++shared->visits[b], ++mine[b];
            shared->total.add(std::vector<double>{0.1, double(b)});
        }
    }
    Post post() const { return mine; }
};

std::vector<std::unique_ptr<Counter>> counters(Shared& shared, size_t workers) {
    std::vector<std::unique_ptr<Counter>> out;
    for (size_t w = 0; w < workers; ++w)
        out.push_back(std::make_unique<Counter>(&shared, std::vector<uint64_t>(shared.visits.size(), 0)));
    return out;
}

void every_worker_has_every_block_once_a_pass() {
    for (size_t workers : {1, 2, 3, 8})
        for (size_t blocks : {1, 7, 40})
            for (auto [routes, held_blocks] :
                 {std::pair{Routes::fixed, HeldBlocks{1, 1}}, {Routes::drawn_each_round, HeldBlocks{4, 2}}}) {
                Shared shared(blocks);
                const auto team = counters(shared, workers);
                WorkerPool<Counter> pool(blocks, team, 3, routes, held_blocks);
                constexpr size_t passes = 5;
                pool.start(passes);
                for (size_t pass = 1; pass <= passes; ++pass) {
                    const auto posts = pool.next();
                    check(posts.size() == workers);
                    for (const auto& mine : posts)  // whatever others do, a worker posts after its own pass
                        check(std::accumulate(mine.begin(), mine.end(), uint64_t(0)) == pass * blocks);
                }
                check(pool.next().empty(), "no pass is left");
                pool.stop();
                pool.routes().audit();
                check(pool.visits() == passes * blocks * workers);
                for (BlockId b = 0; b < blocks; ++b) {
                    check(shared.visits[b] == passes * workers);
                    check(pool.routes().holder(b) == RouteTable::kFinished);
                    for (size_t w = 0; w < workers; ++w) check(pool.routes().visits()[b * workers + w] == passes);
                }
                std::vector<double> total(2);
                shared.total.read(total);
                check(std::abs(total[0] - 0.1 * double(passes * workers * blocks)) < 1e-9 * total[0] + 1e-300);
                pool.start(passes + 1);  // and on
                check(pool.next().size() == workers);
                pool.stop();
                pool.routes().audit();
            }
}

void workers_may_be_stopped_and_started_at_any_time() {
    for (uint64_t seed = 0; seed < 60; ++seed) {
        Rng rng(seed, 0, 0);
        const size_t workers = 1 + rng.below(8), blocks = 1 + rng.below(30);
        Shared shared(blocks);
        const auto team = counters(shared, workers);
        WorkerPool<Counter> pool(blocks, team, seed, rng.below(2) ? Routes::fixed : Routes::drawn_each_round,
                                 {1 + rng.below(3), 1 + rng.below(2)});
        for (size_t leg = 0; leg < 4; ++leg) {
            pool.start(1000);
            for (size_t n = rng.below(4); n-- > 0;) check(pool.next().size() == workers);
            if (rng.below(2)) std::this_thread::sleep_for(std::chrono::microseconds(rng.below(300)));
            pool.stop();
            pool.routes().audit();
            const auto now = pool.now();
            for (BlockId b = 0; b < blocks; ++b) {  // what the workers held_blocks adds up to what travelled
                uint64_t sum = 0;
                for (const auto& mine : now) sum += mine[b];
                check(sum == shared.visits[b], "a visit was lost or counted twice");
            }
        }
    }
}

void what_a_worker_throws_reaches_the_reader() {
    Shared shared(9);
    const auto team = counters(shared, 3);
    team[1]->fail_after = 30;
    WorkerPool<Counter> pool(9, team, 0, Routes::fixed);
    pool.start(100);
    try {
        for (size_t pass = 0; pass < 100; ++pass) check(!pool.next().empty(), "it went on");
        check(false, "nothing was thrown");
    } catch (const std::runtime_error& e) {
        check(std::string(e.what()) == "out of order");
    }
}

void an_interrupt_leaves_the_workers_as_it_is() {
    Shared shared(4);
    const auto team = counters(shared, 2);
    WorkerPool<Counter> pool(4, team, 0, Routes::drawn_each_round);
    check_interrupt = [] { throw std::domain_error("stop"); };
    pool.start(1);
    check(pool.next().size() == 2);
    pool.start(2);
    pool.stop();
    try {
        pool[0].pause = true;
        pool.start(3);
        while (!pool.next().empty()) {
        }
        check(false, "the interrupt was ignored");
    } catch (const std::domain_error&) {
    }
    check_interrupt = nullptr;
    pool.stop();
    pool.routes().audit();
    pool.start(3);
    while (!pool.next().empty()) {
    }
    pool.stop();
    pool.routes().audit();
    for (const uint64_t n : shared.visits) check(n == 6);
}

void workers_without_a_thread_are_an_error_and_can_start_later() {
    Shared shared(5);
    const auto team = counters(shared, 3);
    WorkerPool<Counter> pool(5, team, 0, Routes::fixed);
    for (int left = 0; left < 3; ++left) {
        threads_left = left;
        try {
            pool.start(2);
            check(false, "it started");
        } catch (const std::runtime_error& e) {
            check(std::string(e.what()).find("of 3") != std::string::npos);
        }
        check(pool.next().empty() && pool.visits() == 0, "no worker works alone");
    }
    threads_left = INT_MAX;
    pool.start(2);
    while (!pool.next().empty()) {
    }
    pool.stop();
    pool.routes().audit();
    for (const uint64_t n : shared.visits) check(n == 6);
}

template <class Fn>
void refused(Fn fn) {
    try {
        fn();
        check(false, "the table did not notice");
    } catch (const std::logic_error&) {
    }
}

/// In which order the last of some blocks sees the workers, in each of six rounds.
std::vector<std::vector<size_t>> routes_of(Routes routes, BlockId b, size_t workers) {
    RouteTable table(b + 1, workers, 5, routes);
    std::vector<size_t> moves;
    while (moves.size() < 6 * workers)
        for (size_t w = 0; w < workers; ++w)
            while (const auto held = table.take(w)) {
                if (*held == b) moves.push_back(w);
                table.give(*held, w, 6);
            }
    std::vector<std::vector<size_t>> out;
    for (size_t at = 0; at < moves.size(); at += workers)
        out.emplace_back(moves.begin() + ptrdiff_t(at), moves.begin() + ptrdiff_t(at + workers));
    return out;
}

void routes_are_kept_or_drawn() {
    size_t same = 0;
    for (BlockId b = 0; b < 8; ++b) {
        const auto kept = routes_of(Routes::fixed, b, 4), drawn = routes_of(Routes::drawn_each_round, b, 4);
        for (size_t round = 1; round < kept.size(); ++round) {
            check(kept[round] == kept[0]);
            same += drawn[round] == drawn[0];
        }
        check(kept[0] == drawn[0]);
    }
    check(same < 10, "of 40 orders of four workers");
}

void the_table_notices_what_must_not_happen() {
    RouteTable table(1, 2, 0, Routes::fixed);
    table.audit();
    const size_t w = table.take(0) ? 0 : 1;
    if (w == 1) check(table.take(1) == BlockId(0));
    check(!table.take(w) && !table.take(1 - w), "it is held");
    refused([&] { table.give(0, 1 - w, 9); });
    refused([&] { table.give_back(0, 1 - w); });
    refused([&] { table.audit(); });
    table.give_back(0, w);
    refused([&] { table.give(0, w, 9); });
    table.audit();
    check(table.take(w) == BlockId(0));
    table.give(0, w, 1);
    check(table.take(1 - w) == BlockId(0));
    table.give(0, 1 - w, 1);
    check(table.holder(0) == RouteTable::kFinished && !table.take(0) && !table.take(1));
    table.audit();
    table.go_on(2);
    check(table.take(w) == BlockId(0));
}

}  // namespace

int main() {
    every_worker_has_every_block_once_a_pass();
    workers_may_be_stopped_and_started_at_any_time();
    what_a_worker_throws_reaches_the_reader();
    an_interrupt_leaves_the_workers_as_it_is();
    workers_without_a_thread_are_an_error_and_can_start_later();
    routes_are_kept_or_drawn();
    the_table_notices_what_must_not_happen();
}
