// The loops of lanes.hpp for float, 8 at a time. AVX2 has no compress: a table of 256 permutations stands in.
#pragma once
#include <immintrin.h>

#include <array>
#include <bit>

#include "simd/plain_lanes.hpp"
#include "simd/ranked_lanes.hpp"

namespace topmix {

template <>
struct Lanes<float> : RankedLanes<Lanes<float>> {
    static constexpr float ninf = -std::numeric_limits<float>::infinity();
    static constexpr size_t width = 8, few = 32;

    /// Row m lists the set bits of m, lowest first, one a byte.
    static constexpr std::array<uint64_t, 256> packing = [] {
        std::array<uint64_t, 256> rows{};
        for (unsigned m = 0; m < 256; ++m)
            for (unsigned bit = 0, slot = 0; bit < 8; ++bit)
                if (m >> bit & 1) rows[m] |= uint64_t(bit) << (8 * slot++);
        return rows;
    }();

    static __m256i pack_order(unsigned keep) {
        return _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(static_cast<long long>(packing[keep])));
    }
    static __m256i first(size_t n) {
        return _mm256_cmpgt_epi32(_mm256_set1_epi32(int(n)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    }
    static __m256 load(const float* s, size_t n) {  // the missing ones are -inf
        if (n >= width) return _mm256_loadu_ps(s);
        const __m256i in = first(n);
        return _mm256_blendv_ps(_mm256_set1_ps(ninf), _mm256_maskload_ps(s, in), _mm256_castsi256_ps(in));
    }
    template <int Relation>
    static unsigned compare(__m256 x, __m256 cut) {
        return unsigned(_mm256_movemask_ps(_mm256_cmp_ps(x, cut, Relation)));
    }

    template <size_t Count>
    static void maxima(const float* s, size_t n, float* M) {
        constexpr size_t out = Count / width,
                         chains = std::max<size_t>(out, 4);  // enough to hide the latency of vmaxps
        __m256 best[chains];
        for (auto& b : best) b = _mm256_set1_ps(ninf);
        size_t i = 0;
        for (; i + chains * width <= n; i += chains * width)
            for (size_t g = 0; g < chains; ++g)  // vmaxps gives its second argument when one is NaN
                best[g] = _mm256_max_ps(_mm256_loadu_ps(s + i + g * width), best[g]);
        for (size_t g = 0; i < n; i += width, ++g) best[g] = _mm256_max_ps(load(s + i, n - i), best[g]);
        for (size_t g = chains; g-- > out;) best[g % out] = _mm256_max_ps(best[g % out], best[g]);
        for (size_t g = 0; g < out; ++g) _mm256_storeu_ps(M + g * width, best[g]);
    }

    /// Which of the n <= Count numbers have fewer than L larger ones among them.
    template <size_t Count>
    static uint32_t ranked(const float* v, size_t n, size_t L) {
        constexpr size_t Vectors = Count / width;
        __m256 x[Vectors];
        __m256i rank[Vectors];
        for (size_t q = 0; q < Vectors; ++q) {
            x[q] = n > q * width ? load(v + q * width, n - q * width) : _mm256_set1_ps(ninf);
            rank[q] = _mm256_setzero_si256();
        }
        for (size_t i = 0; i < n; ++i)
            for (size_t q = 0; q < Vectors; ++q) {
                const __m256 larger = _mm256_cmp_ps(_mm256_set1_ps(v[i]), x[q], _CMP_GT_OQ);
                rank[q] = _mm256_sub_epi32(rank[q], _mm256_castps_si256(larger));
            }
        uint32_t keep = 0;
        for (size_t q = 0; q < Vectors; ++q) {
            const __m256i low = _mm256_cmpgt_epi32(_mm256_set1_epi32(int(L)), rank[q]);
            keep |= uint32_t(_mm256_movemask_ps(_mm256_castsi256_ps(low))) << (q * width);
        }
        return _bzhi_u32(keep, unsigned(n));
    }

    static size_t find(const float* s, size_t n, float x) {
        for (size_t i = 0; i < n; i += width)
            if (const unsigned same = compare<_CMP_EQ_OQ>(load(s + i, n - i), _mm256_set1_ps(x)))
                return i + size_t(std::countr_zero(same));
        return n;
    }

    static Range<float> range(const float* s, size_t n) {
        const __m256 floor = _mm256_set1_ps(ninf);
        __m256 low = _mm256_max_ps(_mm256_set1_ps(s[0]), floor), high = low;
        size_t i = 0;
        for (; i + width <= n; i += width) {
            const __m256 x = _mm256_max_ps(_mm256_loadu_ps(s + i), floor);
            low = _mm256_min_ps(low, x);
            high = _mm256_max_ps(high, x);
        }
        float a[width], b[width];
        _mm256_storeu_ps(a, low);
        _mm256_storeu_ps(b, high);
        Range<float> r{*std::min_element(a, a + width), *std::max_element(b, b + width)};
        for (; i < n; ++i) {
            const float x = s[i] > ninf ? s[i] : ninf;
            r = {std::min(r.low, x), std::max(r.high, x)};
        }
        return r;
    }

    static size_t count_ge(const float* s, size_t n, float t) {
        const __m256 cut = _mm256_set1_ps(t);
        size_t c = 0;
        for (size_t i = 0; i < n; i += width) c += size_t(std::popcount(compare<_CMP_GE_OQ>(load(s + i, n - i), cut)));
        return c;
    }

    static size_t filter_ge(const float* s, size_t n, float t, float* val, int32_t* idx, size_t capacity) {
        const __m256 cut = _mm256_set1_ps(t);
        size_t c = 0;
        for (size_t i = 0; i < n; i += width) {
            if (c + width > capacity) return capacity + 1;
            const __m256 x = load(s + i, n - i);
            const unsigned keep = compare<_CMP_GE_OQ>(x, cut);
            const __m256i order = pack_order(keep);
            _mm256_storeu_ps(val + c, _mm256_permutevar8x32_ps(x, order));
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(idx + c),
                                _mm256_add_epi32(order, _mm256_set1_epi32(int(i))));
            c += size_t(std::popcount(keep));
        }
        return c;
    }

    static void emit(const float* s, const int32_t* ids, size_t n, float t, size_t ties, size_t room, int32_t* idx,
                     float* val) {
        const __m256 cut = _mm256_set1_ps(t);
        for (size_t i = 0, c = 0; i < n && c < room; i += width) {
            const __m256 x = load(s + i, n - i);
            const unsigned above = compare<_CMP_GT_OQ>(x, cut), equal = compare<_CMP_EQ_OQ>(x, cut);
            const unsigned tied =
                _pdep_u32(_bzhi_u32(0xff, unsigned(std::min<size_t>(ties, 8))), equal);  // the first few
            ties -= size_t(std::popcount(tied));
            const unsigned keep = above | tied;
            const __m256i order = pack_order(keep);
            if (c + width <= room) {
                _mm256_storeu_ps(val + c, _mm256_permutevar8x32_ps(x, order));
                const __m256i id = ids ? _mm256_permutevar8x32_epi32(load_ids(ids + i, n - i), order)
                                       : _mm256_add_epi32(order, _mm256_set1_epi32(int(i)));
                _mm256_storeu_si256(reinterpret_cast<__m256i*>(idx + c), id);
                c += size_t(std::popcount(keep));
            } else {
                for (unsigned left = keep; left; left &= left - 1, ++c) {
                    const size_t at = i + size_t(std::countr_zero(left));
                    val[c] = s[at];
                    idx[c] = ids ? ids[at] : int32_t(at);
                }
            }
        }
    }

  private:
    static __m256i load_ids(const int32_t* ids, size_t n) {
        return _mm256_maskload_epi32(ids, first(std::min(n, width)));
    }
};

}  // namespace topmix
