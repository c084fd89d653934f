// Sixteen numbers in four registers of NEON. GCC keeps its own vectors of 64 bytes in memory there, and compares and
// selects their lanes one by one; as a struct of four vectors they stay in registers.
#pragma once
#include <arm_neon.h>

#include <cstddef>

namespace topmix {

using Quarter = float32x4_t;

/// One bit pattern a lane, all ones or all zeros.
struct BlockMask {
    uint32x4_t a, b, c, d;
};

struct alignas(64) Block {
    Quarter a, b, c, d;

    /// A number in memory. A block that is read or written like this is in no register: copy it first in a hot loop.
    float& operator[](size_t i) { return reinterpret_cast<float*>(this)[i]; }
    const float& operator[](size_t i) const { return reinterpret_cast<const float*>(this)[i]; }
};

inline Block splat(float x) { return {vdupq_n_f32(x), vdupq_n_f32(x), vdupq_n_f32(x), vdupq_n_f32(x)}; }

inline Block operator+(const Block& x, const Block& y) { return {x.a + y.a, x.b + y.b, x.c + y.c, x.d + y.d}; }
inline Block operator-(const Block& x, const Block& y) { return {x.a - y.a, x.b - y.b, x.c - y.c, x.d - y.d}; }
inline Block operator*(const Block& x, const Block& y) { return {x.a * y.a, x.b * y.b, x.c * y.c, x.d * y.d}; }
inline Block operator/(const Block& x, const Block& y) { return {x.a / y.a, x.b / y.b, x.c / y.c, x.d / y.d}; }
inline Block operator+(const Block& x, float y) { return x + splat(y); }
inline Block operator+(float x, const Block& y) { return splat(x) + y; }
inline Block operator-(float x, const Block& y) { return splat(x) - y; }
inline Block operator*(const Block& x, float y) { return x * splat(y); }
inline Block operator*(float x, const Block& y) { return splat(x) * y; }
inline Block operator/(float x, const Block& y) { return splat(x) / y; }
inline Block& operator+=(Block& x, const Block& y) { return x = x + y; }
inline Block& operator*=(Block& x, const Block& y) { return x = x * y; }
inline Block& operator/=(Block& x, const Block& y) { return x = x / y; }

inline BlockMask operator>=(const Block& x, const Block& y) {
    return {vcgeq_f32(x.a, y.a), vcgeq_f32(x.b, y.b), vcgeq_f32(x.c, y.c), vcgeq_f32(x.d, y.d)};
}
inline BlockMask operator>(const Block& x, const Block& y) {
    return {vcgtq_f32(x.a, y.a), vcgtq_f32(x.b, y.b), vcgtq_f32(x.c, y.c), vcgtq_f32(x.d, y.d)};
}
inline BlockMask operator<=(const Block& x, const Block& y) { return y >= x; }
inline BlockMask operator<(const Block& x, const Block& y) { return y > x; }
inline BlockMask operator>(const Block& x, float y) { return x > splat(y); }

/// x where the mask is set, y elsewhere.
inline Block choose(const BlockMask& m, const Block& x, const Block& y) {
    return {vbslq_f32(m.a, x.a, y.a), vbslq_f32(m.b, x.b, y.b), vbslq_f32(m.c, x.c, y.c), vbslq_f32(m.d, x.d, y.d)};
}

inline bool differ(const Block& x, const Block& y) {
    const uint32x4_t a = vandq_u32(vceqq_f32(x.a, y.a), vceqq_f32(x.b, y.b));
    const uint32x4_t b = vandq_u32(vceqq_f32(x.c, y.c), vceqq_f32(x.d, y.d));
    return vminvq_u32(vandq_u32(a, b)) == 0;
}

/// In the order of block.hpp.
inline float sum(const Block& x) {
    const Quarter s = (x.a + x.c) + (x.b + x.d);
    const float32x2_t half = vadd_f32(vget_low_f32(s), vget_high_f32(s));
    return vget_lane_f32(half, 0) + vget_lane_f32(half, 1);
}

}  // namespace topmix
