// Local step of a mixture: assign every row to its L best clusters.  docs/math.md Eqs. (1.4)-(1.6).
//
// Parallel over rows; each row writes its own slots. What the rows give to each word or cluster is summed afterwards
// by owner (word_stats.hpp), so the bits do not depend on the number of threads.
#pragma once
#include <algorithm>
#include <span>
#include <vector>

#include "base/parallel.hpp"
#include "base/views.hpp"
#include "simd/top_l.hpp"

namespace topmix {

constexpr size_t kRowGrain = 64;

/// The result of a local step for each row.
template <class T = float>
struct Assigned {
    std::span<int32_t> cluster;  // [rows, L] ascending within a row
    std::span<T> r;              // [rows, L] sums to one
    std::span<double> entropy;   // [rows] H[r_n]
    std::span<double>
        likelihood;  // [rows] log sum over the chosen clusters of exp(score): what the row adds to the bound
};

/// Row n to the L best of its scores; `taken_off` is what all of them lack.
template <class T>
void assign_row(std::span<const T> s, size_t L, size_t n, double taken_off, const Assigned<T>& out) {
    int32_t* cluster = &out.cluster[n * L];
    T* r = &out.r[n * L];
    const double H = softmax_top_l(s, L, cluster, r);
    // sum_k r s + H equals log sum exp s over the chosen: Eq. (1.6)
    double Es = 0;
    for (size_t l = 0; l < L; ++l)
        if (r[l] > 0) Es += double(r[l]) * double(s[size_t(cluster[l])]);
    out.entropy[n] = H;
    out.likelihood[n] = Es + H + taken_off;
}

template <class Lik, class Data>
void assign_rows(const Lik& lik, std::span<const float> Elogpi, const Data& X, size_t L, int threads,
                 const Assigned<float>& out) {
    parallel_for(X.rows(), kRowGrain, threads, [&](size_t begin, size_t end, size_t) {
        std::vector<float> s(Elogpi.size());
        for (size_t n = begin; n < end; ++n) {
            std::ranges::copy(Elogpi, s.begin());
            const double taken_off = lik.score(X, n, s);
            assign_row(std::span<const float>(s), L, n, taken_off, out);
        }
    });
}

}  // namespace topmix
