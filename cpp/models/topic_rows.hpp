// Topics as people read them: a row of words for each topic, from counts that are kept word by word.
#pragma once
#include <algorithm>
#include <span>

#include "base/parallel.hpp"
#include "base/views.hpp"
#include "models/word_prior.hpp"

namespace topmix {

/// out [K, V] = counts + eta, transposed; counts are raw [V, K] times factor. With `as_shares` each row sums to one.
/// Words go in blocks whose part of the counts stays in cache while every topic takes its run from it.
inline void topic_rows(Rows<const double> raw, double factor, WordPrior eta, bool as_shares, int threads,
                       Rows<double> out) {
    constexpr size_t kWords = 64, kTopics = 64;
    const size_t V = raw.rows(), K = out.rows();
    parallel_for(V, kWords, threads, [&](size_t begin, size_t end, size_t) {
        for (size_t first = 0; first < K; first += kTopics)
            for (size_t k = first; k < std::min(first + kTopics, K); ++k) {
                double* const row = out[k].data();
                for (size_t v = begin; v < end; ++v) row[v] = std::max(raw[v][k] * factor, 0.0) + eta(v, k);
            }
        if (!eta.extra) return;
        for (size_t v = begin; v < end; ++v)
            eta.each_extra(v, [&](size_t k, double x) { out[k][v] = std::max(raw[v][k] * factor, 0.0) + x; });
    });
    if (!as_shares) return;
    parallel_for(K, 1, threads, [&](size_t begin, size_t end, size_t) {
        for (size_t k = begin; k < end; ++k) {
            double sum = 0;
#pragma omp simd reduction(+ : sum)
            for (size_t v = 0; v < V; ++v) sum += out[k][v];
            const double scale = 1.0 / sum;
#pragma omp simd
            for (size_t v = 0; v < V; ++v) out[k][v] *= scale;
        }
    });
}

}  // namespace topmix
