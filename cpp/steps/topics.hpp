// Local step of a topic model on one shard: every document's fixed point, then statistics by word.  docs/math.md §3.
//
// The first selection does not depend on the document, only on the word: it is made once per word and update. Documents
// are then solved in parallel, each writing its own slots; sums by word have one owner each (word_stats.hpp). So the
// bits do not depend on the number of threads.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "base/parallel.hpp"
#include "base/views.hpp"
#include "models/word_stats.hpp"
#include "steps/document.hpp"
#include "steps/priors.hpp"
#include "steps/response.hpp"
#include "steps/shard.hpp"
#include "steps/topic_result.hpp"

namespace topmix {

/// How documents start: cold (from the words' own lists) when empty, else from these counts, sparse or dense [docs, K].
struct Start {
    std::span<const int64_t> indptr;
    std::span<const TopicId> topic;
    std::span<const float> count;
    std::span<const float> dense;
};

/// The last visit to these documents, where the words' counts still hold it and some of that is to be discounted.
struct LastVisit {
    std::span<const int64_t> indptr;
    std::span<const TopicId> topic;
    std::span<const float> count;
    std::span<const double> log_scale;  // [words] of the table
    std::span<const double> norm;       // [K]
    double least;                       // the smallest prior count of a word
};

inline void first_selection(Rows<const float> table, size_t L, int threads, TopicScratch& scratch) {
    scratch.first_topic.resize(table.rows() * L);
    scratch.first_r.resize(table.rows() * L);
    parallel_for(table.rows(), kWordGrain, threads, [&](size_t begin, size_t end, size_t) {
        for (size_t v = begin; v < end; ++v)
            normalise_top_l(table[v], L, &scratch.first_topic[v * L], &scratch.first_r[v * L]);
    });
}

/// The topics that documents with each of the priors can have; empty where that is all of them. A document never gets
/// another than it starts with.
inline std::vector<std::vector<int32_t>> candidates_of(const Priors& priors) {
    std::vector<std::vector<int32_t>> found(priors.differ() ? priors.own.rows() : 0);
    for (size_t g = 0; g < found.size(); ++g) {
        for (size_t k = 0; k < priors.shared.size(); ++k)
            if (priors.own[g][k] > 0) found[g].push_back(int32_t(k));
        if (found[g].size() == priors.shared.size()) found[g].clear();
    }
    return found;
}

/// N += the word's tokens, among some topics by its weights in them, and evenly where it has none.
inline void start_among(std::span<const int32_t> topics, std::span<const float> e, float count, std::vector<float>& N) {
    float s = 0;
    for (const int32_t k : topics) s += e[size_t(k)];
    for (const int32_t k : topics) N[size_t(k)] += count * (s > 0 ? e[size_t(k)] / s : 1.f / float(topics.size()));
}

inline TopicResult topics_step(const Shard& shard, Rows<const float> table, const Priors& priors,
                               const DocumentOptions& opt, const Start& start, const LastVisit* last, bool want_words,
                               int threads, TopicScratch& scratch, const Responses& responses = {}) {
    const Csr<float>& X = shard.X;
    const size_t K = priors.shared.size(), L = opt.L, docs = X.rows();
    const bool cold = start.indptr.empty() && start.dense.empty();
    if (cold) first_selection(table, L, threads, scratch);
    scratch.topic.resize(X.index.size() * L);
    scratch.share.resize(X.index.size() * L);
    scratch.kept.resize(X.index.size());

    std::vector<float> by_topic, by_word;
    if (last) {
        for (const double x : last->norm) by_topic.push_back(float(1.0 / x));
        for (const double x : last->log_scale) by_word.push_back(float(std::exp(-x)));
    }
    const OwnTokens own_tokens{by_topic, by_word, last ? float(last->least) : 0.f};

    const std::vector<std::vector<int32_t>> candidates =
        cold ? candidates_of(priors) : std::vector<std::vector<int32_t>>();
    TopicResult out;
    out.docs.indptr.assign(docs + 1, 0);
    std::vector<DocPiece> pieces((docs + kDocumentGrain - 1) / kDocumentGrain);

    parallel_for(docs, kDocumentGrain, threads, [&](size_t begin, size_t end, size_t) {
        DocPiece& piece = pieces[begin / kDocumentGrain];
        Document document(K, opt, priors.shared);
        std::vector<float> N;
        for (size_t d = begin; d < end; ++d) {
            const int64_t at = X.indptr[d];
            const size_t U = size_t(X.indptr[d + 1] - at);
            if (U == 0) continue;
            const auto words = X.index.subspan(size_t(at), U);
            const auto counts = X.value.subspan(size_t(at), U);

            if (priors.differ()) document.use_prior(priors[d]);
            if (responses.differ()) document.use_response(responses, d);
            std::vector<float>& N0 = document.start();
            const auto some = candidates.empty() ? std::span<const int32_t>() : candidates[size_t(priors.row[d])];
            if (cold && !some.empty()) {
                for (size_t u = 0; u < U; ++u) start_among(some, table[size_t(words[u])], counts[u], N0);
            } else if (cold) {
                for (size_t u = 0; u < U; ++u)
                    for (size_t l = 0, i = size_t(words[u]) * L; l < L; ++l, ++i)
                        N0[size_t(scratch.first_topic[i])] += counts[u] * scratch.first_r[i];
            } else if (!start.dense.empty()) {
                std::copy_n(&start.dense[d * K], K, N0.begin());
            } else {
                for (int64_t i = start.indptr[d]; i < start.indptr[d + 1]; ++i) N0[start.topic[i]] = start.count[i];
            }
            if (last)
                for (int64_t i = last->indptr[d]; i < last->indptr[d + 1]; ++i)
                    document.left_before()[last->topic[i]] = last->count[i];
            document.solve(words, counts, table.data, last ? &own_tokens : nullptr);

            N.assign(document.topic.size(), 0.f);
            piece.entropy += document.responsibilities([&](size_t u, size_t m, const int32_t* id, const float* r) {
                const size_t i = size_t(at) + u;
                for (size_t l = 0; l < m; ++l) {
                    const float x = counts[u] * r[l];
                    N[size_t(id[l])] += x;
                    scratch.share[i * L + l] = x;
                    scratch.topic[i * L + l] = TopicId(document.topic[size_t(id[l])]);
                }
                scratch.kept[i] = int32_t(m);
            });
            for (size_t j = 0; j < N.size(); ++j)
                if (N[j] > 0) {
                    piece.topic.push_back(TopicId(document.topic[j]));
                    piece.count.push_back(N[j]);
                    ++out.docs.indptr[d + 1];
                }
        }
        piece.iterations = document.iterations, piece.tried = document.tried, piece.accepted = document.accepted;
    });

    join(pieces, out);
    if (want_words)
        out.S = sum_by_word(shard.starts, shard.order, K, threads, [&](int32_t i, Row& S) {
            const TopicId* k = &scratch.topic[size_t(i) * L];
            const float* x = &scratch.share[size_t(i) * L];
            for (size_t l = 0, m = size_t(scratch.kept[size_t(i)]); l < m; ++l) S.add(k[l], double(x[l]));
        });
    return out;
}

}  // namespace topmix
