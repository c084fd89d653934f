// Bags of words: row n is drawn word by word from phi_k, phi_k ~ Dir(eta).  docs/math.md, section 2.
#pragma once
#include <algorithm>
#include <span>
#include <vector>

#include "base/math.hpp"
#include "base/parallel.hpp"
#include "base/views.hpp"

namespace topmix {

/// Scores rows of a shard, Eq. (2.2). The table is E[log phi] less each word's largest entry, so that long rows add
/// small numbers and float32 is enough; what was taken off is the same for every cluster and comes back through
/// `offset`.
struct Categorical {
    std::span<const float> Elogphi;  // [words, K] word-major: one word reads K contiguous floats
    std::span<const double> offset;  // [words] largest E[log phi_k] of the word
    size_t K;

    /// s_k += sum_v x_nv (E[log phi_kv] - offset_v);  returns sum_v x_nv offset_v
    double score(const Csr<float>& X, size_t n, std::span<float> s) const {
        double taken_off = 0;
        for (int64_t i = X.indptr[n]; i < X.indptr[n + 1]; ++i) {
            const float x = X.value[i], *logphi = &Elogphi[size_t(X.index[i]) * K];
            taken_off += double(x) * offset[X.index[i]];
#pragma omp simd
            for (size_t k = 0; k < K; ++k) s[k] += x * logphi[k];
        }
        return taken_off;
    }
};

/// The table of some words, and what was taken off: of E[log phi] = psi(S + eta) - psi(norm), or of log (S + eta) /
/// norm where the words are a point. raw [V, K] times factor are the counts S; eta is [V].
inline void categorical_table(bool is_point, Rows<const double> raw, double factor, std::span<const double> eta,
                              std::span<const double> norm, std::span<const int32_t> cols, int threads,
                              Rows<float> table, std::span<double> offset) {
    constexpr size_t kWords = 64;  // a task
    const size_t K = norm.size();
    std::vector<double> of_cluster(K);
    for (size_t k = 0; k < K; ++k) of_cluster[k] = is_point ? math::log(norm[k]) : math::digamma(norm[k]);
    parallel_for(cols.size(), kWords, threads, [&](size_t begin, size_t end, size_t) {
        std::vector<double> row(K);
        for (size_t j = begin; j < end; ++j) {
            const double *S = raw[size_t(cols[j])].data(), prior = eta[size_t(cols[j])], *less = of_cluster.data();
            double *x = row.data(), largest = -1e300;
#pragma omp simd
            for (size_t k = 0; k < K; ++k) x[k] = std::max(S[k] * factor, 0.0) + prior;
            if (is_point) {
#pragma omp simd
                for (size_t k = 0; k < K; ++k) x[k] = math::log(x[k]) - less[k];
            } else {
#pragma omp simd
                for (size_t k = 0; k < K; ++k) x[k] = math::digamma(x[k]) - less[k];
            }
#pragma omp simd reduction(max : largest)
            for (size_t k = 0; k < K; ++k) largest = std::max(largest, x[k]);
            float* out = table[j].data();
#pragma omp simd
            for (size_t k = 0; k < K; ++k) out[k] = float(x[k] - largest);
            offset[j] = largest;
        }
    });
}

}  // namespace topmix
