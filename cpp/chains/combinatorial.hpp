// Combinatorial topics on all documents: distances of words to topics, then every document by one of the algorithms of
// hard_document.hpp.
//
//     D_vk = -log psi_kv,      psi_kv = (n_vk + smoothing) / (n_k + V smoothing)                       Eq. (3.16)
#pragma once
#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "base/math.hpp"
#include "base/parallel.hpp"
#include "base/views.hpp"
#include "chains/hard_document.hpp"
#include "chains/tokens.hpp"
#include "models/word_stats.hpp"
#include "simd/block.hpp"

namespace topmix {

constexpr float kFar = 1e6f;  // where a topic does not have a word: infinitely far, for all that is compared with it

/// Columns of D: K and, to whole vectors, topics that do not exist and are far from everything.
inline size_t padded(size_t K) { return (K + kBlock - 1) / kBlock * kBlock; }

/// D_vk = -log((n_vk + smoothing) / (n_k + V smoothing)), at most kFar; D is [V, padded(K)].
inline void distances(Rows<const int32_t> word, std::span<const int64_t> total, double smoothing, int threads,
                      Rows<float> D) {
    const size_t K = total.size(), V = D.rows();
    std::vector<double> norm(K);
    for (size_t k = 0; k < K; ++k) norm[k] = std::log(std::max(double(total[k]) + double(V) * smoothing, 1e-300));
    parallel_for(V, kWordGrain, threads, [&](size_t begin, size_t end, size_t) {
        for (size_t v = begin; v < end; ++v) {
            const int32_t* __restrict n = word[v].data();
            const double* __restrict b = norm.data();
            float* __restrict d = D[v].data();
#pragma omp simd
            for (size_t k = 0; k < K; ++k) {
                const double x = double(n[k]) + smoothing;
                d[k] = x > 0 ? float(b[k] - math::log(std::max(x, 1e-300))) : kFar;
            }
            std::fill(d + K, d + D.cols, kFar);
        }
    });
}

enum class HardStep { basic, word, place };

/// Every document by one of the algorithms, under fixed distances. Returns the sum of their costs (not for basic).
inline double assign_documents(const Tokens& tokens, HardStep step, Rows<const float> D, size_t K, double penalty,
                               int threads) {
    const size_t docs = tokens.X.rows();
    std::vector<double> part((docs + kGibbsDocuments - 1) / kGibbsDocuments);
    std::vector<HardDocument> team(size_t(std::max(threads, 1)), HardDocument(D, K, penalty));
    parallel_for(docs, kGibbsDocuments, threads, [&](size_t begin, size_t end, size_t t) {
        double sum = 0;
        for (size_t d = begin; d < end; ++d) {
            if (step == HardStep::basic) team[t].basic(tokens, d);
            if (step == HardStep::word) sum += team[t].word(tokens, d);
            if (step == HardStep::place) sum += team[t].place(tokens, d);
        }
        part[begin / kGibbsDocuments] = sum;
    });
    double sum = 0;
    for (const double s : part) sum += s;
    return sum;
}

}  // namespace topmix
