// What all workers on a corpus share, and the statistics that each of them posts.
#pragma once
#include <utility>
#include <vector>

#include "asynchronous/topic_shard.hpp"
#include "asynchronous/totals.hpp"
#include "global/topic_table.hpp"

namespace topmix::asynchronous {

/// The share of each topic that an entry does not keep: the mean of their phi, which leaves the kept ones unchanged
/// (Zhang et al.), or the equal share that is best for the bound, exp(mean of log phi), renormalised.
enum class Rest { mean, best };

/// The worker that holds a block owns its rows.
struct SharedTopics {
    WordBlocks blocks;
    std::vector<double> S;  // [slots, K]
    Totals total;           // [K] sum of S over words
    std::vector<double> alpha, eta_data, eta_total;
    WordPrior eta{};
    size_t K, C;
    Rest rest;
    size_t opening;  // passes of each worker under means instead of exponentiated mean logarithms

    SharedTopics(WordBlocks b, size_t topics, size_t keep, Rest r, size_t open)
        : blocks(std::move(b)),
          S(blocks.slots() * topics, 0.0),
          total(topics),
          K(topics),
          C(keep),
          rest(r),
          opening(open) {}
};

/// Counts of words, in the memory of floats and with the sums of doubles: (x_rk + even_r) scale_r, where the scale
/// makes a row add up to what it must.
struct WordCounts {
    std::vector<float> x;             // [rows, K]
    std::vector<double> even, scale;  // [rows]

    WordCounts() = default;
    WordCounts(size_t rows, size_t K) : x(rows * K, 0.f), even(rows, 0.0), scale(rows, 0.0) {}

    template <class Fn>
    void each(size_t r, size_t K, Fn&& fn) const {
        const float* from = &x[r * K];
        const double more = even[r], times = scale[r];
#pragma omp simd
        for (size_t k = 0; k < K; ++k) fn(k, (double(from[k]) + more) * times);
    }
};

/// A worker's statistics at one moment; those of all workers add up to the model's.
struct TopicPost {
    WordCounts R;              // counts of its words
    std::vector<double> rise;  // [K] sum_d psi(N_dk + alpha_k) - psi(alpha_k)
    double entropy = 0;        // sum c H[phi]
    double documents = 0;      // sum_dk log Gamma(N_dk + alpha_k) - log Gamma(alpha_k)
};

}  // namespace topmix::asynchronous
