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
    bool repeats_over_words() const { return word_step == 0; }
    void copy_to(std::span<double> row, size_t v) const {
        const double* const from = data + v * word_step;
        if (topic_step == 0)
            std::ranges::fill(row, *from);
        else
            std::copy_n(from, row.size(), row.begin());
    }
};

/// Counts to start from that nobody observed: what topics have in common and a sparse row for each word, times a weight
/// that fades.
struct WordSeed {
    std::span<const double> common;  // [V]; empty: there is no seed
    std::span<const double> share;   // [K]
    std::span<const int64_t> indptr;
    std::span<const TopicId> topic;
    std::span<const double> value;
    double weight = 0;

    explicit operator bool() const { return !common.empty(); }
    void add_to(std::span<double> prior, size_t v) const {
        const double at_v = weight * common[v];
#pragma omp simd
        for (size_t k = 0; k < prior.size(); ++k) prior[k] += at_v * share[k];
        for (int64_t i = indptr[v]; i < indptr[v + 1]; ++i) prior[topic[i]] += weight * value[i];
    }
};

/// No word is impossible in a topic, Eq. (3.4): a row of zeros would leave a token nowhere to go.
constexpr float kLeast = 1e-30f;

/// raw [V, K] times factor are the counts; norm [K] is S_k + eta_k, a seed included. Fills table [words, K] and
/// log_scale [words].
inline void topic_table(Posterior posterior, Rows<const double> raw, double factor, WordPrior eta, WordSeed seed,
                        std::span<const double> norm, std::span<const int32_t> cols, int threads, Rows<float> table,
                        std::span<double> log_scale) {
    const size_t K = norm.size();
    std::vector<double> by_topic(K);
    for (size_t k = 0; k < K; ++k)
        by_topic[k] = posterior == Posterior::collapsed ? 1.0 / norm[k] : math::digamma(norm[k]);

    parallel_for(cols.size(), kWordGrain, threads, [&](size_t begin, size_t end, size_t) {
        std::vector<double> prior(K), x(K);
        if (begin < end) eta.copy_to(prior, size_t(cols[begin]));
        for (size_t j = begin; j < end; ++j) {
            const size_t v = size_t(cols[j]);
            const double* S = raw[v].data();
            float* e = table[j].data();
            if (seed || !eta.repeats_over_words()) eta.copy_to(prior, v);
            if (seed) seed.add_to(prior, v);
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
