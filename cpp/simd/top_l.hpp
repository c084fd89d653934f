// One row of an L-sparse posterior: keep the L best clusters, renormalise over them.  docs/math.md Eq. (1.5).
//
//     S = argtop_L s,      r_k = exp(s_k) / sum_{j in S} exp(s_j)   for k in S      from log weights s
//                          r_k = w_k / sum_{j in S} w_j                             from weights w
//
// L = K is the dense softmax and L = 1 the hard step; tests hold the code to both.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "base/math.hpp"
#include "simd/select.hpp"

namespace topmix {

/// Every entry that equals v gets an even share of one. Returns the entropy.
template <class T>
double share_evenly(std::span<T> r, T v) {
    const auto n = std::ranges::count(r, v);
    for (T& x : r) x = x == v ? T(1) / T(n) : T(0);
    return std::log(double(n));
}

template <class T>
T largest(std::span<const T> r) {
    T high = -std::numeric_limits<T>::infinity();
#pragma omp simd reduction(max : high)
    for (size_t l = 0; l < r.size(); ++l) high = r[l] > high ? r[l] : high;
    return high;
}

/// r becomes w / sum w, where weigh(x, w, wlog) turns an entry into a weight w and w log w, up to one common factor.
/// Returns H[r] = log Z - sum w log w / Z. The entry `none` must weigh nothing: it fills the last block, so that short
/// rows (L = 4) run as one vector too.
template <class T, class Weigh>
double renormalise(std::span<T> r, T none, Weigh weigh) {
    constexpr size_t block = 16;
    double Z[block] = {}, Zlog[block] = {};
    auto add = [&](T* x) {
        T wlog[block];
#pragma omp simd
        for (size_t j = 0; j < block; ++j) weigh(x[j], x[j], wlog[j]);
#pragma omp simd
        for (size_t j = 0; j < block; ++j) Z[j] += double(x[j]), Zlog[j] += double(wlog[j]);
    };
    size_t l = 0;
    for (; l + block <= r.size(); l += block) add(&r[l]);
    if (l < r.size()) {
        T x[block];
        for (size_t j = 0; j < block; ++j) x[j] = l + j < r.size() ? r[l + j] : none;
        add(x);
        for (size_t j = 0; l + j < r.size(); ++j) r[l + j] = x[j];
    }
    for (size_t j = 0; j < 8; ++j) Z[j] += Z[j + 8], Zlog[j] += Zlog[j + 8];
    for (size_t j = 0; j < 4; ++j) Z[j] += Z[j + 4], Zlog[j] += Zlog[j + 4];
    const double z = (Z[0] + Z[2]) + (Z[1] + Z[3]), zlog = (Zlog[0] + Zlog[2]) + (Zlog[1] + Zlog[3]);
    const T scale = T(1 / z);
#pragma omp simd
    for (size_t i = 0; i < r.size(); ++i) r[i] *= scale;
    return math::log(z) - zlog / z;
}

/// r = softmax(r). A row of -inf is uniform; +inf takes all, shared evenly if there are several.
template <class T>
double softmax(std::span<T> r) {
    constexpr T inf = std::numeric_limits<T>::infinity();
    const T high = largest<T>(r);
    if (high == inf || high == -inf) return share_evenly(r, high);
    return renormalise(r, -inf, [high](T x, T& w, T& wlog) {
        const T d = x - high;
        w = math::exp(d);
        wlog = w * (d > math::Format<T>::exp_min ? d : math::Format<T>::exp_min);  // not 0 * -inf
    });
}

/// r = r / sum(r). What is negative or -inf weighs nothing; a row of nothing is uniform; +inf takes all, as above.
template <class T>
double normalise(std::span<T> r) {
    constexpr T inf = std::numeric_limits<T>::infinity();
    for (T& x : r) x = x > T(0) ? x : T(0);
    const T high = largest<T>(r);
    if (high == inf || high == T(0)) return share_evenly(r, high);
    return renormalise(r, T(0), [high](T x, T& w, T& wlog) {
        w = x / high;  // the sum then neither overflows nor vanishes
        wlog = w * math::log(w > std::numeric_limits<T>::min() ? w : std::numeric_limits<T>::min());
    });
}

/// Softmax over the m = min(L, K) best of the log weights s, written to idx[m] (ascending) and r[m]. Returns H[r] in
/// nats.
template <class T>
double softmax_top_l(std::span<const T> s, size_t L, int32_t* idx, T* r) {
    const size_t m = select_top_l(s, L, idx, r);
    if (m == 1) r[0] = 1;
    return m > 1 ? softmax(std::span(r, m)) : 0.0;
}

/// Likewise from non-negative weights, without leaving for log space.
template <class T>
double normalise_top_l(std::span<const T> w, size_t L, int32_t* idx, T* r) {
    const size_t m = select_top_l(w, L, idx, r);
    if (m == 1) r[0] = 1;
    return m > 1 ? normalise(std::span(r, m)) : 0.0;
}

}  // namespace topmix
