// The share of each topic in one entry: what the token-by-token steps (scvb0.hpp, cvb0.hpp) have in common.
#pragma once
#include <cstdint>
#include <limits>
#include <span>

#include "simd/top_l.hpp"

namespace topmix {

/// The top L of weights w, over their sum, into idx and r (ascending ids). Returns how many: min(L, K). Like
/// normalise_top_l, for those who do not ask for the entropy.
inline size_t share_top_l(std::span<const float> w, size_t L, int32_t* idx, float* r) {
    const size_t m = select_top_l(w, L, idx, r);
    float s = 0;
#pragma omp simd reduction(+ : s)
    for (size_t l = 0; l < m; ++l) s += r[l];
    if (!(s >= std::numeric_limits<float>::min())) {  // next to nothing, or nothing: 1 / s would overflow
        normalise(std::span(r, m));
        return m;
    }
    const float q = 1.f / s;
#pragma omp simd
    for (size_t l = 0; l < m; ++l) r[l] *= q;
    return m;
}

}  // namespace topmix
