// What sampling a block of documents needs of the topics: weights of words, and running sums of the prior's part.
//
//     e_vk = (n_vk + eta_vk) / (n_k + eta_k),      mass_vb = sum of alpha_k e_vk over the first b blocks of topics
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/parallel.hpp"
#include "base/rng.hpp"
#include "base/views.hpp"
#include "global/word_prior.hpp"
#include "global/word_stats.hpp"

namespace topmix {

constexpr size_t kPriorBlock = 64;  // topics to a running sum of the prior's part

inline size_t prior_blocks(size_t K) { return (K + kPriorBlock - 1) / kPriorBlock; }

/// What sampling needs of the topics while a block lasts.
struct GibbsTable {
    Rows<const float> e;             // [V, K]
    Rows<const float> mass;          // [V, blocks] running sums of alpha_k e_vk
    std::span<const float> alpha;    // [K]
    std::span<const float> inverse;  // [K] 1 / (n_k + eta_k)
    std::span<const float> larger;   // [K] (n_k + eta_k) / (n_k + eta_k - 1)
    float least;                     // the smallest eta
};

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

/// A topic in proportion to alpha_k e_vk, but not `but`: drawn until it is another. Tokens come here seldom, and the
/// more seldom the more often it would be `but`.
inline size_t pick_by_prior(const GibbsTable& table, size_t v, size_t but, Rng& rng) {
    const auto sums = table.mass[v];
    const float *e = table.e[v].data(), *alpha = table.alpha.data();
    const size_t K = table.alpha.size();
    for (int attempt = 0; attempt < 1000; ++attempt) {
        float x = rng.uniform_float() * sums.back();
        size_t b = 0;
        while (b + 1 < sums.size() && x >= sums[b]) ++b;
        if (b) x -= sums[b - 1];
        size_t k = b * kPriorBlock;
        for (const size_t end = std::min(k + kPriorBlock, K) - 1; k < end; ++k)
            if ((x -= alpha[k] * e[k]) < 0) break;
        if (k != but) return k;
    }
    return but;
}

}  // namespace topmix
