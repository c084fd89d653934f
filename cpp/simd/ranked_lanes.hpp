// What follows from ranks where there is no compress: each bit that is set is taken one after the other.
#pragma once
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace topmix {

/// Needs Own::ranked<Count>(v, n, L): bit i is set where v[i], of n <= Count numbers, has fewer than L larger ones.
template <class Own>
struct RankedLanes {
    template <size_t Count>
    static float nth_largest(const float* v, size_t L) {
        float t = std::numeric_limits<float>::infinity();
        for (uint32_t keep = Own::template ranked<Count>(v, Count, L); keep; keep &= keep - 1)
            t = std::min(t, v[std::countr_zero(keep)]);
        return t;
    }

    static bool take_ranked(const float* v, const int32_t* ids, size_t n, size_t L, int32_t* idx, float* val) {
        uint32_t keep = n <= 16 ? Own::template ranked<16>(v, n, L) : Own::template ranked<32>(v, n, L);
        if (size_t(std::popcount(keep)) != L) return false;
        for (size_t c = 0; keep; keep &= keep - 1, ++c) {
            const int at = std::countr_zero(keep);
            val[c] = v[at];
            idx[c] = ids[at];
        }
        return true;
    }
};

}  // namespace topmix
