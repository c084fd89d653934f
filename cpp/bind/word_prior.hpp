// Prior counts of words and pseudo-counts, checked once: arrays that may repeat along words or topics, and sparse rows.
#pragma once
#include <nanobind/stl/optional.h>

#include <optional>
#include <tuple>

#include "bind/arrays.hpp"
#include "models/word_prior.hpp"

namespace topmix {

/// Sparse rows of words: indptr [V + 1], and for each pair a topic and a value.
using SparseWords = std::tuple<Vec<const int64_t>, Vec<const TopicId>, Vec<const double>>;

inline void check_sparse(const Vec<const int64_t>& indptr, const Vec<const TopicId>& topic,
                         const Vec<const double>& value, size_t V, size_t K) {
    require(indptr.size() == V + 1 && topic.size() == value.size(), "the sparse rows do not fit raw");
    require(indptr(0) == 0 && indptr(V) == int64_t(topic.size()), "indptr must begin at 0 and end at len(topic)");
    require(rises(view(indptr), topic.size()), "indptr must not fall");
    require(all_below(view(topic), K), "the sparse rows name a topic that is not there");
}

inline WordPrior word_prior(const Mat<const double>& eta, size_t words, size_t K) {
    require(eta.size() > 0 && (eta.shape(0) == words || eta.shape(0) == 1) && (eta.shape(1) == K || eta.shape(1) == 1),
            "eta must be [V or 1, K or 1]");
    return {eta.data(), eta.shape(0) == 1 ? 0 : eta.shape(1), eta.shape(1) == 1 ? size_t(0) : size_t(1)};
}

/// eta and counts that are added to it.
inline WordPrior word_prior(const Mat<const double>& eta, const std::optional<SparseWords>& extra, size_t V, size_t K) {
    WordPrior prior = word_prior(eta, V, K);
    if (!extra) return prior;
    const auto& [indptr, topic, value] = *extra;
    check_sparse(indptr, topic, value, V, K);
    for (size_t v = 0; v < V; ++v)
        for (int64_t i = indptr(v) + 1; i < indptr(v + 1); ++i)
            require(topic(i - 1) < topic(i), "the topics of a word must ascend in extra");
    require(are_counts(view(value)), "extra must be finite and not negative");
    prior.extra = {{}, {}, view(indptr), view(topic), view(value), 1.0};
    return prior;
}

/// common [V] (or empty), share [K], sparse rows and the weight of all.
using PseudoCountArrays =
    std::tuple<Vec<const double>, Vec<const double>, Vec<const int64_t>, Vec<const TopicId>, Vec<const double>, double>;

inline PseudoCounts pseudo_counts_of(const std::optional<PseudoCountArrays>& given, size_t V, size_t K) {
    if (!given) return {};
    const auto& [common, share, indptr, topic, value, weight] = *given;
    require(common.size() == 0 || (common.size() == V && share.size() == K), "the pseudo-counts do not fit raw");
    check_sparse(indptr, topic, value, V, K);
    return {view(common), view(share), view(indptr), view(topic), view(value), weight};
}

}  // namespace topmix
