// Counts of words in topics that were not observed: the prior eta, and pseudo-counts to start from.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "models/word_stats.hpp"

namespace topmix {

/// Words with extra weight in some topics: a sparse row for each word, and what all topics have in common, all times
/// one weight. Statistics to start from are such counts, with a weight that falls to zero during the first pass.
struct PseudoCounts {
    std::span<const double> common;   // [V], or empty: the sparse rows are all there is
    std::span<const double> share;    // [K]
    std::span<const int64_t> indptr;  // [V + 1]; empty: there are no pseudo-counts
    std::span<const TopicId> topic;
    std::span<const double> value;
    double weight = 0;

    explicit operator bool() const { return !indptr.empty(); }
    void add_to(std::span<double> prior, size_t v) const {
        if (!common.empty()) {
            const double at_v = weight * common[v];
#pragma omp simd
            for (size_t k = 0; k < prior.size(); ++k) prior[k] += at_v * share[k];
        }
        for (int64_t i = indptr[v]; i < indptr[v + 1]; ++i) prior[topic[i]] += weight * value[i];
    }
};

/// Prior counts eta_vk: an array that may repeat along words or topics, and sparse rows of extra counts. So a prior
/// that favours a few words in a few topics takes the memory of those words, not V x K.
struct WordPrior {
    const double* data;
    size_t word_step, topic_step;  // 0 where it repeats
    PseudoCounts extra{};          // sparse rows only, each topic at most once in a row; weight 1

    /// Without the extra counts.
    double operator()(size_t v, size_t k) const { return data[v * word_step + k * topic_step]; }
    bool repeats_over_words() const { return word_step == 0 && !extra; }
    void copy_to(std::span<double> row, size_t v) const {
        const double* const from = data + v * word_step;
        if (topic_step == 0)
            std::ranges::fill(row, *from);
        else
            std::copy_n(from, row.size(), row.begin());
        if (extra) extra.add_to(row, v);
    }
    /// Calls out(k, eta_vk) for the topics with extra counts of word v; eta_vk includes them.
    template <class Out>
    void each_extra(size_t v, Out&& out) const {
        if (!extra) return;
        for (int64_t i = extra.indptr[v]; i < extra.indptr[v + 1]; ++i)
            out(size_t(extra.topic[i]), (*this)(v, extra.topic[i]) + extra.value[i]);
    }
};

}  // namespace topmix
