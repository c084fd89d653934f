// Checksums: files are checked when they are opened, on several threads.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/parallel.hpp"
#include "simd/crc32.hpp"

namespace topmix {

/// In pieces, on several threads.
inline uint32_t crc32(std::span<const uint8_t> data, uint32_t crc, int threads) {
    constexpr size_t kPiece = 1 << 20;
    if (data.size() <= kPiece) return crc32(data, crc);
    std::vector<uint32_t> pieces((data.size() + kPiece - 1) / kPiece);
    parallel_for(data.size(), kPiece, threads, [&](size_t begin, size_t end, size_t) {
        pieces[begin / kPiece] = crc32(data.subspan(begin, end - begin));
    });
    const uint32_t past_piece = crc_power(8 * kPiece);
    for (size_t p = 0; p < pieces.size(); ++p) {
        const size_t length = std::min(kPiece, data.size() - p * kPiece);
        crc = crc_multiply(crc, length == kPiece ? past_piece : crc_power(8 * length)) ^ pieces[p];
    }
    return crc;
}

}  // namespace topmix
