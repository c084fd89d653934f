// Counts of words in topics that nobody observed: the prior, and pseudo-counts to start from.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "global/word_stats.hpp"

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

/// Words with extra weight in some topics: a sparse row for each word, and what all topics have in common, all times
/// one weight. Statistics to start from are such counts, with a weight that falls to zero during the first pass.
struct PseudoCounts {
    std::span<const double> common;  // [V]; empty: there are none
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

}  // namespace topmix
