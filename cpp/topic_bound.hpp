// What the topics' words add to the objective: one read of the counts, nothing of their size written.
//
//     collapsed     sum over words and topics of x log x       at x = S + eta, Eq. (3.10)
//     variational   the same sum of log Gamma(x)
#pragma once
#include <algorithm>
#include <span>
#include <vector>

#include "math.hpp"
#include "parallel.hpp"
#include "topic_table.hpp"

namespace topmix {

/// raw [V, K] times factor are the counts. Also fills norm [K] with the sums of x over words. Words are summed in
/// blocks that do not depend on threads, and blocks in order.
inline double topic_bound(Posterior posterior, Rows<const double> raw, double factor, WordPrior eta, int threads,
                          std::span<double> norm) {
    const size_t K = norm.size(), V = raw.rows(), grain = std::max<size_t>(64, (V + 255) / 256);
    const size_t blocks = (V + grain - 1) / grain;
    std::vector<double> sums(blocks), norms(blocks * K);
    parallel_for(V, grain, threads, [&](size_t begin, size_t end, size_t) {
        std::vector<double> prior(K), f(K);
        double* const norm_here = norms.data() + begin / grain * K;
        for (size_t v = begin; v < end; ++v) {
            const double* const S = raw[v].data();
            eta.copy_to(prior, v);
#pragma omp simd
            for (size_t k = 0; k < K; ++k) {
                const double x = std::max(S[k] * factor, 0.0) + prior[k];
                norm_here[k] += x;
                f[k] += posterior == Posterior::collapsed ? x * math::log(x) : math::lgamma(x);
            }
        }
        for (size_t k = 0; k < K; ++k) sums[begin / grain] += f[k];
    });
    double sum = 0;
    std::ranges::fill(norm, 0.0);
    for (size_t b = 0; b < blocks; ++b) {
        sum += sums[b];
        for (size_t k = 0; k < K; ++k) norm[k] += norms[b * K + k];
    }
    return sum;
}

}  // namespace topmix
