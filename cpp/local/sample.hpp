// Local step of a topic model by sampling: every token of a shard is drawn again, then statistics by word.
//
// It takes the tables of topics.hpp and gives the same statistics, so a learner cannot tell the two apart. Tables stand
// still while a shard lasts. Random numbers belong to a document, and sums by word have one owner each: the result is
// the same for any number of threads.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/parallel.hpp"
#include "base/views.hpp"
#include "global/word_stats.hpp"
#include "local/document_sampler.hpp"
#include "local/topic_result.hpp"

namespace topmix {

/// What a draw depends on besides the topics: the same three numbers give the same topics.
struct DrawKey {
    uint64_t seed;
    uint32_t sweep;
    uint64_t first;  // the number of the first document
};

/// Running sums of alpha_k e_vk, a block of topics at a time.
inline void prior_mass(Rows<const float> e, std::span<const float> alpha, int threads, Rows<float> mass) {
    const size_t K = alpha.size();
    parallel_for(e.rows(), kWordGrain, threads, [&](size_t begin, size_t end, size_t) {
        for (size_t v = begin; v < end; ++v) {
            const float *row = e[v].data(), *a = alpha.data();
            float running = 0;
            for (size_t at = 0, b = 0; at < K; at += kPriorBlock, ++b) {
                float s = 0;
#pragma omp simd reduction(+ : s)
                for (size_t k = at; k < std::min(at + kPriorBlock, K); ++k) s += a[k] * row[k];
                mass[v][b] = running += s;
            }
        }
    });
}

/// Where the tokens of each entry begin.
inline std::vector<int64_t> first_tokens(std::span<const float> value) {
    std::vector<int64_t> first(value.size() + 1, 0);
    for (size_t i = 0; i < value.size(); ++i) first[i + 1] = first[i] + int64_t(value[i]);
    return first;
}

/// Draws the topics z of all tokens: again, or given the documents' proportions. `entry` is first_tokens.
template <Draw how>
TopicResult sample_step(const Tokens& tokens, std::span<const int64_t> entry, std::span<const int64_t> starts,
                        std::span<const int32_t> order, const GibbsTable& table, const GivenTopics& given,
                        const DrawKey& key, int threads) {
    const size_t K = table.alpha.size(), docs = tokens.X.rows();
    TopicResult out;
    out.docs.indptr.assign(docs + 1, 0);
    std::vector<DocPiece> pieces((docs + kDocumentGrain - 1) / kDocumentGrain);
    parallel_for(docs, kDocumentGrain, threads, [&](size_t begin, size_t end, size_t) {
        DocPiece& piece = pieces[begin / kDocumentGrain];
        DocumentSampler sampler(table);
        std::vector<std::pair<TopicId, float>> found;
        for (size_t d = begin; d < end; ++d) {
            sampler.template visit<how>(tokens, d, given, Rng(key.seed, key.sweep, key.first + d),
                                        [&](size_t, size_t, size_t) { ++piece.accepted; });
            found.clear();
            if constexpr (how == Draw::again) {
                const TopicList& topics = sampler.topics_of_document();
                for (size_t i = 0; i < topics.size(); ++i) found.emplace_back(TopicId(topics.id(i)), topics.count(i));
                std::ranges::sort(found);
            } else {  // proportions were given: count what was drawn
                std::vector<TopicId> z(tokens.z.begin() + tokens.first[d], tokens.z.begin() + tokens.first[d + 1]);
                std::ranges::sort(z);
                for (const TopicId k : z) {
                    if (found.empty() || found.back().first != k) found.emplace_back(k, 0.f);
                    found.back().second += 1;
                }
            }
            for (const auto& [k, n] : found) piece.topic.push_back(k), piece.count.push_back(n);
            out.docs.indptr[d + 1] = int64_t(found.size());
        }
    });
    join(pieces, out);
    out.S = sum_by_word(starts, order, K, threads, [&](int32_t i, Row& S) {
        for (int64_t t = entry[size_t(i)]; t < entry[size_t(i) + 1]; ++t) S.add(tokens.z[size_t(t)], 1.0);
    });
    return out;
}

}  // namespace topmix
