// Local step of a topic model by sampling: every token of a shard is drawn again, then statistics by word.
//
// It takes the tables of topics.hpp and gives the same statistics, so a learner cannot tell the two apart. Tables stand
// still while a shard lasts. Random numbers belong to tokens, and sums by word have one owner each: the result is the
// same for any number of threads.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/parallel.hpp"
#include "base/views.hpp"
#include "global/word_stats.hpp"
#include "local/group_sampler.hpp"
#include "local/topic_result.hpp"

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

/// Draws the topics z of the tokens of a block: again, or, where they are given, by the proportions of their documents.
template <class Count>
void draw_tokens(const WordOrder& order, size_t block, std::span<TopicId> z, const TopicWeights& topics,
                 const TableWords& words, const GivenTopics* given, const DrawKey& key, int threads,
                 std::vector<DocPiece>& pieces) {
    const std::span<const WordOrder::Group> groups = order.block(block);
    sample_groups<Count>(order, block, topics, words, threads, [&](size_t g, auto& sampler, auto& own, size_t) {
        auto count = [&n = pieces[g].accepted](size_t, size_t, size_t) { ++n; };
        if (given)
            sampler.draw_given(groups[g], z, key, *given, own);
        else
            sampler.draw_again(groups[g], z, key, own, count);
    });
}

/// The step of a shard. Entry i of the shard has value[i] tokens, and `starts` and `entries` say which are of each
/// word.
inline TopicResult sample_step(const WordOrder& order, std::span<const float> value, std::span<const int64_t> starts,
                               std::span<const int32_t> entries, std::span<TopicId> z, const TopicWeights& topics,
                               const TableWords& words, const GivenTopics* given, const DrawKey& key, int threads) {
    const size_t K = topics.alpha.size();
    const std::span<const WordOrder::Group> groups = order.block(0);
    std::vector<DocPiece> pieces(groups.size());
    const auto draw = !given && order.documents_are_short() ? &draw_tokens<uint16_t> : &draw_tokens<float>;
    draw(order, 0, z, topics, words, given, key, threads, pieces);

    TopicResult out;
    out.docs.indptr.assign(order.first().size(), 0);
    parallel_for(groups.size(), 1, threads, [&](size_t g, size_t, size_t) {
        Row counts(K);
        for (size_t d = groups[g].begin; d < groups[g].end; ++d) {
            for (const TopicId k : order.tokens(z, d, d + 1)) counts.add(k, 1.0);
            counts.drain([&](size_t k, double n) {
                pieces[g].topic.push_back(TopicId(k)), pieces[g].count.push_back(float(n)), ++out.docs.indptr[d + 1];
            });
        }
    });
    join(pieces, out);
    if (given) out.accepted = int64_t(z.size());

    std::vector<int64_t> first(value.size() + 1, 0);  // the tokens of each entry
    for (size_t i = 0; i < value.size(); ++i) first[i + 1] = first[i] + int64_t(value[i]);
    out.S = sum_by_word(starts, entries, K, threads, [&](int32_t i, Row& S) {
        for (int64_t t = first[size_t(i)]; t < first[size_t(i) + 1]; ++t) S.add(z[size_t(t)], 1.0);
    });
    return out;
}

}  // namespace topmix
