// Documents of whole counts, checked once and then visited token by token.
#pragma once
#include <cmath>
#include <utility>
#include <vector>

#include "bind/arrays.hpp"
#include "chains/gibbs.hpp"
#include "steps/word_order.hpp"

namespace topmix {

inline void check_token_topics(std::span<const TopicId> z, size_t K) {
    nb::gil_scoped_release nogil;
    require(all_below(z, K), "a token's topic is not below K");
}

inline void check_whole(std::span<const float> counts) {
    bool wrong = false;
    for (const float c : counts) wrong |= !((c >= 0) & (c == std::floor(c)) & (c < 0x1p31f));
    require(!wrong, "counts must be whole numbers below 2^31");
}

constexpr int64_t kMostTokens = int64_t(1) << 24;  // of a document that is drawn: its counts are floats, and exact

/// The rows are copied before they are checked: a chain visits them for a long time, and a count that somebody changed
/// meanwhile would lead it out of z.
struct TokenRows {
    std::vector<int64_t> indptr;
    std::vector<int32_t> index;
    std::vector<float> value;
    size_t n_words;
    std::vector<int64_t> first;  // [docs + 1]

    TokenRows(const Vec<const int64_t>& indptr_, const Vec<const int32_t>& index_, const Vec<const float>& value_,
              size_t n_words_)
        : indptr(view(indptr_).begin(), view(indptr_).end()),
          index(view(index_).begin(), view(index_).end()),
          value(view(value_).begin(), view(value_).end()),
          n_words(n_words_) {
        require(index.size() == value.size() && rises(indptr, index.size()), "indptr must rise from 0 to len(index)");
        require(n_words <= size_t(INT32_MAX), "a word is named by 32 bits");
        require(all_below(std::span<const int32_t>(index), n_words), "a word is not below n_words");
        nb::gil_scoped_release nogil;
        check_whole(value);
        first = first_tokens(rows());
    }

    Csr<float> rows() const { return {indptr, index, value}; }

    /// These tokens with their topics. Every kernel that follows a topic gets its tokens here.
    Tokens with(Vec<TopicId>& z, size_t K) const {
        check_topic_count(K);
        require(int64_t(z.size()) == first.back(), "z must have one topic for each token");
        check_token_topics(view(z), K);
        return {rows(), first, view(z)};
    }
};

/// These documents word by word, in blocks [bounds[b], bounds[b + 1]).
inline WordOrder word_order(const TokenRows& tokens, Vec<const int64_t> bounds, int threads) {
    require(bounds.size() >= 1 && rises(view(bounds), tokens.indptr.size() - 1),
            "bounds must rise from 0 to the number of documents");
    for (size_t d = 0; d + 1 < tokens.first.size(); ++d)
        require(tokens.first[d + 1] - tokens.first[d] <= kMostTokens,
                "a document has more than 16,777,216 tokens, and each of them would be drawn");
    nb::gil_scoped_release nogil;
    return {tokens.rows(), tokens.n_words, view(bounds), threads};
}

}  // namespace topmix
