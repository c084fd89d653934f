// Philox: published answers; one stream for each (seed, pass, row).
#include "base/rng.hpp"

#include <random>
#include <set>
#include <vector>

#include "tests/check.hpp"

using namespace topmix;

int main() {
    using Block = std::array<uint32_t, 4>;
    constexpr uint32_t all = 0xffffffff;
    check(philox4x32({0, 0, 0, 0}, {0, 0}) == Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
    check(philox4x32({all, all, all, all}, {all, all}) == Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
    check(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
          Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});

    static_assert(std::uniform_random_bit_generator<Rng>);
    std::set<uint64_t> seen;
    for (uint64_t seed : {0ull, 1ull, 1ull << 32})
        for (uint32_t pass : {0u, 1u})
            for (uint64_t row : {0ull, 1ull, 1ull << 32}) seen.insert(Rng(seed, pass, row).next_u64());
    check(seen.size() == 18);

    Rng a(5, 6, 7), b(5, 6, 7);
    for (int i = 0; i < 100; ++i) check(a() == b.next_u32());
    for (int i = 0; i < 10'000; ++i) {
        check(a.below(7) < 7 && a.below(1) == 0 && a.below(all) < all);
        const double u = a.uniform();
        const float f = a.uniform_float();
        check(0 <= u && u < 1 && 0 <= f && f < 1);
    }

    Rng c(1, 2, 3), d(1, 2, 3);
    for (const double u : {0x1.198e8ca23cbe9p-1, 0x1.56b51dc4f1824p-1, 0x1.eadd6f206cfa1p-1})
        check(c.uniform() == u, "tests/test_rng.py has the same");
    for (const uint32_t n : {1649747070u, 2008051672u, 1415091247u, 2876161973u, 638536940u, 1693839685u})
        check(d.below(3'000'000'000) == n);

    std::vector<size_t> hundredths(100);  // evenly in the unit interval
    for (int i = 0; i < 100'000; ++i) ++hundredths[size_t(100 * a.uniform())];
    for (const size_t n : hundredths) check(n > 800 && n < 1200, "six standard deviations");
    size_t low = 0;  // a word modulo n would fall below 2^30 half of the time instead of a third
    for (int i = 0; i < 30'000; ++i) low += a.below(3u << 30) < 1u << 30;
    check(low > 9'400 && low < 10'600);
}
