// Documents whose tokens have one topic each, and counts of those topics.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/parallel.hpp"
#include "base/views.hpp"
#include "models/word_stats.hpp"
#include "steps/topic_result.hpp"
#include "steps/word_order.hpp"

namespace topmix {

constexpr size_t kGibbsDocuments = 8;   // documents a thread takes at a time
constexpr size_t kCountDocuments = 64;  // documents per task when tokens are counted

/// How often each topic has each word. Whole numbers: additions commute.
struct TopicCounts {
    std::span<int32_t> word;   // [V, K]
    std::span<int64_t> total;  // [K]
    size_t K() const { return total.size(); }
};

inline void add_count(int32_t& count, int32_t by) {
    __atomic_fetch_add(&count, by, __ATOMIC_RELAXED);  // libc++ has no std::atomic_ref before LLVM 19
}

/// Topics of every document, as tokens have them.
inline DocTopics document_topics(const Tokens& tokens, size_t K, int threads) {
    const size_t docs = tokens.X.rows();
    TopicResult out;
    out.docs.indptr.assign(docs + 1, 0);
    std::vector<DocPiece> pieces((docs + kDocumentGrain - 1) / kDocumentGrain);
    parallel_for(docs, kDocumentGrain, threads, [&](size_t begin, size_t end, size_t) {
        std::vector<float> N(K);
        for (size_t d = begin; d < end; ++d) {
            std::ranges::fill(N, 0.f);
            for (int64_t i = tokens.first[d]; i < tokens.first[d + 1]; ++i) ++N[tokens.z[size_t(i)]];
            keep_document(N, d, pieces[begin / kDocumentGrain], out.docs);
        }
    });
    join(pieces, out);
    return std::move(out.docs);
}

/// Counts of the topics that tokens have. Threads count for themselves where the counts are few beside the tokens.
inline void count_tokens(const Tokens& tokens, int threads, const TopicCounts& counts) {
    const size_t K = counts.K(), size = counts.word.size(), team = size_t(std::max(threads, 1));
    const bool apart = team == 1 || size * team <= tokens.z.size();
    std::vector<std::vector<int32_t>> own(apart ? team - 1 : 0, std::vector<int32_t>(size));
    std::ranges::fill(counts.word, 0);
    std::ranges::fill(counts.total, 0);
    parallel_for(tokens.X.rows(), kCountDocuments, threads, [&](size_t begin, size_t end, size_t t) {
        int32_t* word = apart && t > 0 ? own[t - 1].data() : counts.word.data();
        const TopicId* z = tokens.z.data() + tokens.first[begin];
        for (int64_t u = tokens.X.indptr[begin]; u < tokens.X.indptr[end]; ++u) {
            int32_t* n = word + size_t(tokens.X.index[size_t(u)]) * K;
            for (auto left = int64_t(tokens.X.value[size_t(u)]); left > 0; --left, ++z) {
                if (apart)
                    ++n[*z];
                else
                    add_count(n[*z], 1);
            }
        }
    });
    for (const auto& more : own)
        for (size_t i = 0; i < size; ++i) counts.word[i] += more[i];
    for (size_t at = 0; at < size; at += K)
        for (size_t k = 0; k < K; ++k) counts.total[k] += counts.word[at + k];
}

}  // namespace topmix
