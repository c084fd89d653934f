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

#include "base/math.hpp"
#include "base/parallel.hpp"
#include "base/views.hpp"
#include "models/posterior.hpp"
#include "models/word_prior.hpp"
#include "models/word_stats.hpp"

namespace topmix {

/// The least weight of a word in a topic, Eq. (3.4): a row of zeros would leave a token without a topic. So no word is
/// impossible, and no solver needs a second way in log space; topics that are more than 69 nats behind count as 69.
constexpr float kLeast = 1e-30f;

/// Rows of a table, one after another, in buffers of their own.
class TableRows {
  public:
    /// by_topic [K] is 1 / norm, or psi(norm).
    TableRows(Posterior posterior, double factor, WordPrior eta, PseudoCounts pseudo_counts,
              std::span<const double> by_topic)
        : collapsed_(posterior == Posterior::collapsed),
          factor_(factor),
          eta_(eta),
          pseudo_counts_(pseudo_counts),
          repeats_(eta.repeats_over_words() && !pseudo_counts),
          by_topic_(by_topic),
          prior_(by_topic.size()),
          x_(by_topic.size()) {
        if (repeats_) eta.copy_to(prior_, 0);
        if (collapsed_) return;
        const double least = *std::ranges::min_element(by_topic);
        for (const double y : by_topic) shrink_.push_back(math::exp(float(least - y)));
    }

    /// Fills e [K] from the counts S of word v; returns the logarithm of what it was divided by.
    double operator()(size_t v, const double* S, float* e) {
        if (!repeats_) eta_.copy_to(prior_, v);
        if (pseudo_counts_) pseudo_counts_.add_to(prior_, v);
        return collapsed_ ? means(S, e) : exp_logs(S, e);
    }

  private:
    static constexpr float kSafe = 1e-6f;  // below it, weights far under the largest may have become zero in a float

    double means(const double* S, float* e) {
        const size_t K = x_.size();
        const double *prior = prior_.data(), *by_topic = by_topic_.data(), factor = factor_;
        double *x = x_.data(), largest = 0;
#pragma omp simd reduction(max : largest)
        for (size_t k = 0; k < K; ++k) {
            x[k] = (std::max(S[k] * factor, 0.0) + prior[k]) * by_topic[k];
            largest = std::max(largest, x[k]);
        }
        const double scale = 1.0 / largest;
#pragma omp simd
        for (size_t k = 0; k < K; ++k) e[k] = std::max(float(x[k] * scale), kLeast);
        return std::log(largest);
    }

    /// In floats, except the one logarithm that is kept.
    double exp_logs(const double* S, float* e) {
        const size_t K = x_.size();
        const double *prior = prior_.data(), factor = factor_;
        const float* shrink = shrink_.data();
        float largest = 0;
#pragma omp simd
        for (size_t k = 0; k < K; ++k) e[k] = float(std::max(S[k] * factor, 0.0) + prior[k]);
#pragma omp simd
        for (size_t k = 0; k < K; ++k) e[k] = math::exp_digamma(e[k]) * shrink[k];
#pragma omp simd reduction(max : largest)
        for (size_t k = 0; k < K; ++k) largest = std::max(largest, e[k]);
        if (!(largest > kSafe)) return exp_logs_in_double(S, e);
        const size_t k = size_t(std::find(e, e + K, largest) - e);
        const float scale = 1 / largest;
#pragma omp simd
        for (size_t j = 0; j < K; ++j) e[j] = std::max(e[j] * scale, kLeast);
        e[k] = 1;
        return math::digamma(std::max(S[k] * factor, 0.0) + prior[k]) - by_topic_[k];
    }

    double exp_logs_in_double(const double* S, float* e) {
        const size_t K = x_.size();
        const double *prior = prior_.data(), *by_topic = by_topic_.data(), factor = factor_;
        double *x = x_.data(), largest = -1e300;
#pragma omp simd reduction(max : largest)
        for (size_t k = 0; k < K; ++k) {
            x[k] = math::digamma(std::max(S[k] * factor, 0.0) + prior[k]) - by_topic[k];
            largest = std::max(largest, x[k]);
        }
#pragma omp simd
        for (size_t k = 0; k < K; ++k) e[k] = std::max(math::exp(float(x[k] - largest)), kLeast);
        return largest;
    }

    const bool collapsed_;
    const double factor_;
    const WordPrior eta_;
    const PseudoCounts pseudo_counts_;
    const bool repeats_;  // one prior for all words
    const std::span<const double> by_topic_;
    std::vector<double> prior_, x_;
    std::vector<float> shrink_;  // [K] exp(-by_topic), the largest being one
};

/// raw [V, K] times factor are the counts; norm [K] is S_k + eta_k, pseudo-counts included. Fills table [words, K] and
/// log_scale [words].
inline void topic_table(Posterior posterior, Rows<const double> raw, double factor, WordPrior eta,
                        PseudoCounts pseudo_counts, std::span<const double> norm, std::span<const int32_t> cols,
                        int threads, Rows<float> table, std::span<double> log_scale) {
    std::vector<double> by_topic(norm.size());
    for (size_t k = 0; k < norm.size(); ++k)
        by_topic[k] = posterior == Posterior::collapsed ? 1.0 / norm[k] : math::digamma(norm[k]);
    parallel_for(cols.size(), kWordGrain, threads, [&](size_t begin, size_t end, size_t) {
        TableRows row(posterior, factor, eta, pseudo_counts, by_topic);
        for (size_t j = begin; j < end; ++j) {
            const size_t v = size_t(cols[j]);
            log_scale[j] = row(v, raw[v].data(), table[j].data());
        }
    });
}

}  // namespace topmix
