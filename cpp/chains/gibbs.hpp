// Collapsed Gibbs sampling, many documents at once. gibbs_sequential.hpp draws one token after another, exactly. Here
// words and totals stand as they were when a block of documents began; steps/group_sampler.hpp draws its tokens.
// Blocks depend on data and settings alone, counts of words are whole numbers, so that threads may add to them in any
// order, and random numbers belong to tokens: the result is the same for any number of threads.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/math.hpp"
#include "base/parallel.hpp"
#include "chains/counted_words.hpp"
#include "chains/tokens.hpp"
#include "steps/group_sampler.hpp"

namespace topmix {

/// sum_k log Gamma(n_dk + alpha_k) - log Gamma(alpha_k) of one document; free places add nothing. `lga` is
/// log Gamma(alpha).
template <class Count>
double log_probability(std::span<const TopicLine<Count>> lines, std::span<const float> alpha,
                       std::span<const double> lga) {
    double s = 0;
    for (const auto& line : lines)
#pragma omp simd reduction(+ : s)
        for (size_t i = 0; i < kLine; ++i) {
            const size_t k = line.id[i];
            s += math::lgamma(double(line.count[i]) + double(alpha[k])) - lga[k];
        }
    return s;
}

/// A token of word v left topic `from` for `to`.
struct Move {
    int32_t v;
    TopicId from, to;
};

/// What one thread writes to, on cache lines of its own: the end of a list that grows is written at every move.
struct alignas(64) Moves {
    std::vector<Move> list;
};

/// Each thread takes a range of words and applies what all threads noted for it. Not added at once, atomically: that
/// would wait for each row of counts to come from memory, token by token.
inline void apply_moves(const std::vector<Moves>& team, int threads, const TopicCounts& counts) {
    const size_t K = counts.K(), V = counts.word.size() / K, range = (V + size_t(threads) - 1) / size_t(threads);
    parallel_for(V, range, threads, [&](size_t begin, size_t end, size_t) {
        for (const auto& moves : team)
            for (const Move& m : moves.list) {
                if (size_t(m.v) < begin || size_t(m.v) >= end) continue;
                auto* n =
                    reinterpret_cast<uint32_t*>(&counts.word[size_t(m.v) * K]);  // they wrap: given ones may be odd
                --n[m.from], ++n[m.to];
            }
    });
    for (const auto& moves : team)
        for (const Move& m : moves.list) --counts.total[m.from], ++counts.total[m.to];
}

/// Draws the tokens of a block of documents, then moves their counts. Returns the documents' part of log p(w, z), less
/// what depends on their lengths alone.
template <class Count>
double sample_documents(const WordOrder& order, size_t block, std::span<TopicId> z, const TopicWeights& topics,
                        const CountedWords& words, const DrawKey& key, int threads, const TopicCounts& counts) {
    const size_t K = counts.K(), team = size_t(std::max(threads, 1));
    const std::span<const WordOrder::Group> groups = order.block(block);
    if (groups.empty()) return 0;
    const size_t begin = groups.front().begin;
    std::vector<double> lga(K), part(groups.back().end - begin);
    for (size_t k = 0; k < K; ++k) lga[k] = math::lgamma(double(topics.alpha[k]));
    std::vector<Moves> moves(team);
    sample_groups<Count>(order, block, topics, words, threads, [&](size_t g, auto& sampler, auto& own, size_t t) {
        auto note = [&list = moves[t].list](size_t v, size_t old, size_t k) {
            list.push_back({int32_t(v), TopicId(old), TopicId(k)});
        };
        sampler.draw_again(groups[g], z, key, own, note);
        for (size_t d = groups[g].begin; d < groups[g].end; ++d)
            part[d - begin] =
                log_probability<Count>(sampler.topics_of_document(d - groups[g].begin), topics.alpha, lga);
    });
    apply_moves(moves, int(team), counts);
    double sum = 0;
    for (const double s : part) sum += s;
    return sum;
}

}  // namespace topmix
