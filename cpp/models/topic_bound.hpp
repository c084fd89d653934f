// What the topics' words add to the objective: one read of the counts, nothing of their size written.
//
//     collapsed     sum over words and topics of x log x       at x = S + eta, Eq. (3.10)
//     variational   the same sum of log Gamma(x)
#pragma once
#include <algorithm>
#include <span>
#include <vector>

#include "base/math.hpp"
#include "base/parallel.hpp"
#include "base/views.hpp"
#include "models/posterior.hpp"
#include "models/word_prior.hpp"

namespace topmix {

/// Which of the K counts are above zero, in order; returns how many. Most are not: they have
/// f(eta), so that gathering the others saves many logarithms.
inline size_t counted(const double* S, double factor, size_t K, uint32_t* which) {
    constexpr size_t width = 16;
    size_t n = 0;
    for (size_t begin = 0; begin < K; begin += width) {
        const size_t end = std::min(K, begin + width);
        double largest = 0;
#pragma omp simd reduction(max : largest)
        for (size_t k = begin; k < end; ++k) largest = std::max(largest, S[k] * factor);
        if (largest == 0) continue;
        for (size_t k = begin; k < end; ++k) {
            which[n] = uint32_t(k);
            n += S[k] * factor > 0.0;
        }
    }
    return n;
}

/// raw [V, K] times factor are the counts. Also fills norm [K] with the sums of x over words. Words are summed in
/// blocks that do not depend on threads, and blocks in order.
inline double topic_bound(Posterior posterior, Rows<const double> raw, double factor, WordPrior eta, int threads,
                          std::span<double> norm) {
    const size_t K = norm.size(), V = raw.rows(), grain = std::max<size_t>(64, (V + 255) / 256);
    const size_t blocks = (V + grain - 1) / grain;
    std::vector<double> sums(blocks), norms(blocks * K);
    parallel_for(V, grain, threads, [&](size_t begin, size_t end, size_t) {
        std::vector<double> prior(K), x(K), some(K);
        std::vector<uint32_t> which(K);
        const auto f = [&](const double* values, size_t n) {
            double sum = 0;
#pragma omp simd reduction(+ : sum)
            for (size_t i = 0; i < n; ++i)
                sum += posterior == Posterior::collapsed ? values[i] * math::log(values[i]) : math::lgamma(values[i]);
            return sum;
        };
        double* const norm_here = norms.data() + begin / grain * K;
        for (size_t v = begin; v < end; ++v) {
            const double* const S = raw[v].data();
            eta.copy_to(prior, v);
#pragma omp simd
            for (size_t k = 0; k < K; ++k) {
                x[k] = std::max(S[k] * factor, 0.0) + prior[k];
                norm_here[k] += x[k];
            }
            size_t n = eta.topic_step ? K : counted(S, factor, K, which.data());
            if (eta.extra && n < K)
                eta.each_extra(v, [&](size_t k, double) {
                    if (!(S[k] * factor > 0.0)) which[n++] = uint32_t(k);
                });
            if (2 * n > K) {
                sums[begin / grain] += f(x.data(), K);
            } else {
                const double same = eta(v, 0);  // what the other K - n have
                for (size_t i = 0; i < n; ++i) some[i] = x[which[i]];
                sums[begin / grain] += f(some.data(), n) + double(K - n) * f(&same, 1);
            }
        }
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
