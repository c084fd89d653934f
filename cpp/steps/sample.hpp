// Local step of a topic model by sampling: every token of a shard is drawn again, then statistics by word.
//
// It takes the tables of topics.hpp and gives the same statistics, so a learner cannot tell the two apart. Tables stand
// still while a shard lasts. Random numbers belong to tokens, and sums by word have one owner each: the result is the
// same for any number of threads.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/parallel.hpp"
#include "base/views.hpp"
#include "models/word_stats.hpp"
#include "steps/group_sampler.hpp"
#include "steps/topic_result.hpp"

namespace topmix {

/// Rows of a table of weights, which may be divided by a number for each word.
class TableWords {
  public:
    TableWords(Rows<const float> e, std::span<const float> scale, std::span<const float> alpha)
        : e_(e), scale_(scale), alpha_(alpha), mass_(prior_blocks(alpha.size())) {}

    WordWeights operator()(size_t v) {
        prior_mass(e_[v], alpha_, mass_);
        return {e_[v], mass_, scale_.empty() ? 1.f : scale_[v]};
    }

    /// Asks for a row that is needed soon.
    void prefetch(size_t v) const {
#if defined(__GNUC__)
        for (size_t k = 0; k < alpha_.size(); k += 64 / sizeof(float)) __builtin_prefetch(&e_[v][k]);
#endif
    }

  private:
    Rows<const float> e_;           // [words, K]
    std::span<const float> scale_;  // [words] one over the number, or nothing
    std::span<const float> alpha_;
    std::vector<float> mass_;
};

/// How many tokens of a group each word has in each topic: counted while they are drawn, when they are at hand.
struct GroupCounts {
    struct Word {
        uint32_t id, end;  // of its topics
    };

    explicit GroupCounts(size_t K) : row(K) {}
    void add(size_t k) { row.add(k, 1.0); }
    void end(size_t v) {
        row.drain([&](size_t k, double n) { topic.push_back(TopicId(k)), count.push_back(uint32_t(n)); });
        words.push_back({uint32_t(v), uint32_t(topic.size())});
    }

    Row row;
    std::vector<Word> words;
    std::vector<TopicId> topic;
    std::vector<uint32_t> count;
};

/// Statistics of words from those of groups. Whole numbers: the same for any groups.
inline WordStats counted_by_word(const std::vector<GroupCounts>& groups, size_t words, size_t K, int threads) {
    struct Part {
        uint32_t group, begin, end;
    };
    std::vector<int64_t> starts(words + 1, 0);
    for (const auto& group : groups)
        for (const auto& word : group.words) ++starts[word.id + 1];
    for (size_t v = 0; v < words; ++v) starts[v + 1] += starts[v];
    std::vector<Part> parts(static_cast<size_t>(starts[words]));  // size_t(...) would be a parameter to clang
    std::vector<int64_t> at(starts.begin(), starts.end() - 1);
    for (uint32_t g = 0; g < groups.size(); ++g) {
        uint32_t begin = 0;
        for (const auto& word : groups[g].words)
            parts[size_t(at[word.id]++)] = {g, std::exchange(begin, word.end), word.end};
    }
    return sum_by_word(starts, parts, K, threads, [&](const Part& part, Row& S) {
        const GroupCounts& group = groups[part.group];
        for (uint32_t i = part.begin; i < part.end; ++i) S.add(group.topic[i], double(group.count[i]));
    });
}

/// The topics of a document, ascending, from the places that its draws kept, some of them free.
template <class Count>
void append_topics(std::span<const TopicLine<Count>> lines, std::vector<std::pair<TopicId, float>>& sorted,
                   DocPiece& piece, int64_t& n) {
    sorted.clear();
    for (const auto& line : lines)
        for (size_t i = 0; i < kLine; ++i)
            if (line.count[i] > 0) sorted.emplace_back(line.id[i], float(line.count[i]));
    std::ranges::sort(sorted);
    for (const auto& [k, count] : sorted) piece.topic.push_back(k), piece.count.push_back(count);
    n = int64_t(sorted.size());
}

/// The topics of a document by its tokens.
inline void append_topics(std::span<const TopicId> z, Row& counts, DocPiece& piece, int64_t& n) {
    for (const TopicId k : z) counts.add(k, 1.0);
    counts.drain(
        [&](size_t k, double count) { piece.topic.push_back(TopicId(k)), piece.count.push_back(float(count)), ++n; });
}

/// Draws the topics z of the tokens of a block: again, or, where they are given, by the proportions of their documents.
template <class Count>
void draw_tokens(const WordOrder& order, std::span<TopicId> z, const TopicWeights& topics, const TableWords& words,
                 const GivenTopics* given, const DrawKey& key, int threads, std::vector<GroupCounts>& counts,
                 std::vector<DocPiece>& pieces, DocTopics& docs) {
    const std::span<const WordOrder::Group> groups = order.block(0);
    sample_groups<Count>(order, 0, topics, words, threads, [&](size_t g, auto& sampler, auto& own, size_t) {
        DocPiece& piece = pieces[g];
        const size_t begin = groups[g].begin, end = groups[g].end;
        if (given) {
            sampler.draw_given(groups[g], z, key, *given, own, counts[g]);
            for (size_t d = begin; d < end; ++d)
                append_topics(order.tokens(z, d, d + 1), counts[g].row, piece, docs.indptr[d + 1]);
            return;
        }
        auto moved = [&n = piece.accepted](size_t, size_t, size_t) { ++n; };
        if (topics.own.differ())
            sampler.template draw_again<true>(groups[g], z, key, own, moved, counts[g]);
        else
            sampler.draw_again(groups[g], z, key, own, moved, counts[g]);
        std::vector<std::pair<TopicId, float>> sorted;
        for (size_t d = begin; d < end; ++d)
            append_topics<Count>(sampler.topics_of_document(d - begin), sorted, piece, docs.indptr[d + 1]);
    });
}

/// The step of a shard, whose tokens are one block.
inline TopicResult sample_step(const WordOrder& order, std::span<TopicId> z, const TopicWeights& topics,
                               const TableWords& words, const GivenTopics* given, const DrawKey& key, int threads) {
    const size_t K = topics.alpha.size(), n_groups = order.block(0).size();
    std::vector<DocPiece> pieces(n_groups);
    std::vector<GroupCounts> counts(n_groups, GroupCounts(K));
    TopicResult out;
    out.docs.indptr.assign(order.first().size(), 0);
    const auto draw = !given && order.documents_are_short() ? &draw_tokens<uint16_t> : &draw_tokens<float>;
    draw(order, z, topics, words, given, key, threads, counts, pieces, out.docs);
    join(pieces, out);
    if (given) out.accepted = int64_t(z.size());
    out.S = counted_by_word(counts, order.words(), K, threads);
    return out;
}

}  // namespace topmix
