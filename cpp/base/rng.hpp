// Random numbers without state that threads could share: the draws of a row are a function of (seed, pass, row).
//
// Philox4x32-10 (Salmon, Moraes, Dror & Shaw 2011, "Parallel random numbers: as easy as 1, 2, 3"): ten rounds that
// scramble a 128-bit counter under a 64-bit key. Whoever visits a row, in whatever order, draws the same numbers.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace topmix {

/// One block: four words from a counter and a key.
inline std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> c, std::array<uint32_t, 2> key) {
    for (int round = 0; round < 10; ++round) {
        const uint64_t a = uint64_t(0xD2511F53) * c[0], b = uint64_t(0xCD9E8D57) * c[2];
        c = {uint32_t(b >> 32) ^ c[1] ^ key[0], uint32_t(b), uint32_t(a >> 32) ^ c[3] ^ key[1], uint32_t(a)};
        key[0] += 0x9E3779B9;
        key[1] += 0xBB67AE85;
    }
    return c;
}

/// The stream of one row in one pass: 2^34 words, then it repeats. A UniformRandomBitGenerator; but the standard
/// library's distributions differ between vendors, so code that must repeat across machines uses the members below.
class Rng {
  public:
    using result_type = uint32_t;

    Rng(uint64_t seed, uint32_t pass, uint64_t row)
        : key_{uint32_t(seed), uint32_t(seed >> 32)}, counter_{0, pass, uint32_t(row), uint32_t(row >> 32)} {}

    static constexpr uint32_t min() { return 0; }
    static constexpr uint32_t max() { return std::numeric_limits<uint32_t>::max(); }
    uint32_t operator()() { return next_u32(); }

    uint32_t next_u32() {
        if (left_ == 0) block_ = philox4x32(counter_, key_), ++counter_[0], left_ = 4;
        return block_[4 - left_--];
    }

    /// The earlier word is the high half.
    uint64_t next_u64() {
        const uint64_t high = next_u32();
        return high << 32 | next_u32();
    }

    /// In [0, 1), all 53 bits.
    double uniform() { return double(next_u64() >> 11) * 0x1p-53; }

    /// In [0, 1), all 24 bits; half the price.
    float uniform_float() { return float(next_u32() >> 8) * 0x1p-24f; }

    /// In [0, n), each value equally likely; needs n >= 1. The high half of a product with a random word is an index;
    /// the few low halves that would favour some indices are drawn again (Lemire 2019).
    uint32_t below(uint32_t n) {
        uint64_t product = uint64_t(next_u32()) * n;
        if (uint32_t(product) < n) {
            const uint32_t biased = (0u - n) % n;  // 2^32 mod n
            while (uint32_t(product) < biased) product = uint64_t(next_u32()) * n;
        }
        return uint32_t(product >> 32);
    }

  private:
    std::array<uint32_t, 2> key_;
    std::array<uint32_t, 4> counter_;  // block, pass, row low, row high
    std::array<uint32_t, 4> block_{};
    unsigned left_ = 0;
};

/// The first two uniform_float() of the streams of rows first + row[i], side by side.
template <size_t n>
void pairs_of_uniform_floats(uint64_t seed, uint32_t pass, uint64_t first, const uint32_t (&row)[n], float (&u)[n],
                             float (&w)[n]) {
    uint32_t c0[n], c1[n], c2[n], c3[n], key[2] = {uint32_t(seed), uint32_t(seed >> 32)};
    for (size_t i = 0; i < n; ++i) {
        const uint64_t number = first + row[i];
        c0[i] = 0, c1[i] = pass, c2[i] = uint32_t(number), c3[i] = uint32_t(number >> 32);
    }
    for (int round = 0; round < 10; ++round, key[0] += 0x9E3779B9, key[1] += 0xBB67AE85)
#pragma omp simd
        for (size_t i = 0; i < n; ++i) {
            const uint64_t x = uint64_t(0xD2511F53) * c0[i], y = uint64_t(0xCD9E8D57) * c2[i];
            c0[i] = uint32_t(y >> 32) ^ c1[i] ^ key[0], c1[i] = uint32_t(y);
            c2[i] = uint32_t(x >> 32) ^ c3[i] ^ key[1], c3[i] = uint32_t(x);
        }
    for (size_t i = 0; i < n; ++i) u[i] = float(c0[i] >> 8) * 0x1p-24f, w[i] = float(c1[i] >> 8) * 0x1p-24f;
}

}  // namespace topmix
