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

    parallel_for(cols.size(), kWordGrain, threads, [&](size_t begin, size_t end, size_t) {
        std::vector<double> prior(K), x(K);
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
                double largest = -1e300;
#pragma omp simd reduction(max : largest)
                for (size_t k = 0; k < K; ++k) {
                    x[k] = math::digamma(std::max(S[k] * factor, 0.0) + prior[k]) - by_topic[k];
                    largest = std::max(largest, x[k]);
                }
#pragma omp simd
                for (size_t k = 0; k < K; ++k) e[k] = std::max(math::exp(float(x[k] - largest)), kLeast);
                log_scale[j] = largest;
            }
        }
    });
}

}  // namespace topmix
