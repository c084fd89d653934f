// The loops of lanes.hpp for float, 16 at a time: compares give bit masks, popcnt counts them, vpcompress packs by
// them.
#pragma once
#include <immintrin.h>

#include <bit>

#include "simd/plain_lanes.hpp"

namespace topmix {

template <>
struct Lanes<float> {
    static constexpr float ninf = -std::numeric_limits<float>::infinity();
    static constexpr size_t width = 16, few = 32;

    /// A mask as a number. GCC 12 folds a compare and the extension of its mask to 32 bits into one, and when that is
    /// spilled it stores 16 bits and loads 32; the empty statement keeps the two apart.
    static unsigned bits(__mmask16 m) {
#if defined(__GNUC__) && !defined(__clang__)
        asm("" : "+k"(m));
#endif
        return m;
    }
    static __mmask16 first(size_t n) { return __mmask16(_bzhi_u32(0xffff, unsigned(n))); }
    static __m512 load(const float* s, size_t n) {
        return _mm512_mask_loadu_ps(_mm512_set1_ps(ninf), first(n), s);  // the missing ones are -inf
    }

    template <size_t Count>
    static void maxima(const float* s, size_t n, float* M) {
        constexpr size_t out = Count / width,
                         chains = std::max<size_t>(out, 4);  // enough to hide the latency of vmaxps
        __m512 best[chains];
        for (auto& b : best) b = _mm512_set1_ps(ninf);
        size_t i = 0;
        for (; i + chains * width <= n; i += chains * width)
            for (size_t g = 0; g < chains; ++g)  // vmaxps gives its second argument when one is NaN
                best[g] = _mm512_max_ps(_mm512_loadu_ps(s + i + g * width), best[g]);
        for (size_t g = 0; i < n; i += width, ++g)
            best[g] = _mm512_max_ps(load(s + i, std::min(n - i, width)), best[g]);
        for (size_t g = chains; g-- > out;) best[g % out] = _mm512_max_ps(best[g % out], best[g]);
        for (size_t g = 0; g < out; ++g) _mm512_storeu_ps(M + g * width, best[g]);
    }

    /// Which of the n <= 16 Vectors numbers have fewer than L larger ones among them.
    template <size_t Vectors>
    static uint32_t ranked(const float* v, size_t n, size_t L) {
        __m512 x[Vectors];
        __m512i rank[Vectors];
        for (size_t q = 0; q < Vectors; ++q) {
            x[q] = load(v + q * width, n > q * width ? std::min(n - q * width, width) : 0);
            rank[q] = _mm512_setzero_si512();
        }
        for (size_t i = 0; i < n; ++i)
            for (size_t q = 0; q < Vectors; ++q) {
                const __mmask16 larger = _mm512_cmp_ps_mask(_mm512_set1_ps(v[i]), x[q], _CMP_GT_OQ);
                rank[q] = _mm512_mask_sub_epi32(rank[q], larger, rank[q], _mm512_set1_epi32(-1));
            }
        uint32_t keep = 0;
        for (size_t q = 0; q < Vectors; ++q)
            keep |= bits(_mm512_cmplt_epi32_mask(rank[q], _mm512_set1_epi32(int(L)))) << (q * width);
        return _bzhi_u32(keep, unsigned(n));
    }

    template <size_t Count>
    static float nth_largest(const float* v, size_t L) {
        uint32_t keep = ranked<Count / width>(v, Count, L);
        __m512 least = _mm512_set1_ps(std::numeric_limits<float>::infinity());
        for (size_t i = 0; i < Count; i += width, keep >>= 16)
            least = _mm512_mask_min_ps(least, __mmask16(keep), least, _mm512_loadu_ps(v + i));
        return _mm512_reduce_min_ps(least);
    }

    static bool take_ranked(const float* v, const int32_t* ids, size_t n, size_t L, int32_t* idx, float* val) {
        uint32_t keep = n <= width ? ranked<1>(v, n, L) : ranked<2>(v, n, L);
        if (size_t(std::popcount(keep)) != L) return false;
        for (size_t i = 0, c = 0; c < L; i += width, keep >>= 16) {
            const auto found = size_t(std::popcount(keep & 0xffff));
            const __mmask16 in = first(std::min(n - i, width)), here = __mmask16(keep);
            _mm512_mask_storeu_ps(val + c, first(found),
                                  _mm512_maskz_compress_ps(here, _mm512_maskz_loadu_ps(in, v + i)));
            _mm512_mask_storeu_epi32(idx + c, first(found),
                                     _mm512_maskz_compress_epi32(here, _mm512_maskz_loadu_epi32(in, ids + i)));
            c += found;
        }
        return true;
    }

    static size_t find(const float* s, size_t n, float x) {
        for (size_t i = 0; i < n; i += width)
            if (const unsigned same =
                    bits(_mm512_cmp_ps_mask(load(s + i, std::min(n - i, width)), _mm512_set1_ps(x), _CMP_EQ_OQ)))
                return i + size_t(std::countr_zero(same));
        return n;
    }

    static Range<float> range(const float* s, size_t n) {
        const __m512 floor = _mm512_set1_ps(ninf);
        __m512 low = _mm512_max_ps(_mm512_set1_ps(s[0]), floor), high = low;
        for (size_t i = 0; i < n; i += width) {
            const __mmask16 in = first(std::min(n - i, width));
            const __m512 x = _mm512_max_ps(_mm512_maskz_loadu_ps(in, s + i), floor);
            low = _mm512_mask_min_ps(low, in, low, x);
            high = _mm512_mask_max_ps(high, in, high, x);
        }
        return {_mm512_reduce_min_ps(low), _mm512_reduce_max_ps(high)};
    }

    static size_t count_ge(const float* s, size_t n, float t) {
        const __m512 cut = _mm512_set1_ps(t);
        size_t c = 0, i = 0;
        for (; i + width <= n; i += width)
            c += size_t(std::popcount(bits(_mm512_cmp_ps_mask(_mm512_loadu_ps(s + i), cut, _CMP_GE_OQ))));
        if (i < n) c += size_t(std::popcount(bits(_mm512_cmp_ps_mask(load(s + i, n - i), cut, _CMP_GE_OQ))));
        return c;
    }

    static size_t filter_ge(const float* s, size_t n, float t, float* val, int32_t* idx, size_t capacity) {
        const __m512 cut = _mm512_set1_ps(t);
        __m512i at = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
        size_t c = 0;
        for (size_t i = 0; i < n; i += width, at = _mm512_add_epi32(at, _mm512_set1_epi32(width))) {
            if (c + width > capacity) return capacity + 1;
            const __m512 x = n - i >= width ? _mm512_loadu_ps(s + i) : load(s + i, n - i);
            const __mmask16 keep = _mm512_cmp_ps_mask(x, cut, _CMP_GE_OQ);
            // Compress in a register and store it whole: compressing into memory is slow on some processors.
            _mm512_storeu_ps(val + c, _mm512_maskz_compress_ps(keep, x));
            _mm512_storeu_si512(idx + c, _mm512_maskz_compress_epi32(keep, at));
            c += size_t(std::popcount(bits(keep)));
        }
        return c;
    }

    static void emit(const float* s, const int32_t* ids, size_t n, float t, size_t ties, size_t room, int32_t* idx,
                     float* val) {
        const __m512 cut = _mm512_set1_ps(t);
        __m512i at = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
        for (size_t i = 0, c = 0; i < n && c < room; i += width, at = _mm512_add_epi32(at, _mm512_set1_epi32(width))) {
            const size_t here = std::min(n - i, width);
            const __m512 x = load(s + i, here);
            const unsigned above = bits(_mm512_cmp_ps_mask(x, cut, _CMP_GT_OQ));
            const unsigned equal = bits(_mm512_cmp_ps_mask(x, cut, _CMP_EQ_OQ));
            const unsigned tied =
                _pdep_u32(_bzhi_u32(0xffff, unsigned(std::min<size_t>(ties, 16))), equal);  // the first few
            ties -= size_t(std::popcount(tied));
            const unsigned keep = above | tied;
            const auto found = size_t(std::popcount(keep));
            const __m512i id = ids ? _mm512_maskz_loadu_epi32(first(here), ids + i) : at;
            _mm512_mask_storeu_ps(val + c, first(found), _mm512_maskz_compress_ps(__mmask16(keep), x));
            _mm512_mask_storeu_epi32(idx + c, first(found), _mm512_maskz_compress_epi32(__mmask16(keep), id));
            c += found;
        }
    }
};

}  // namespace topmix
