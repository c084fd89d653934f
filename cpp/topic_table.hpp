// What a shard needs of the topics: a float32 table [words, K], word-major, exponentiated once per update.
//
//     collapsed     e_vk = (S_vk + eta_vk) / (S_k + eta_k)                      the posterior mean, Eq. (3.3)
//     variational   e_vk = exp(psi(S_vk + eta_vk) - psi(S_k + eta_k))           exp E[log phi], Eq. (3.2)
//
// Each row is divided by its largest entry, whose logarithm is kept in double, Eq. (3.4): exp E[log phi] underflows at
// small eta, and responsibilities do not see a factor that is the same for every topic.
#pragma once
#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "local/document.hpp"
#include "math.hpp"
#include "parallel.hpp"
#include "views.hpp"
#include "word_stats.hpp"

namespace topmix {

/// Prior pseudo-counts eta_vk as an array that may repeat along words or topics.
struct WordPrior {
    const double* data;
    size_t word_step, topic_step;  // 0 where it repeats
    double operator()(size_t v, size_t k) const { return data[v * word_step + k * topic_step]; }
};

/// Which of the K counts are above zero, in order; returns how many. Most are not, and have f(eta), so digamma and
/// lgamma are worth gathering the others for.
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

/// No word is impossible in a topic, Eq. (3.4): a row of zeros would leave a token nowhere to go.
constexpr float kLeast = 1e-30f;

/// raw [V, K] times factor are the counts; norm [K] is S_k + eta_k. Fills table [words, K] and log_scale [words].
inline void topic_table(Posterior posterior, Rows<const double> raw, double factor, WordPrior eta,
                        std::span<const double> norm, std::span<const int32_t> cols, int threads, Rows<float> table,
                        std::span<double> log_scale) {
    const size_t K = norm.size();
    std::vector<double> by_topic(K);
    for (size_t k = 0; k < K; ++k)
        by_topic[k] = posterior == Posterior::collapsed ? 1.0 / norm[k] : math::digamma(norm[k]);

    // Where a topic has none of a word, e is a factor of the topic times one of the word.
    const double least_norm = *std::ranges::min_element(by_topic);
    std::vector<float> by_empty(K);
    for (size_t k = 0; k < K; ++k) by_empty[k] = float(std::exp(least_norm - by_topic[k]));

    parallel_for(cols.size(), kWordGrain, threads, [&](size_t begin, size_t end, size_t) {
        std::vector<double> prior(K), x(K);
        std::vector<float> some(K);
        std::vector<uint32_t> which(K);
        for (size_t j = begin; j < end; ++j) {
            const size_t v = size_t(cols[j]);
            const double* S = raw[v].data();
            float* e = table[j].data();
            for (size_t k = 0; k < K; ++k) prior[k] = eta(v, k);
            if (posterior == Posterior::collapsed) {
                double largest = 0;
#pragma omp simd reduction(max : largest)
                for (size_t k = 0; k < K; ++k) {
                    x[k] = (std::max(S[k] * factor, 0.0) + prior[k]) * by_topic[k];
                    largest = std::max(largest, x[k]);
                }
                const double scale = 1.0 / largest;
#pragma omp simd
                for (size_t k = 0; k < K; ++k) e[k] = std::max(float(x[k] * scale), kLeast);
                log_scale[j] = std::log(largest);
            } else {
                const size_t n = eta.topic_step ? K : counted(S, factor, K, which.data());
                double largest = -1e300;
                if (2 * n > K) {
#pragma omp simd reduction(max : largest)
                    for (size_t k = 0; k < K; ++k) {
                        x[k] = math::digamma(std::max(S[k] * factor, 0.0) + prior[k]) - by_topic[k];
                        largest = std::max(largest, x[k]);
                    }
#pragma omp simd
                    for (size_t k = 0; k < K; ++k) e[k] = std::max(math::exp(float(x[k] - largest)), kLeast);
                } else {
                    for (size_t i = 0; i < n; ++i) {
                        prior[i] = S[which[i]] * factor + prior[K - 1];
                        x[i] = by_topic[which[i]];
                    }
                    largest = math::digamma(prior[K - 1]) - least_norm;
                    const double empty = largest;
#pragma omp simd reduction(max : largest)
                    for (size_t i = 0; i < n; ++i) {
                        x[i] = math::digamma(prior[i]) - x[i];
                        largest = std::max(largest, x[i]);
                    }
                    const float scale = math::exp(float(empty - largest));
#pragma omp simd
                    for (size_t k = 0; k < K; ++k) e[k] = std::max(scale * by_empty[k], kLeast);
#pragma omp simd
                    for (size_t i = 0; i < n; ++i) some[i] = std::max(math::exp(float(x[i] - largest)), kLeast);
                    for (size_t i = 0; i < n; ++i) e[which[i]] = some[i];
                }
                log_scale[j] = largest;
            }
        }
    });
}

}  // namespace topmix
