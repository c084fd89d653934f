// Sixteen numbers side by side, on every instruction set.
#pragma once
#include <cstddef>
#include <cstdint>

#if defined(__aarch64__) && defined(__ARM_NEON)
#include "simd/block_neon.hpp"
#endif

namespace topmix {

constexpr size_t kBlock = 16;

#if !(defined(__aarch64__) && defined(__ARM_NEON))

using Block = float __attribute__((vector_size(kBlock * sizeof(float))));

/// x where the mask, which a comparison gave, is set, and y elsewhere.
template <class Mask>
inline Block choose(const Mask& mask, Block x, Block y) {
    return mask ? x : y;
}

/// Whether a number is not equal to its neighbour in the other block.
inline bool differ(const Block& x, const Block& y) {
    int32_t any = 0;
    for (size_t i = 0; i < kBlock; ++i) any |= int32_t(x[i] != y[i]);
    return any != 0;
}

inline float sum(const Block& x) {
    float half[8], quarter[4];
    for (size_t i = 0; i < 8; ++i) half[i] = x[i] + x[i + 8];
    for (size_t i = 0; i < 4; ++i) quarter[i] = half[i] + half[i + 4];
    return (quarter[0] + quarter[2]) + (quarter[1] + quarter[3]);
}

#endif

constexpr float kTiny = 1e-36f;  // its inverse is still a number

inline Block larger(Block a, Block b) { return choose(a > b, a, b); }
inline float larger(float a, float b) { return a > b ? a : b; }

}  // namespace topmix
