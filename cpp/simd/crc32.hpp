// The checksum of zlib and gzip (CRC-32), at the speed of memory: files are checked when they are opened.
//
// A CRC is the remainder of a polynomial over GF(2). In the usual order of its bits, the first bit of a byte is the
// lowest, and the highest bit of a register is the coefficient of x^0. Pieces are computed by themselves and joined:
// crc(AB) = crc(A) x^(8 |B|) + crc(B).
#pragma once
#include <array>
#include <cstdint>
#include <cstring>
#include <span>

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define TOPMIX_CARRYLESS 1
#elif defined(__aarch64__) && defined(__GNUC__) && (defined(__linux__) || defined(__ARM_FEATURE_CRC32))
#include <bit>
#if defined(__linux__)
#include <sys/auxv.h>
#endif
#define TOPMIX_CRC_INSTRUCTION 1
#endif

namespace topmix {

constexpr uint32_t kCrcPolynomial = 0xEDB88320;
constexpr uint32_t kCrcOne = uint32_t(1) << 31;  // the polynomial 1

constexpr uint32_t crc_times_x(uint32_t a) { return (a >> 1) ^ ((a & 1) ? kCrcPolynomial : 0); }

/// a b modulo the polynomial of the CRC.
constexpr uint32_t crc_multiply(uint32_t a, uint32_t b) {
    uint32_t product = 0;
    for (uint32_t bit = kCrcOne; bit; bit >>= 1, b = crc_times_x(b))
        if (a & bit) product ^= b;
    return product;
}

/// x^n modulo the polynomial of the CRC.
constexpr uint32_t crc_power(uint64_t n) {
    uint32_t power = kCrcOne, square = crc_times_x(kCrcOne);
    for (; n; n >>= 1, square = crc_multiply(square, square))
        if (n & 1) power = crc_multiply(power, square);
    return power;
}

constexpr auto kCrcTables = [] {
    std::array<std::array<uint32_t, 256>, 8> tables{};
    for (uint32_t byte = 0; byte < 256; ++byte) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; ++bit) crc = crc_times_x(crc);
        tables[0][byte] = crc;
    }
    for (size_t t = 1; t < 8; ++t)
        for (size_t byte = 0; byte < 256; ++byte)
            tables[t][byte] = (tables[t - 1][byte] >> 8) ^ tables[0][tables[t - 1][byte] & 255];
    return tables;
}();

/// The register after these bytes, eight at a time.
inline uint32_t crc_by_table(uint32_t crc, const uint8_t* data, size_t n) {
    const auto& T = kCrcTables;
    for (; n >= 8; data += 8, n -= 8) {
        const uint32_t a =
            crc ^ (uint32_t(data[0]) | uint32_t(data[1]) << 8 | uint32_t(data[2]) << 16 | uint32_t(data[3]) << 24);
        crc = T[7][a & 255] ^ T[6][(a >> 8) & 255] ^ T[5][(a >> 16) & 255] ^ T[4][a >> 24] ^ T[3][data[4]] ^
              T[2][data[5]] ^ T[1][data[6]] ^ T[0][data[7]];
    }
    for (; n; ++data, --n) crc = (crc >> 8) ^ T[0][(crc ^ *data) & 255];
    return crc;
}

#ifdef TOPMIX_CARRYLESS
/// Products of 64 bits without carries fold 16 bytes into the 16 that stand `distance` bits later. What is left in the
/// end, 16 bytes with the same remainder as all, goes through the table.
__attribute__((target("pclmul,sse2"))) inline uint32_t crc_by_folding(uint32_t crc, const uint8_t* data, size_t n) {
    const auto load = [&](size_t at) __attribute__((target("pclmul,sse2"))) {
        return _mm_loadu_si128(reinterpret_cast<const __m128i*>(data + at));
    };
    const auto factors = [](uint64_t distance) __attribute__((target("pclmul,sse2"))) {
        // A product of reflected polynomials comes out one bit too low, which the shift undoes.
        return _mm_set_epi64x(int64_t(uint64_t(crc_power(distance - 32)) << 1),
                              int64_t(uint64_t(crc_power(distance + 32)) << 1));
    };
    const auto fold = [](__m128i x, __m128i by, __m128i onto) __attribute__((target("pclmul,sse2"))) {
        return _mm_xor_si128(onto, _mm_xor_si128(_mm_clmulepi64_si128(x, by, 0x00), _mm_clmulepi64_si128(x, by, 0x11)));
    };
    __m128i x[4] = {load(0), load(16), load(32), load(48)};
    x[0] = _mm_xor_si128(x[0], _mm_cvtsi32_si128(int32_t(crc)));
    size_t at = 64;
    const __m128i far = factors(512), near = factors(128);
    for (; at + 64 <= n; at += 64)
        for (size_t i = 0; i < 4; ++i) x[i] = fold(x[i], far, load(at + 16 * i));
    for (size_t i = 1; i < 4; ++i) x[i] = fold(x[i - 1], near, x[i]);
    for (; at + 16 <= n; at += 16) x[3] = fold(x[3], near, load(at));
    uint8_t rest[16];
    _mm_storeu_si128(reinterpret_cast<__m128i*>(rest), x[3]);
    return crc_by_table(crc_by_table(0, rest, 16), data + at, n - at);
}

inline bool has_carryless() {
    static const bool has = __builtin_cpu_supports("pclmul") != 0;
    return has;
}
#endif

#ifdef TOPMIX_CRC_INSTRUCTION
/// ARMv8.0 may have instructions for this polynomial, and all later ones do. In assembly, because the intrinsics are
/// declared only where the whole file is compiled for them. Three parts side by side: an instruction waits for the one
/// before it.
inline uint32_t crc_by_instruction(uint32_t crc, const uint8_t* data, size_t n) {
    constexpr size_t kPart = 4096;
    const auto eat = [](uint32_t& c, const uint8_t* at) {
        uint64_t word;
        std::memcpy(&word, at, 8);
        asm(".arch_extension crc\n\tcrc32x %w0, %w0, %1" : "+r"(c) : "r"(word));
    };
    static const uint32_t past_part = crc_power(8 * kPart);
    for (; n >= 3 * kPart; data += 3 * kPart, n -= 3 * kPart) {
        uint32_t second = 0, third = 0;
        for (size_t i = 0; i < kPart; i += 8)
            eat(crc, data + i), eat(second, data + kPart + i), eat(third, data + 2 * kPart + i);
        crc = crc_multiply(crc_multiply(crc, past_part) ^ second, past_part) ^ third;
    }
    for (; n >= 8; data += 8, n -= 8) eat(crc, data);
    return crc_by_table(crc, data, n);
}

inline bool has_crc_instruction() {
#if defined(__linux__)
    static const bool has =
        std::endian::native == std::endian::little && (getauxval(AT_HWCAP) >> 7 & 1);  // HWCAP_CRC32
    return has;
#else
    return true;
#endif
}
#endif

/// As zlib.crc32(data, crc).
inline uint32_t crc32(std::span<const uint8_t> data, uint32_t crc = 0) {
#ifdef TOPMIX_CARRYLESS
    if (data.size() >= 64 && has_carryless()) return ~crc_by_folding(~crc, data.data(), data.size());
#endif
#ifdef TOPMIX_CRC_INSTRUCTION
    if (has_crc_instruction()) return ~crc_by_instruction(~crc, data.data(), data.size());
#endif
    return ~crc_by_table(~crc, data.data(), data.size());
}

}  // namespace topmix
