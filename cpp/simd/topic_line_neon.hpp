// Eight places for topics with NEON: two registers of weights.
#pragma once
#include <arm_neon.h>

#include <bit>

#include "simd/line.hpp"

namespace topmix {

struct LineWeights {
    float32x4_t a, b;
};

inline LineWeights operator+(const LineWeights& x, const LineWeights& y) { return {x.a + y.a, x.b + y.b}; }

inline LineWeights line_counts(const TopicLine<uint16_t>& line) {
    const uint16x8_t n = vld1q_u16(line.count);
    return {vcvtq_f32_u32(vmovl_u16(vget_low_u16(n))), vcvtq_f32_u32(vmovl_high_u16(n))};
}
inline LineWeights line_counts(const TopicLine<float>& line) {
    return {vld1q_f32(line.count), vld1q_f32(line.count + 4)};
}
inline uint16x8_t line_used(const TopicLine<uint16_t>& line) {
    return vtstq_u16(vld1q_u16(line.count), vld1q_u16(line.count));
}
inline uint16x8_t line_used(const TopicLine<float>& line) {
    const LineWeights n = line_counts(line);
    return vcombine_u16(vmovn_u32(vcgtzq_f32(n.a)), vmovn_u32(vcgtzq_f32(n.b)));
}
inline uint32_t bits(uint16x8_t mask) {
    static constexpr uint8_t weights[8] = {1, 2, 4, 8, 16, 32, 64, 128};
    return vaddv_u8(vand_u8(vmovn_u16(mask), vld1_u8(weights)));
}

/// count_i row[id_i], but 0 for topic `but`.
template <class Count>
LineWeights line_weights(const TopicLine<Count>& line, const float* row, size_t but) {
    const uint16x8_t id = vld1q_u16(line.id);
    const uint32x4_t none = vdupq_n_u32(uint32_t(but));
    const LineWeights n = line_counts(line);
    const float32x4_t a = {row[line.id[0]], row[line.id[1]], row[line.id[2]], row[line.id[3]]};
    const float32x4_t b = {row[line.id[4]], row[line.id[5]], row[line.id[6]], row[line.id[7]]};
    auto without = [](float32x4_t x, uint32x4_t out) {
        return vreinterpretq_f32_u32(vbicq_u32(vreinterpretq_u32_f32(x), out));
    };
    return {without(n.a * a, vceqq_u32(vmovl_u16(vget_low_u16(id)), none)),
            without(n.b * b, vceqq_u32(vmovl_high_u16(id), none))};
}

inline float sum(const LineWeights& w) {
    const float32x4_t s = w.a + w.b;
    const float32x2_t half = vadd_f32(vget_low_f32(s), vget_high_f32(s));
    return vget_lane_f32(half, 0) + vget_lane_f32(half, 1);
}

/// A bit for each place that has tokens of topic k.
template <class Count>
uint32_t places_of(const TopicLine<Count>& line, size_t k) {
    return bits(vandq_u16(vceqq_u16(vld1q_u16(line.id), vdupq_n_u16(uint16_t(k))), line_used(line)));
}

template <class Count>
uint32_t free_places(const TopicLine<Count>& line) {
    return bits(vmvnq_u16(line_used(line)));
}

/// The first place with a weight at which the running sum is above x, or 8. Sums as with AVX2.
inline size_t first_above(const LineWeights& w, float x) {
    const float32x4_t zero = vdupq_n_f32(0), cut = vdupq_n_f32(x);
    auto running = [&](float32x4_t y) {
        y = y + vextq_f32(zero, y, 3);
        return y + vextq_f32(zero, y, 2);
    };
    const float32x4_t a = running(w.a), b = running(w.b) + vdupq_laneq_f32(a, 3);
    const uint32x4_t in_a = vandq_u32(vcgtq_f32(a, cut), vcgtzq_f32(w.a));
    const uint32x4_t in_b = vandq_u32(vcgtq_f32(b, cut), vcgtzq_f32(w.b));
    const uint32_t found = bits(vcombine_u16(vmovn_u32(in_a), vmovn_u32(in_b)));
    return found ? size_t(std::countr_zero(found)) : kLine;
}

}  // namespace topmix
