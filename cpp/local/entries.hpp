// What the token-by-token steps (scvb0.hpp, cvb0.hpp) share: shares of one entry, and a shard's results from its
// pieces.
#pragma once
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "../word_stats.hpp"
#include "top_l.hpp"
#include "topics.hpp"

namespace topmix {

/// The top L of weights w, over their sum, into idx and r (ascending ids). Returns how many: min(L, K). Like
/// normalise_top_l, for those who do not ask for the entropy.
inline size_t share_top_l(std::span<const float> w, size_t L, int32_t* idx, float* r) {
    const size_t m = select_top_l(w, L, idx, r);
    float s = 0;
#pragma omp simd reduction(+ : s)
    for (size_t l = 0; l < m; ++l) s += r[l];
    if (!(s >= std::numeric_limits<float>::min())) {  // next to nothing, or nothing: 1 / s would overflow
        normalise(std::span(r, m));
        return m;
    }
    const float q = 1.f / s;
#pragma omp simd
    for (size_t l = 0; l < m; ++l) r[l] *= q;
    return m;
}

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
    }
}

}  // namespace topmix
