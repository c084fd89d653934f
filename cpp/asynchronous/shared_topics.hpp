// What all workers on a corpus share, and the statistics that each of them posts.
#pragma once
#include <span>
#include <utility>
#include <vector>

#include "asynchronous/topic_shard.hpp"
#include "asynchronous/totals.hpp"
#include "asynchronous/word_counts.hpp"
#include "global/topic_table.hpp"

namespace topmix::asynchronous {

/// The share of each topic that an entry does not keep: the mean of their phi, which leaves the kept ones unchanged
/// (Zhang et al.), or the equal share that is best for the bound, exp(mean of log phi), renormalised.
enum class Tail { mean, best };

/// The worker that holds a block owns its rows.
struct SharedTopics {
    WordBlocks blocks;
    std::vector<std::vector<double>> S;  // [B], each [slots of the block, K]; empty where the block is elsewhere
    Totals total;                        // [K] sum of S over words
    std::vector<double> alpha, eta_data, eta_total;
    WordPrior eta{};
    size_t K, C;
    Tail tail;
    size_t warm_up;  // passes of each worker under means instead of exponentiated mean logarithms
    bool by_token;   // blocks are single words, whose row follows every token

    SharedTopics(WordBlocks b, size_t topics, size_t keep, Tail r, size_t open, bool token)
        : blocks(std::move(b)),
          S(blocks.size()),
          total(topics),
          K(topics),
          C(keep),
          tail(r),
          warm_up(open),
          by_token(token) {}

    size_t numbers_in(size_t b) const { return size_t(blocks.starts[b + 1] - blocks.starts[b]) * K; }
    double* row(size_t b, size_t slot) { return &S[b][(slot - size_t(blocks.starts[b])) * K]; }
    const double* row(size_t b, size_t slot) const { return &S[b][(slot - size_t(blocks.starts[b])) * K]; }

    /// For all V words. Eta is [V or 1, K or 1]. Call it while no worker runs.
    void priors(size_t V, std::span<const double> new_alpha, std::span<const double> new_eta, size_t eta_words) {
        alpha.assign(new_alpha.begin(), new_alpha.end());
        eta_data.assign(new_eta.begin(), new_eta.end());
        const size_t topics = new_eta.size() / eta_words;
        eta = {eta_data.data(), eta_words == 1 ? 0 : topics, size_t(topics > 1)};
        eta_total.assign(K, 0.0);
        for (size_t v = 0; v < (eta_words == 1 ? 1 : V); ++v)
            for (size_t k = 0; k < K; ++k) eta_total[k] += eta(v, k);
        if (eta_words == 1)
            for (double& x : eta_total) x *= double(V);
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
