// Bytes of text, many at a time.
#pragma once
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#if defined(__aarch64__) && defined(__ARM_NEON)
#include <arm_neon.h>
#endif

namespace topmix {

/// line[i] = map[text[i]]. Nothing beyond ASCII is in the map.
inline void translate_bytes(const std::array<char, 256>& map, std::string_view text, char* line) {
    size_t i = 0;
#if defined(__aarch64__) && defined(__ARM_NEON)
    // Two tables of 64 bytes: one gives 0 for what it does not hold, the other leaves that as it is.
    const auto* from = reinterpret_cast<const uint8_t*>(map.data());
    const uint8x16x4_t low = vld1q_u8_x4(from), high = vld1q_u8_x4(from + 64);
    for (; i + 16 <= text.size(); i += 16) {
        const uint8x16_t c = vld1q_u8(reinterpret_cast<const uint8_t*>(text.data()) + i);
        const uint8x16_t mapped = vqtbx4q_u8(vqtbl4q_u8(low, c), high, vsubq_u8(c, vdupq_n_u8(64)));
        vst1q_u8(reinterpret_cast<uint8_t*>(line) + i, mapped);
    }
#endif
    for (; i < text.size(); ++i) line[i] = map[uint8_t(text[i])];
}

/// Bit i of 64 is set where p[i] is not zero; bytes are under 128, so adding 127 to each carries into no other.
inline uint64_t nonzero_bytes(const char* p) {
#if defined(__aarch64__) && defined(__ARM_NEON)
    static constexpr uint8_t weights[16] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
    const auto bits = [p](size_t at) {
        const uint8x16_t x = vld1q_u8(reinterpret_cast<const uint8_t*>(p) + at);
        return vandq_u8(vtstq_u8(x, x), vld1q_u8(weights));
    };
    const uint8x16_t sums = vpaddq_u8(vpaddq_u8(bits(0), bits(16)), vpaddq_u8(bits(32), bits(48)));
    return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(sums, sums)), 0);
#else
    uint64_t mask = 0;
    if constexpr (std::endian::native == std::endian::little) {
        for (size_t i = 0; i < 64; i += 8) {
            uint64_t w;
            std::memcpy(&w, p + i, 8);
            w = (w + 0x7f7f7f7f7f7f7f7fu) >> 7 & 0x0101010101010101u;
            mask |= (w * 0x0102040810204080u >> 56) << i;  // gathers the eight low bits
        }
    } else {
        for (size_t i = 0; i < 64; ++i) mask |= uint64_t(p[i] != 0) << i;
    }
    return mask;
#endif
}

}  // namespace topmix
