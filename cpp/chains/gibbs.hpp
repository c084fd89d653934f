// Collapsed Gibbs sampling, many documents at once. gibbs_sequential.hpp draws one token after another, exactly. Here
// words and totals stand as they were when a block of documents began; local/document_sampler.hpp draws each document.
// Counts of words are whole numbers, so that threads may add to them in any order, and random numbers belong to a
// document: the result is the same for any number of threads.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/math.hpp"
#include "base/parallel.hpp"
#include "base/rng.hpp"
#include "chains/gibbs_table.hpp"
#include "chains/tokens.hpp"
#include "local/document_sampler.hpp"

namespace topmix {

/// sum_k log Gamma(n_dk + alpha_k) - log Gamma(alpha_k) of one document. `lga` is log Gamma(alpha).
inline double log_probability(const TopicList& topics, std::span<const float> alpha, std::span<const double> lga) {
    double s = 0;
#pragma omp simd reduction(+ : s)
    for (size_t i = 0; i < topics.size(); ++i) {
        const size_t k = topics.id(i);
        s += math::lgamma(double(topics.count(i)) + double(alpha[k])) - lga[k];
    }
    return s;
}

/// A token of word v left topic `from`, if it had one, for `to`.
struct Move {
    int32_t v;
    TopicId from, to;
};

/// What one thread writes to, on cache lines of its own: the end of a list that grows is written at every move.
struct alignas(64) SamplingThread {
    DocumentSampler sampler;
    std::vector<Move> moves;
};

/// Each thread takes a range of words and applies what all threads noted for it. Not added at once, atomically: that
/// would wait for each row of counts to come from memory, token by token.
inline void apply_moves(const std::vector<SamplingThread>& team, bool had_topics, int threads,
                        const TopicCounts& counts) {
    const size_t K = counts.K(), V = counts.word.size() / K, range = (V + size_t(threads) - 1) / size_t(threads);
    parallel_for(V, range, threads, [&](size_t begin, size_t end, size_t) {
        for (const auto& thread : team)
            for (const Move& m : thread.moves) {
                if (size_t(m.v) < begin || size_t(m.v) >= end) continue;
                int32_t* n = &counts.word[size_t(m.v) * K];
                if (had_topics) --n[m.from];
                ++n[m.to];
            }
    });
    for (const auto& thread : team)
        for (const Move& m : thread.moves) {
            if (had_topics) --counts.total[m.from];
            ++counts.total[m.to];
        }
}

/// Draws the tokens of documents [begin, end), then moves their counts. Returns the documents' part of log p(w, z),
/// less what depends on their lengths alone. The draws of a document are a function of (seed, sweep, its number).
template <Draw how>
double sample_documents(const Tokens& tokens, size_t begin, size_t end, const GibbsTable& table,
                        const GivenTopics& given, uint64_t seed, uint32_t sweep, int threads,
                        const TopicCounts& counts) {
    const size_t K = counts.K(), docs = end - begin;
    threads = std::max(threads, 1);
    std::vector<double> lga(K);
    for (size_t k = 0; k < K; ++k) lga[k] = math::lgamma(double(table.alpha[k]));
    std::vector<double> part((docs + kGibbsDocuments - 1) / kGibbsDocuments);
    std::vector<SamplingThread> team(size_t(threads), SamplingThread{DocumentSampler(table), {}});
    for (auto& t : team) t.moves.reserve(size_t(tokens.first[end] - tokens.first[begin]) / size_t(threads));
    parallel_for(docs, kGibbsDocuments, threads, [&](size_t from, size_t to, size_t t) {
        auto& [sampler, moves] = team[t];  // whole numbers add up to the same in any order
        double s = 0;
        for (size_t d = begin + from; d < begin + to; ++d) {
            sampler.template visit<how>(
                tokens, d, given, Rng(seed, sweep, d),
                [&moves](size_t v, size_t old, size_t k) { moves.push_back({int32_t(v), TopicId(old), TopicId(k)}); });
            if (how == Draw::again) s += log_probability(sampler.topics_of_document(), table.alpha, lga);
        }
        part[from / kGibbsDocuments] = s;
    });
    apply_moves(team, how == Draw::again, threads, counts);
    double sum = 0;
    for (const double s : part) sum += s;
    return sum;
}

}  // namespace topmix
