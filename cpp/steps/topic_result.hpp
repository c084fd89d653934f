// What a local step of a topic model finds in a shard: statistics of words, topics of documents, and the entropy.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "models/word_stats.hpp"

namespace topmix {

constexpr size_t kDocumentGrain = 16;  // documents per task

/// Documents' topics, sparse: N_dk > 0 only.
struct DocTopics {
    std::vector<int64_t> indptr;  // [docs + 1]
    std::vector<TopicId> topic;   // ascending within a document
    std::vector<float> count;     // N_dk
};

/// Large buffers, kept between steps, so that they are mapped and zeroed only once.
struct TopicScratch {
    std::vector<int32_t> first_topic;  // [words, L] each word's own top L
    std::vector<float> first_r;        // [words, L]
    std::vector<TopicId> topic;        // [nnz, L]
    std::vector<float> share;          // [nnz, L] c_u r_uk
    std::vector<int32_t> kept;         // [nnz] how many of the L are used
};

struct TopicResult {
    WordStats S;
    DocTopics docs;
    double entropy = 0;  // sum_du c_du H[r_du]
    int64_t iterations = 0, tried = 0, accepted = 0;
};

/// Per-document results in task order, joined at the end.
struct alignas(64) DocPiece {  // threads write to neighbours at the same time
    std::vector<TopicId> topic;
    std::vector<float> count;
    double entropy = 0;
    int64_t iterations = 0, tried = 0, accepted = 0;
};

/// Keeps the topics of document d that hold anything, of N [K].
inline void keep_document(std::span<const float> N, size_t d, DocPiece& piece, DocTopics& docs) {
    for (size_t k = 0; k < N.size(); ++k)
        if (N[k] > 0) {
            piece.topic.push_back(TopicId(k));
            piece.count.push_back(N[k]);
            ++docs.indptr[d + 1];
        }
}

/// Pieces in task order; docs.indptr holds how many topics each document has.
inline void join(const std::vector<DocPiece>& pieces, TopicResult& out) {
    for (size_t d = 1; d < out.docs.indptr.size(); ++d) out.docs.indptr[d] += out.docs.indptr[d - 1];
    out.docs.topic.reserve(size_t(out.docs.indptr.back()));
    out.docs.count.reserve(size_t(out.docs.indptr.back()));
    for (const DocPiece& piece : pieces) {
        out.docs.topic.insert(out.docs.topic.end(), piece.topic.begin(), piece.topic.end());
        out.docs.count.insert(out.docs.count.end(), piece.count.begin(), piece.count.end());
        out.entropy += piece.entropy, out.iterations += piece.iterations;
        out.tried += piece.tried, out.accepted += piece.accepted;
    }
}

}  // namespace topmix
