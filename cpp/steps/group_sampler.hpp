// Draws all tokens of a group of documents, word by word, while the topics stand still.
//
// A document's tokens are drawn in the order of its words, whatever group it is in, and random numbers belong to
// tokens: the result is the same however documents are grouped, and for any number of threads.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/parallel.hpp"
#include "steps/token_draw.hpp"
#include "steps/token_stream.hpp"
#include "steps/word_order.hpp"

namespace topmix {

/// Topics of documents in given proportions.
struct GivenTopics {
    std::span<const int64_t> indptr;
    std::span<const TopicId> topic;
    std::span<const float> count;
};

/// For draws whose topics nobody counts.
struct NotCounted {
    void add(size_t) {}
    void end(size_t) {}
};

/// One thread's work. `words(v)` gives the WordWeights of a word, which last until the next is asked for.
template <class Count>
class GroupSampler {
  public:
    GroupSampler(const WordOrder& order, const TopicWeights& topics)
        : order_(order), topics_(topics), documents_(topics.alpha.size()) {}

    /// Each token of the group given all others. `moved(v, from, to)` is called for every change, `counts.add(k)` for
    /// every token and `counts.end(v)` after those of a word. `Own`: documents have priors of their own.
    template <bool Own = false, class Words, class Moved, class Counts = NotCounted>
    void draw_again(const WordOrder::Group& group, std::span<TopicId> z, const DrawKey& key, Words&& words,
                    Moved&& moved, Counts&& counts = {}) {
        documents_.clear();
        for (size_t d = group.begin; d < group.end; ++d) documents_.append(order_.tokens(z, d, d + 1));
        each_token(group, z, key, words, counts, [&](size_t v, const WordWeights& word, const auto& t, TopicId& old) {
            size_t k;
            if constexpr (Own)
                k = topmix::draw_again(topics_, word, documents_, t.doc, old, t.u, t.w,
                                       AcceptByPrior{topics_.alpha, topics_.own[group.begin + t.doc]});
            else
                k = topmix::draw_again(topics_, word, documents_, t.doc, old, t.u, t.w);
            if (k != old) moved(v, size_t(old), k), old = TopicId(k);
        });
    }

    /// Each token given the proportions of its document.
    template <class Words, class Counts = NotCounted>
    void draw_given(const WordOrder::Group& group, std::span<TopicId> z, const DrawKey& key, const GivenTopics& given,
                    Words&& words, Counts&& counts = {}) {
        documents_.clear();
        for (size_t d = group.begin; d < group.end; ++d) {
            const auto begin = size_t(given.indptr[d]), n = size_t(given.indptr[d + 1]) - begin;
            documents_.append(given.topic.subspan(begin, n), given.count.subspan(begin, n));
        }
        each_token(group, z, key, words, counts, [&](size_t, const WordWeights& word, const auto& t, TopicId& old) {
            old = TopicId(topmix::draw_given(topics_, word, documents_, t.doc, t.u, t.w));
        });
    }

    /// Of document d of the last group, from its first: places, some of them free.
    std::span<TopicLine<Count>> topics_of_document(size_t d) { return documents_[d]; }

  private:
    const WordOrder& order_;
    const TopicWeights& topics_;
    DocumentTopics<Count> documents_;

    template <class Words, class Counts, class Each>
    void each_token(const WordOrder::Group& group, std::span<TopicId> all, DrawKey key, Words&& words, Counts& counts,
                    Each&& each) {
        const std::span<TopicId> z = order_.tokens(all, group.begin, group.end);
        key.first += uint64_t(order_.first()[group.begin]);
        TokenStream<Count> stream(group, z, documents_, key);
        const WordOrder::Entry* entry = group.entries.data();
        for (size_t i = 0; i < group.words.size(); ++i) {
            const WordOrder::Word& w = group.words[i];
            size_t n = 0;
            for (const WordOrder::Entry* end = group.entries.data() + w.end; entry != end; ++entry) n += entry->count;
            const WordWeights word = words(w.id);
            if (i + 1 < group.words.size()) words.prefetch(group.words[i + 1].id);
            for (; n > 0; --n) {
                const auto t = stream.next();
                each(w.id, word, t, z[t.token]);
                counts.add(z[t.token]);
            }
            counts.end(w.id);
        }
    }
};

/// Calls each(g, sampler, words, thread) for every group of a block. What draws write to, each thread has of its own.
template <class Count, class Words, class Each>
void sample_groups(const WordOrder& order, size_t block, const TopicWeights& topics, const Words& words, int threads,
                   Each&& each) {
    const size_t team = size_t(std::max(threads, 1));
    std::vector<GroupSampler<Count>> samplers(team, GroupSampler<Count>(order, topics));
    std::vector<Words> own(team, words);
    parallel_for(order.block(block).size(), 1, threads,
                 [&](size_t g, size_t, size_t t) { each(g, samplers[t], own[t], t); });
}

}  // namespace topmix
