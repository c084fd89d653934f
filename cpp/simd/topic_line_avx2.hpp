// Eight places for topics with AVX2: a register of weights, and a gather for the row of the word.
#pragma once
#include <immintrin.h>

#include <bit>
#include <type_traits>

#include "simd/line.hpp"

namespace topmix {

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

}  // namespace topmix
