// What sampling a block of documents needs of the topics: weights of words, and running sums of the prior's part.
//
//     e_vk = (n_vk + eta_vk) / (n_k + eta_k),      mass_vb = sum of alpha_k e_vk over the first b blocks of topics
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/parallel.hpp"
#include "base/views.hpp"
#include "global/word_prior.hpp"
#include "global/word_stats.hpp"
#include "local/document_sampler.hpp"

namespace topmix {

/// Fills inverse and larger [K], e [V, K] and mass [V, blocks].
inline void gibbs_table(Rows<const int32_t> word, std::span<const int64_t> total, WordPrior eta,
                        std::span<const double> eta_totals, std::span<const float> alpha, int threads,
                        std::span<float> inverse, std::span<float> larger, Rows<float> e, Rows<float> mass) {
    const size_t K = total.size(), V = e.rows();
    std::vector<float> same(K);
    for (size_t k = 0; k < K; ++k) {
        const double n = double(total[k]) + eta_totals[k];
        inverse[k] = float(1 / n), same[k] = float(eta(0, k));
        larger[k] = total[k] > 0 ? float(n / (n - 1)) : 1.f;  // asked only of a topic that has a token
    }
    parallel_for(V, kWordGrain, threads, [&](size_t begin, size_t end, size_t) {
        std::vector<float> prior = same;
        for (size_t v = begin; v < end; ++v) {
            if (eta.word_step)
                for (size_t k = 0; k < K; ++k) prior[k] = float(eta(v, k));
            const int32_t* __restrict n = word[v].data();
            const float* __restrict p = prior.data(), * __restrict q = inverse.data(), * __restrict a = alpha.data();
            float* __restrict out = e[v].data();
            float* sums = mass[v].data();
            float running = 0;
            for (size_t at = 0, b = 0; at < K; at += kPriorBlock, ++b) {
                float s = 0;
#pragma omp simd reduction(+ : s)
                for (size_t k = at; k < std::min(at + kPriorBlock, K); ++k) {
                    out[k] = (float(n[k]) + p[k]) * q[k];
                    s += a[k] * out[k];
                }
                sums[b] = running += s;
            }
        }
    });
}

}  // namespace topmix
