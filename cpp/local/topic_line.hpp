// Eight places for topics, and what a draw asks of them: weights, their sum, and where a running sum passes a number.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>

#include "global/word_stats.hpp"

#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(__aarch64__) && defined(__ARM_NEON)
#include <arm_neon.h>
#endif

namespace topmix {

constexpr size_t kLine = 8;
constexpr size_t kNoTopic = size_t(-1);

/// Eight places for topics. One with a count of 0 is free, and its id still names a topic.
template <class Count>
struct alignas(kLine * sizeof(uint32_t)) TopicLine {
    TopicId id[kLine] = {};
    Count count[kLine] = {};
};

#if defined(__AVX2__)

using LineWeights = __m256;

template <class Count>
__m256i line_ids(const TopicLine<Count>& line) {
    return _mm256_cvtepu16_epi32(_mm_load_si128(reinterpret_cast<const __m128i*>(line.id)));
}
inline __m256 line_counts(const TopicLine<uint16_t>& line) {
    const auto* counts = reinterpret_cast<const __m128i*>(line.count);
    return _mm256_cvtepi32_ps(_mm256_cvtepu16_epi32(_mm_load_si128(counts)));
}
inline __m256 line_counts(const TopicLine<float>& line) { return _mm256_loadu_ps(line.count); }

inline uint32_t bits(__m256 x) { return uint32_t(_mm256_movemask_ps(x)); }

/// count_i row[id_i], but 0 for topic `but`.
template <class Count>
LineWeights line_weights(const TopicLine<Count>& line, const float* row, size_t but) {
    const __m256i id = line_ids(line);
    const __m256 out = _mm256_castsi256_ps(_mm256_cmpeq_epi32(id, _mm256_set1_epi32(int(but))));
    return _mm256_andnot_ps(out, _mm256_mul_ps(_mm256_i32gather_ps(row, id, 4), line_counts(line)));
}

inline float sum(LineWeights w) {
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(w), _mm256_extractf128_ps(w, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}

/// A bit for each place that has tokens of topic k.
template <class Count>
uint32_t places_of(const TopicLine<Count>& line, size_t k) {
    const __m256 same = _mm256_castsi256_ps(_mm256_cmpeq_epi32(line_ids(line), _mm256_set1_epi32(int(k))));
    return bits(_mm256_and_ps(same, _mm256_cmp_ps(line_counts(line), _mm256_setzero_ps(), _CMP_GT_OQ)));
}

template <class Count>
uint32_t free_places(const TopicLine<Count>& line) {
    return bits(_mm256_cmp_ps(line_counts(line), _mm256_setzero_ps(), _CMP_LE_OQ));
}

/// The first place with a weight at which the running sum is above x, or 8. Sums in log2(8) steps, each adding what
/// lies 1, 2, 4 places before.
inline size_t first_above(LineWeights w, float x) {
    auto shifted = [](__m256 y, auto by) {  // within halves of four
        return _mm256_castsi256_ps(_mm256_slli_si256(_mm256_castps_si256(y), by.value));
    };
    __m256 s = _mm256_add_ps(w, shifted(w, std::integral_constant<int, 4>{}));
    s = _mm256_add_ps(s, shifted(s, std::integral_constant<int, 8>{}));
    const __m256 fourth = _mm256_permute_ps(_mm256_permute2f128_ps(s, s, 0x08), 0xFF);  // 0, and the first half's sum
    s = _mm256_add_ps(s, fourth);
    const __m256 above = _mm256_cmp_ps(s, _mm256_set1_ps(x), _CMP_GT_OQ);
    const uint32_t found = bits(_mm256_and_ps(above, _mm256_cmp_ps(w, _mm256_setzero_ps(), _CMP_GT_OQ)));
    return found ? size_t(std::countr_zero(found)) : kLine;
}

#elif defined(__aarch64__) && defined(__ARM_NEON)

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

#else

struct LineWeights {
    float x[kLine] = {};
};

inline LineWeights operator+(LineWeights a, const LineWeights& b) {
    for (size_t i = 0; i < kLine; ++i) a.x[i] += b.x[i];
    return a;
}

template <class Count>
LineWeights line_weights(const TopicLine<Count>& line, const float* row, size_t but) {
    LineWeights w;
    for (size_t i = 0; i < kLine; ++i) w.x[i] = line.id[i] == but ? 0.f : float(line.count[i]) * row[line.id[i]];
    return w;
}

inline float sum(const LineWeights& w) {
    return ((w.x[0] + w.x[4]) + (w.x[2] + w.x[6])) + ((w.x[1] + w.x[5]) + (w.x[3] + w.x[7]));
}

template <class Count>
uint32_t places_of(const TopicLine<Count>& line, size_t k) {
    uint32_t found = 0;
    for (size_t i = 0; i < kLine; ++i) found |= uint32_t(line.id[i] == k && line.count[i] > 0) << i;
    return found;
}

template <class Count>
uint32_t free_places(const TopicLine<Count>& line) {
    uint32_t found = 0;
    for (size_t i = 0; i < kLine; ++i) found |= uint32_t(!(line.count[i] > 0)) << i;
    return found;
}

inline size_t first_above(const LineWeights& w, float x) {
    float s = 0;
    for (size_t i = 0; i < kLine; ++i) {
        s += w.x[i];
        if (s > x && w.x[i] > 0) return i;
    }
    return kLine;
}

#endif

}  // namespace topmix
