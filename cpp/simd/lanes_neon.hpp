// The loops of lanes.hpp for float on NEON, 16 at a time in four registers. NEON has neither compress nor a mask in a
// general register: masks are narrowed to four bits a lane, and a table of 16 byte shuffles packs four lanes.
#pragma once
#include <arm_neon.h>

#include <array>
#include <bit>

#include "simd/plain_lanes.hpp"
#include "simd/ranked_lanes.hpp"

namespace topmix {

template <>
struct Lanes<float> : RankedLanes<Lanes<float>> {
    static constexpr float ninf = -std::numeric_limits<float>::infinity();
    static constexpr size_t width = 16, few = 32;

    /// Row m has the bytes of the lanes that are set in m, lowest first.
    static constexpr auto packing = [] {
        std::array<std::array<uint8_t, 16>, 16> rows{};
        for (unsigned m = 0; m < 16; ++m)
            for (unsigned lane = 0, slot = 0; lane < 4; ++lane)
                if (m >> lane & 1) {
                    for (unsigned byte = 0; byte < 4; ++byte) rows[m][4 * slot + byte] = uint8_t(4 * lane + byte);
                    ++slot;
                }
        return rows;
    }();

    static float32x4_t load(const float* s, size_t n) {  // the missing ones are -inf
        if (n >= 4) return vld1q_f32(s);
        float x[4] = {ninf, ninf, ninf, ninf};
        for (size_t i = 0; i < n; ++i) x[i] = s[i];
        return vld1q_f32(x);
    }
    static float32x4_t load_or_none(const float* s, size_t n, size_t at) {
        return at < n ? load(s + at, n - at) : vdupq_n_f32(ninf);
    }
    /// Bit i is set where lane i is; the sum over lanes of what each weighs.
    static unsigned bits(uint32x4_t mask) {
        static constexpr uint32_t weights[4] = {1, 2, 4, 8};
        return vaddvq_u32(vandq_u32(mask, vld1q_u32(weights)));
    }
    /// Likewise for sixteen lanes.
    static unsigned bits(uint32x4_t a, uint32x4_t b, uint32x4_t c, uint32x4_t d) {
        static constexpr uint8_t weights[16] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
        const uint16x8_t ab = vuzp1q_u16(vreinterpretq_u16_u32(a), vreinterpretq_u16_u32(b));
        const uint16x8_t cd = vuzp1q_u16(vreinterpretq_u16_u32(c), vreinterpretq_u16_u32(d));
        const uint8x16_t all =
            vandq_u8(vuzp1q_u8(vreinterpretq_u8_u16(ab), vreinterpretq_u8_u16(cd)), vld1q_u8(weights));
        return vaddv_u8(vget_low_u8(all)) | unsigned(vaddv_u8(vget_high_u8(all))) << 8;
    }
    static bool any(uint32x4_t mask) { return vmaxvq_u32(mask) != 0; }

    /// vmaxnm gives the number when one of two is NaN.
    template <size_t Count>
    static void maxima(const float* s, size_t n, float* M) {
        constexpr size_t out = Count / 4;
        constexpr size_t chains = out < 8 ? 8 : out <= 16 ? out : 16;  // in registers, and enough to hide latency
        static_assert(chains % out == 0 || out % chains == 0);
        for (size_t part = 0; part < out; part += chains) {
            float32x4_t best[chains];
            for (auto& b : best) b = vdupq_n_f32(ninf);
            constexpr size_t stride = 4 * (out > chains ? out : chains);
            size_t i = 0;
            for (; i + stride <= n; i += stride)
                for (size_t g = 0; g < chains; ++g) best[g] = vmaxnmq_f32(vld1q_f32(s + i + 4 * (part + g)), best[g]);
            for (size_t g = 0; g < chains; ++g) best[g] = vmaxnmq_f32(load_or_none(s, n, i + 4 * (part + g)), best[g]);
            for (size_t g = chains; g-- > out;) best[g % out] = vmaxnmq_f32(best[g % out], best[g]);
            for (size_t g = 0; g < std::min(out, chains); ++g) vst1q_f32(M + 4 * (part + g), best[g]);
        }
    }

    /// Which of the n <= Count numbers have fewer than L larger ones among them.
    template <size_t Count>
    static uint32_t ranked(const float* v, size_t n, size_t L) {
        constexpr size_t Vectors = Count / 4;
        float32x4_t x[Vectors];
        uint32x4_t rank[Vectors];
        for (size_t q = 0; q < Vectors; ++q) x[q] = load_or_none(v, n, 4 * q), rank[q] = vdupq_n_u32(0);
        for (size_t i = 0; i < n; ++i)
            for (size_t q = 0; q < Vectors; ++q) rank[q] = vsubq_u32(rank[q], vcgtq_f32(vdupq_n_f32(v[i]), x[q]));
        uint32_t keep = 0;
        const uint32x4_t cut = vdupq_n_u32(uint32_t(L));
        for (size_t q = 0; q < Vectors; q += 4)
            keep |= bits(vcltq_u32(rank[q], cut), vcltq_u32(rank[q + 1], cut), vcltq_u32(rank[q + 2], cut),
                         vcltq_u32(rank[q + 3], cut))
                    << (4 * q);
        return n < 32 ? keep & ((uint32_t(1) << n) - 1) : keep;
    }

    static size_t find(const float* s, size_t n, float x) {
        const float32x4_t what = vdupq_n_f32(x);
        size_t i = 0;
        for (; i + width <= n; i += width) {
            uint32x4_t same[4];
            for (size_t q = 0; q < 4; ++q) same[q] = vceqq_f32(vld1q_f32(s + i + 4 * q), what);
            if (any(vorrq_u32(vorrq_u32(same[0], same[1]), vorrq_u32(same[2], same[3])))) break;
        }
        while (i < n && s[i] != x) ++i;
        return i;
    }

    static Range<float> range(const float* s, size_t n) {
        if (n < 4) return PlainLanes<float>::range(s, n);
        const float32x4_t floor = vdupq_n_f32(ninf);
        float32x4_t low[2], high[2];
        low[0] = low[1] = high[0] = high[1] = vmaxnmq_f32(vld1q_f32(s + n - 4), floor);  // the last may overlap
        for (size_t i = 0; i + 8 <= n; i += 8)
            for (size_t g = 0; g < 2; ++g) {
                const float32x4_t x = vmaxnmq_f32(vld1q_f32(s + i + 4 * g), floor);
                low[g] = vminq_f32(low[g], x), high[g] = vmaxq_f32(high[g], x);
            }
        if (n % 8 > 4) {
            const float32x4_t x = vmaxnmq_f32(vld1q_f32(s + n / 8 * 8), floor);
            low[0] = vminq_f32(low[0], x), high[0] = vmaxq_f32(high[0], x);
        }
        return {vminvq_f32(vminq_f32(low[0], low[1])), vmaxvq_f32(vmaxq_f32(high[0], high[1]))};
    }

    static size_t count_ge(const float* s, size_t n, float t) {
        const float32x4_t cut = vdupq_n_f32(t);
        uint32x4_t c[4] = {};
        size_t i = 0;
        for (; i + width <= n; i += width)
            for (size_t q = 0; q < 4; ++q) c[q] = vsubq_u32(c[q], vcgeq_f32(vld1q_f32(s + i + 4 * q), cut));
        for (size_t q = 0; i < n; i += 4, ++q) c[q] = vsubq_u32(c[q], vcgeq_f32(load(s + i, n - i), cut));
        return vaddvq_u32(vaddq_u32(vaddq_u32(c[0], c[1]), vaddq_u32(c[2], c[3])));
    }

    static size_t filter_ge(const float* s, size_t n, float t, float* val, int32_t* idx, size_t capacity) {
        static constexpr int32_t lanes[4] = {0, 1, 2, 3};
        const float32x4_t cut = vdupq_n_f32(t);
        size_t c = 0;
        for (size_t i = 0; i < n; i += width) {
            if (c + width > capacity) return capacity + 1;
            float32x4_t x[4];
            uint32x4_t in[4];
            for (size_t q = 0; q < 4; ++q) {
                x[q] = i + width <= n ? vld1q_f32(s + i + 4 * q) : load_or_none(s, n, i + 4 * q);
                in[q] = vcgeq_f32(x[q], cut);
            }
            if (!any(vorrq_u32(vorrq_u32(in[0], in[1]), vorrq_u32(in[2], in[3])))) continue;  // nearly always
            const unsigned keep = bits(in[0], in[1], in[2], in[3]);
            unsigned found = keep - (keep >> 1 & 0x5555);  // how many of each four, in four bits each,
            found = (found & 0x3333) + (found >> 2 & 0x3333);
            const unsigned before = found * 0x1110;  // and in all fours before it
            for (size_t q = 0; q < 4; ++q) {
                const unsigned four = keep >> (4 * q) & 15;
                const size_t at = c + (before >> (4 * q) & 15);
                const int32x4_t id = vaddq_s32(vdupq_n_s32(int32_t(i + 4 * q)), vld1q_s32(lanes));
                vst1q_f32(val + at, packed(x[q], four));
                vst1q_s32(idx + at, vreinterpretq_s32_f32(packed(vreinterpretq_f32_s32(id), four)));
            }
            c += (before >> 12 & 15) + (found >> 12);
        }
        return c;
    }

    static void emit(const float* s, const int32_t* ids, size_t n, float t, size_t ties, size_t room, int32_t* idx,
                     float* val) {
        const float32x4_t cut = vdupq_n_f32(t);
        for (size_t i = 0, c = 0; i < n && c < room; i += width) {
            uint32x4_t above[4], equal[4];
            for (size_t q = 0; q < 4; ++q) {
                const float32x4_t x = i + width <= n ? vld1q_f32(s + i + 4 * q) : load_or_none(s, n, i + 4 * q);
                above[q] = vcgtq_f32(x, cut), equal[q] = vceqq_f32(x, cut);
            }
            unsigned keep = bits(above[0], above[1], above[2], above[3]);
            for (unsigned tied = bits(equal[0], equal[1], equal[2], equal[3]); tied && ties; tied &= tied - 1, --ties)
                keep |= tied & -tied;
            for (; keep && c < room; keep &= keep - 1, ++c) {
                const size_t at = i + size_t(std::countr_zero(keep));
                val[c] = s[at];
                idx[c] = ids ? ids[at] : int32_t(at);
            }
        }
    }

  private:
    static float32x4_t packed(float32x4_t x, unsigned keep) {
        return vreinterpretq_f32_u8(vqtbl1q_u8(vreinterpretq_u8_f32(x), vld1q_u8(packing[keep].data())));
    }
};

}  // namespace topmix
