// What local steps of topic models take and give: a shard, topics of documents, tables of words.
#pragma once
#include <nanobind/stl/tuple.h>

#include <tuple>
#include <utility>

#include "bind/arrays.hpp"
#include "steps/priors.hpp"
#include "steps/shard.hpp"
#include "steps/topic_result.hpp"

namespace topmix {

/// The arrays of a shard. Every step looks at them again: who made them may have written into them meanwhile.
struct ShardArrays {
    Vec<const int64_t> indptr;
    Vec<const int32_t> index;
    Vec<const float> value;
    Vec<const int64_t> starts;
    Vec<const int32_t> order;

    Shard checked(size_t words) const {
        check_words(starts, order, words, index.size());
        require(are_counts(view(value)), "counts must be finite and not negative");
        return {csr(indptr, index, value, words), view(starts), view(order)};
    }
};

/// Sparse rows of documents: indptr [documents + 1], and for each pair a topic and its tokens.
using DocArrays = std::tuple<Vec<const int64_t>, Vec<const TopicId>, Vec<const float>>;

/// The table of a shard's words [words, K], the log of each row's scale, the tokens of each topic, and the smallest
/// prior count of a word.
using WordArrays = std::tuple<Mat<const float>, Vec<const double>, Vec<const double>, double>;

inline void check_topics(const DocArrays& docs, size_t n, size_t K, const char* what) {
    const auto& [indptr, topic, count] = docs;
    check_topics(indptr, topic, count, n, K, what);
    require(are_counts(view(count)), what);
}

inline void check_table(const Mat<const float>& table, const Vec<const float>& alpha) {
    require(alpha.size() == table.shape(1) && 1 <= alpha.size() && alpha.size() <= kMaxTopics,
            "alpha and table disagree on K, or K is over MAX_TOPICS");
    require(are_counts(view(alpha)), "alpha must be finite and not negative");
}

/// The documents' own priors: which row of alpha [priors, K] each has.
struct PriorArrays {
    Mat<const float> alpha;
    Vec<const int32_t> row;
};

/// One prior for all documents, or their own.
inline Priors priors_of(const Vec<const float>& alpha, const PriorArrays* own, size_t docs) {
    if (!own) return {view(alpha), {}, {}};
    const size_t K = alpha.size();
    require(own->alpha.shape(1) == K && own->row.size() == docs,
            "own priors must be [priors, K], and a row of them for each document");
    require(are_counts(view(own->alpha)), "own priors must be finite and not negative");
    require(all_below(view(own->row), own->alpha.shape(0)), "a document's prior lies outside of them");
    return {view(alpha), {view(own->alpha), K}, view(own->row)};
}

inline auto give_words(WordStats&& S) {
    return std::make_tuple(give(std::move(S.indptr)), give(std::move(S.topic)), give(std::move(S.value)),
                           give(std::move(S.totals)));
}

inline auto give_docs(DocTopics&& docs) {
    return std::make_tuple(give(std::move(docs.indptr)), give(std::move(docs.topic)), give(std::move(docs.count)));
}

}  // namespace topmix
