// The textbook sampler (Griffiths & Steyvers 2004): one token after another, each given all the others as they are now.
//
//     p(z = k | rest) ~ (n_dk + alpha_k) (n_vk + eta_vk) / (n_k + eta_k),      counts without the token itself
//
// Exact, in one thread, K weights a token. They are computed a vector at a time and summed in 16 lanes; a draw falls
// into a lane, then into one of its weights. In which order topics stand in that sum does not matter.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/math.hpp"
#include "base/parallel.hpp"
#include "base/rng.hpp"
#include "chains/tokens.hpp"
#include "models/word_prior.hpp"
#include "simd/block.hpp"

namespace topmix {

/// One sweep. Returns the documents' part of log p(w, z), less what depends on their lengths alone.
inline double gibbs_sequential(const Tokens& tokens, std::span<const float> alpha, WordPrior eta,
                               std::span<const double> eta_totals, uint64_t seed, uint32_t sweep,
                               const TopicCounts& counts) {
    const size_t K = counts.K(), whole = K / kBlock * kBlock;
    std::vector<float> inverse(K), prior(K), a(K), w(K);  // 1 / (n_k + eta_k), eta_v, n_d + alpha, weights
    std::vector<int32_t> n(K);                            // n_d
    for (size_t k = 0; k < K; ++k) {
        inverse[k] = float(1 / (double(counts.total[k]) + eta_totals[k]));
        prior[k] = float(eta(0, k));
    }
    auto count = [&](size_t v, size_t k, int32_t by) {
        n[k] += by, counts.word[v * K + k] += by, counts.total[k] += by;
        a[k] = float(n[k]) + alpha[k];
        inverse[k] = float(1 / (double(counts.total[k]) + eta_totals[k]));
    };
    auto draw = [&](const int32_t* __restrict row, float u) -> size_t {
        const float* __restrict A = a.data(), * __restrict P = prior.data(), * __restrict Q = inverse.data();
        float* __restrict W = w.data();
        std::array<float, kBlock> lane{};
        for (size_t k = 0; k < whole; k += kBlock)
#pragma omp simd
            for (size_t l = 0; l < kBlock; ++l) {
                W[k + l] = A[k + l] * (float(row[k + l]) + P[k + l]) * Q[k + l];
                lane[l] += W[k + l];
            }
        for (size_t k = whole; k < K; ++k) lane[k - whole] += W[k] = A[k] * (float(row[k]) + P[k]) * Q[k];
        float total = 0;
        for (const float s : lane) total += s;
        float x = u * total;
        const size_t lanes = std::min(kBlock, K);
        size_t l = 0;
        while (l + 1 < lanes && x >= lane[l]) x -= lane[l++];
        size_t k = l;
        while (k + kBlock < K && x >= w[k]) x -= w[k], k += kBlock;
        return k;
    };

    double sum = 0;
    auto visit = [&](size_t d) {
        TopicId* z = tokens.z.data() + tokens.first[d];
        std::ranges::fill(n, 0);
        for (int64_t i = tokens.first[d]; i < tokens.first[d + 1]; ++i) ++n[tokens.z[size_t(i)]];
        for (size_t k = 0; k < K; ++k) a[k] = float(n[k]) + alpha[k];
        Rng rng(seed, sweep, d);
        for (int64_t u = tokens.X.indptr[d]; u < tokens.X.indptr[d + 1]; ++u) {
            const size_t v = size_t(tokens.X.index[size_t(u)]);
            if (eta.word_step)
                for (size_t k = 0; k < K; ++k) prior[k] = float(eta(v, k));
            for (auto left = int64_t(tokens.X.value[size_t(u)]); left > 0; --left, ++z) {
                count(v, *z, -1);
                *z = TopicId(draw(&counts.word[v * K], rng.uniform_float()));
                count(v, *z, 1);
            }
        }
        for (size_t k = 0; k < K; ++k)
            if (n[k]) sum += math::lgamma(double(n[k]) + double(alpha[k])) - math::lgamma(double(alpha[k]));
    };
    parallel_for(tokens.X.rows(), kGibbsDocuments, 1, [&](size_t begin, size_t end, size_t) {
        for (size_t d = begin; d < end; ++d) visit(d);
    });
    return sum;
}

/// The words' part of log p(w, z): sum_k [c_Dir(eta_k) - c_Dir(eta_k + n_k)], Eq. (0.3).
inline double log_probability_of_words(Rows<const int32_t> word, std::span<const int64_t> total, WordPrior eta,
                                       std::span<const double> eta_totals, int threads) {
    const size_t K = total.size(), V = word.rows();
    std::vector<double> part((V + kWordGrain - 1) / kWordGrain);
    // Most counts are small, and with one eta for all they need no log Gamma of their own.
    std::vector<double> small(eta.word_step || eta.topic_step ? 0 : 4096);
    for (size_t n = 0; n < small.size(); ++n) small[n] = math::lgamma(double(n) + eta(0, 0)) - math::lgamma(eta(0, 0));
    parallel_for(V, kWordGrain, threads, [&](size_t begin, size_t end, size_t) {
        double s = 0;
        for (size_t v = begin; v < end; ++v) {
            const auto n = word[v];
            for (size_t k = 0; k < K; ++k) {
                if (n[k] == 0) continue;
                s += size_t(n[k]) < small.size() ? small[size_t(n[k])]
                                                 : math::lgamma(double(n[k]) + eta(v, k)) - math::lgamma(eta(v, k));
            }
        }
        part[begin / kWordGrain] = s;
    });
    double sum = 0;
    for (const double s : part) sum += s;
    for (size_t k = 0; k < K; ++k) sum += math::lgamma(eta_totals[k]) - math::lgamma(double(total[k]) + eta_totals[k]);
    return sum;
}

}  // namespace topmix
