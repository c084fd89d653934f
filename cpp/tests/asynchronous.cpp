// Blocks that travel: every one is somewhere once, whoever stops or starts the workers and when.
#include "asynchronous/worker_pool.hpp"

#include <numeric>
#include <string>

#include "asynchronous/totals.hpp"
#include "tests/check.hpp"

using namespace topmix;
using namespace topmix::nomad;

namespace {

void a_ring_gives_back_what_it_got_once() {
    Ring<uint32_t> ring(5);
    check(ring.capacity() == 8);
    uint32_t x = 0;
    check(!ring.pop(x));
    for (uint32_t i = 0; i < 8; ++i) check(ring.push(i));
    check(!ring.push(8), "full");
    for (uint32_t i = 0; i < 8; ++i) check(ring.pop(x) && x == i, "first in, first out");
    check(!ring.pop(x));

    constexpr uint32_t n = 20'000;
    std::vector<std::atomic<int>> seen(4 * n);
    std::atomic<uint32_t> popped{0};
    Crew crew(8, [&](size_t t) {
        if (t < 4) {
            for (uint32_t i = 0; i < n; ++i)
                while (!ring.push(uint32_t(t) * n + i)) std::this_thread::yield();
        } else {
            for (uint32_t v; popped.load() < 4 * n;) {
                if (ring.pop(v)) {
                    ++seen[v], ++popped;
                } else {
                    std::this_thread::yield();
                }
            }
        }
    });
    crew.join();
    for (const auto& s : seen) check(s == 1);
}

/// Plain memory that travels with its block, and plain memory that stays: a race on either is the sanitizer's to find.
struct Sea {
    std::vector<uint64_t> cargo;
    Totals total;
    Sea(size_t blocks) : cargo(blocks, 0), total(2) {}
};

struct Sailor {
    using Post = std::vector<uint64_t>;
    Sailor(Sea* s, std::vector<uint64_t> m) : sea(s), mine(std::move(m)) {}
    Sea* sea;
    std::vector<uint64_t> mine;
    size_t fail_after = SIZE_MAX;
    bool pause = false;

    void visit(std::span<const Block> held) {
        if (pause) std::this_thread::sleep_for(std::chrono::milliseconds(40));
        for (const Block b : held) {
            if (fail_after-- == 0) throw std::runtime_error("overboard");
            ++sea->cargo[b], ++mine[b];
            sea->total.add(std::vector<double>{0.1, double(b)});
        }
    }
    Post post() const { return mine; }
};

std::vector<std::unique_ptr<Sailor>> sailors(Sea& sea, size_t workers) {
    std::vector<std::unique_ptr<Sailor>> out;
    for (size_t w = 0; w < workers; ++w)
        out.push_back(std::make_unique<Sailor>(&sea, std::vector<uint64_t>(sea.cargo.size(), 0)));
    return out;
}

void every_worker_has_every_block_once_a_pass() {
    for (size_t workers : {1, 2, 3, 8})
        for (size_t blocks : {1, 7, 40})
            for (auto [routes, hold] : {std::pair{Routes::kept, Hold{1, 1}}, {Routes::drawn_each_round, Hold{4, 2}}}) {
                Sea sea(blocks);
                Fleet<Sailor> fleet(blocks, sailors(sea, workers), 3, routes, hold);
                constexpr size_t passes = 5;
                fleet.start(passes);
                for (size_t pass = 1; pass <= passes; ++pass) {
                    const auto posts = fleet.next();
                    check(posts.size() == workers);
                    for (const auto& mine : posts)  // whatever others do, a worker posts after its own pass
                        check(std::accumulate(mine.begin(), mine.end(), uint64_t(0)) == pass * blocks);
                }
                check(fleet.next().empty(), "no pass is left");
                fleet.stop();
                fleet.audit();
                check(fleet.visits() == passes * blocks * workers);
                for (Block b = 0; b < blocks; ++b) {
                    check(sea.cargo[b] == passes * workers);
                    check(fleet.ledger().holder(b) == Ledger::kHome);
                    for (size_t w = 0; w < workers; ++w) check(fleet.ledger().visits()[b * workers + w] == passes);
                }
                std::vector<double> total(2);
                sea.total.read(total);
                check(std::abs(total[0] - 0.1 * double(passes * workers * blocks)) < 1e-9 * total[0] + 1e-300);
                fleet.start(passes + 1);  // and on
                check(fleet.next().size() == workers);
                fleet.stop();
                fleet.audit();
            }
}

void workers_may_be_stopped_and_started_at_any_time() {
    for (uint64_t seed = 0; seed < 60; ++seed) {
        Rng rng(seed, 0, 0);
        const size_t workers = 1 + rng.below(8), blocks = 1 + rng.below(30);
        Sea sea(blocks);
        Fleet<Sailor> fleet(blocks, sailors(sea, workers), seed, rng.below(2) ? Routes::kept : Routes::drawn_each_round,
                            {1 + rng.below(3), 1 + rng.below(2)});
        for (size_t leg = 0; leg < 4; ++leg) {
            fleet.start(1000);
            for (size_t n = rng.below(4); n-- > 0;) check(fleet.next().size() == workers);
            if (rng.below(2)) std::this_thread::sleep_for(std::chrono::microseconds(rng.below(300)));
            fleet.stop();
            fleet.audit();
            const auto now = fleet.now();
            for (Block b = 0; b < blocks; ++b) {  // what the workers hold adds up to what travelled
                uint64_t sum = 0;
                for (const auto& mine : now) sum += mine[b];
                check(sum == sea.cargo[b], "a visit was lost or counted twice");
            }
        }
    }
}

void what_a_worker_throws_reaches_the_reader() {
    Sea sea(9);
    auto crew = sailors(sea, 3);
    crew[1]->fail_after = 30;
    Fleet<Sailor> fleet(9, std::move(crew), 0, Routes::kept);
    fleet.start(100);
    try {
        for (size_t pass = 0; pass < 100; ++pass) check(!fleet.next().empty(), "it went on");
        check(false, "nothing was thrown");
    } catch (const std::runtime_error& e) {
        check(std::string(e.what()) == "overboard");
    }
}

void an_interrupt_leaves_the_fleet_as_it_is() {
    Sea sea(4);
    Fleet<Sailor> fleet(4, sailors(sea, 2), 0, Routes::drawn_each_round);
    check_interrupt = [] { throw std::domain_error("stop"); };
    fleet.start(1);
    check(fleet.next().size() == 2);
    fleet.start(2);
    fleet.stop();
    try {
        fleet[0].pause = true;
        fleet.start(3);
        while (!fleet.next().empty()) {
        }
        check(false, "the interrupt was ignored");
    } catch (const std::domain_error&) {
    }
    check_interrupt = nullptr;
    fleet.stop();
    fleet.audit();
    fleet.start(3);
    while (!fleet.next().empty()) {
    }
    fleet.stop();
    fleet.audit();
    for (const uint64_t n : sea.cargo) check(n == 6);
}

template <class Fn>
void refused(Fn fn) {
    try {
        fn();
        check(false, "the ledger did not notice");
    } catch (const std::logic_error&) {
    }
}

/// In which order a block sees the workers, round by round.
std::vector<std::vector<size_t>> routes_of(Routes routes, Block b, size_t workers) {
    Ledger ledger(b + 1, workers, 5, routes);
    std::vector<std::vector<size_t>> out(6);
    for (auto& round : out)
        for (size_t hop = 0; hop < workers; ++hop) {
            const size_t w = ledger.next(b);
            ledger.take(b, w);
            ledger.give(b, w, out.size() + 1);
            round.push_back(w);
        }
    return out;
}

void routes_are_kept_or_drawn() {
    size_t same = 0;
    for (Block b = 0; b < 8; ++b) {
        const auto kept = routes_of(Routes::kept, b, 4), drawn = routes_of(Routes::drawn_each_round, b, 4);
        for (size_t round = 1; round < kept.size(); ++round) {
            check(kept[round] == kept[0]);
            same += drawn[round] == drawn[0];
        }
        check(kept[0] == drawn[0]);
    }
    check(same < 10, "of 40 orders of four workers");
}

void the_ledger_notices_what_must_not_happen() {
    Ledger ledger(3, 2, 0, Routes::kept);
    Rings rings(3, 2);
    for (Block b = 0; b < 3; ++b) rings.push(b, ledger.next(b));
    ledger.audit(rings);
    const size_t w = ledger.next(0);
    refused([&] { ledger.take(0, 1 - w); });
    ledger.put_back(0, 1 - w);  // the refused one has it
    ledger.take(0, w);
    refused([&] { ledger.take(0, w); });
    refused([&] { ledger.give(0, 1 - w, 9); });
    refused([&] { ledger.audit(rings); });
    ledger.put_back(0, w);
    ledger.audit(rings);
    rings.push(0, w);
    refused([&] { ledger.audit(rings); });  // twice
    Rings fewer(3, 2);
    for (Block b = 1; b < 3; ++b) fewer.push(b, ledger.next(b));
    refused([&] { ledger.audit(fewer); });  // lost
}

}  // namespace

int main() {
    a_ring_gives_back_what_it_got_once();
    every_worker_has_every_block_once_a_pass();
    workers_may_be_stopped_and_started_at_any_time();
    what_a_worker_throws_reaches_the_reader();
    an_interrupt_leaves_the_fleet_as_it_is();
    routes_are_kept_or_drawn();
    the_ledger_notices_what_must_not_happen();
}
