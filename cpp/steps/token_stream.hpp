// The tokens of a group in the order of words, each with its random numbers. The next batch is prepared early: many
// numbers are made side by side, and what the draws will read is asked for before they need it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "base/rng.hpp"
#include "steps/topic_lines.hpp"
#include "steps/word_order.hpp"

namespace topmix {

/// What a draw depends on besides the topics: the same three numbers give the same topics.
struct DrawKey {
    uint64_t seed;
    uint32_t sweep;
    uint64_t first;  // the number of token 0
};

template <class Count>
class TokenStream {
  public:
    struct Token {
        uint32_t token, doc;  // from the first of the group
        float u, w;           // two random numbers: of Rng(seed, sweep, number of the token)
    };

    TokenStream(const WordOrder::Group& group, std::span<const TopicId> z, const DocumentTopics<Count>& documents,
                const DrawKey& key)
        : left_(group.entries), z_(z), documents_(documents), key_(key) {
        fill(current_), fill(following_);
    }

    Token next() {
        if (at_ == kBatch) std::swap(current_, following_), fill(following_), at_ = 0;
        const Token t{current_.token[at_], current_.doc[at_], current_.u[at_], current_.w[at_]};
        ++at_;
        return t;
    }

  private:
    static constexpr size_t kBatch = 64;
    struct Batch {
        uint32_t token[kBatch] = {}, doc[kBatch] = {};
        float u[kBatch], w[kBatch];
    };

    std::span<const WordOrder::Entry> left_;
    uint32_t taken_ = 0;  // tokens of the first entry that is left
    std::span<const TopicId> z_;
    const DocumentTopics<Count>& documents_;
    DrawKey key_;
    Batch current_, following_;
    size_t at_ = 0;

    void fill(Batch& batch) {
        size_t n = 0;
        while (n < kBatch && !left_.empty()) {
            const WordOrder::Entry& entry = left_.front();
            batch.token[n] = entry.token + taken_, batch.doc[n] = entry.doc, ++n;
            if (++taken_ == entry.count) left_ = left_.subspan(1), taken_ = 0;
        }
        for (size_t i = 0; i < n; ++i) {
            documents_.prefetch(batch.doc[i]);
#if defined(__GNUC__)
            __builtin_prefetch(&z_[batch.token[i]], 1);
#endif
        }
        pairs_of_uniform_floats<kBatch>(key_.seed, key_.sweep, key_.first, batch.token, batch.u, batch.w);
    }
};

}  // namespace topmix
