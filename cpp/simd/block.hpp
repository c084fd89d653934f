// Sixteen numbers side by side, on every instruction set.
#pragma once
#include <cstddef>

namespace topmix {

constexpr size_t kBlock = 16;
using Block = float __attribute__((vector_size(kBlock * sizeof(float))));

constexpr float kTiny = 1e-36f;  // its inverse is still a number

inline Block larger(Block a, Block b) { return a > b ? a : b; }

inline float sum(const Block& x) {
    float half[8], quarter[4];
    for (size_t i = 0; i < 8; ++i) half[i] = x[i] + x[i + 8];
    for (size_t i = 0; i < 4; ++i) quarter[i] = half[i] + half[i + 4];
    return (quarter[0] + quarter[2]) + (quarter[1] + quarter[3]);
}

}  // namespace topmix
