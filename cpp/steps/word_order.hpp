// The tokens of documents, word by word, a group of documents at a time. What is known of a word is then read once for
// all its tokens in the group, and the topics of the group's documents stay in cache.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/parallel.hpp"
#include "base/views.hpp"
#include "models/word_stats.hpp"

namespace topmix {

/// Documents and the topics of their tokens: entry u of a document stands for value[u] tokens, which lie together.
struct Tokens {
    Csr<float> X;                    // whole counts
    std::span<const int64_t> first;  // [docs + 1] where a document's tokens begin in z
    std::span<TopicId> z;
};

/// Where the tokens of each document begin.
inline std::vector<int64_t> first_tokens(const Csr<float>& X) {
    std::vector<int64_t> first(X.rows() + 1, 0);
    for (size_t d = 0; d < X.rows(); ++d) {
        first[d + 1] = first[d];
        for (int64_t u = X.indptr[d]; u < X.indptr[d + 1]; ++u) first[d + 1] += int64_t(X.value[size_t(u)]);
    }
    return first;
}

class WordOrder {
  public:
    /// Tokens of one word in one document, which follow each other; both are counted from the group's first.
    struct Entry {
        uint32_t token;
        uint16_t doc, count;
    };
    struct Word {
        uint32_t id, end;  // of its entries
    };
    struct Group {
        size_t begin, end;  // documents
        std::vector<Word> words;
        std::vector<Entry> entries;  // word by word; those of a word in the order of documents
    };

    /// Documents [bounds[b], bounds[b + 1]) are block b, and no group is of two blocks. How large groups are depends on
    /// the number of threads; nothing that is drawn does.
    WordOrder(const Csr<float>& X, size_t words, std::span<const int64_t> bounds, int threads)
        : words_(words), first_(first_tokens(X)) {
        for (size_t b = 0; b + 1 < bounds.size(); ++b) {
            blocks_.push_back(groups_.size());
            cut(size_t(bounds[b]), size_t(bounds[b + 1]), size_t(std::max(threads, 1)));
        }
        blocks_.push_back(groups_.size());
        parallel_for(groups_.size(), 1, threads, [&](size_t g, size_t, size_t) { sort(X, groups_[g]); });
    }

    size_t words() const { return words_; }
    size_t n_blocks() const { return blocks_.size() - 1; }
    std::span<const int64_t> first() const { return first_; }  // [docs + 1] where a document's tokens begin
    std::span<const Group> block(size_t b) const {
        return std::span(groups_).subspan(blocks_[b], blocks_[b + 1] - blocks_[b]);
    }

    std::span<TopicId> tokens(std::span<TopicId> z, size_t begin, size_t end) const {
        return z.subspan(size_t(first_[begin]), size_t(first_[end] - first_[begin]));
    }

    /// Whether the tokens of every document can be counted in 16 bits.
    bool documents_are_short() const {
        for (size_t d = 0; d + 1 < first_.size(); ++d)
            if (first_[d + 1] - first_[d] > 0xFFFF) return false;
        return true;
    }

  private:
    size_t words_;
    std::vector<int64_t> first_;
    std::vector<size_t> blocks_;  // [blocks + 1] groups
    std::vector<Group> groups_;

    /// The topics of a group's tokens and documents should stay in the second-level cache.
    void cut(size_t begin, size_t end, size_t threads) {
        constexpr int64_t kTokens = 1 << 18;
        constexpr size_t kDocuments = 8192;
        const int64_t share = (first_[end] - first_[begin]) / int64_t(threads) + 1;
        const int64_t most = std::min(share, kTokens);
        while (begin < end) {
            size_t to = begin + 1;
            while (to < end && to - begin < kDocuments && first_[to + 1] - first_[begin] <= most) ++to;
            groups_.push_back({begin, to, {}, {}});
            begin = to;
        }
    }

    void sort(const Csr<float>& X, Group& group) const {
        constexpr int64_t kMost = 0xFFFF;  // tokens of an entry
        auto each = [&](auto&& use) {
            uint32_t token = 0;
            for (size_t d = group.begin; d < group.end; ++d)
                for (int64_t u = X.indptr[d]; u < X.indptr[d + 1]; ++u)
                    for (auto left = int64_t(X.value[size_t(u)]); left > 0; left -= kMost) {
                        const auto count = uint16_t(std::min(left, kMost));
                        use(size_t(X.index[size_t(u)]), Entry{token, uint16_t(d - group.begin), count});
                        token += count;
                    }
        };
        std::vector<uint32_t> at(words_ + 1, 0);
        each([&](size_t v, const Entry&) { ++at[v + 1]; });
        for (size_t v = 0; v < words_; ++v) {
            at[v + 1] += at[v];
            if (at[v + 1] > at[v]) group.words.push_back({uint32_t(v), at[v + 1]});
        }
        group.entries.resize(at[words_]);
        each([&](size_t v, const Entry& entry) { group.entries[at[v]++] = entry; });
    }
};

}  // namespace topmix
