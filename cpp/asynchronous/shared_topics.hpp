// What all workers on a corpus share, and the statistics that each of them posts.
#pragma once
#include <atomic>
#include <span>
#include <utility>
#include <vector>

#include "asynchronous/topic_shard.hpp"
#include "asynchronous/word_counts.hpp"
#include "models/topic_table.hpp"

namespace topmix::asynchronous {

/// Sums over all blocks that every worker reads and none owns, such as sum_v lambda_v: kept fresh by deltas.
///
/// A worker that has changed a block adds the difference; one that begins a visit reads the sums as they are. No lock,
/// and nothing is lost: the sum is that of all deltas, in double, in whatever order they came.
class Totals {
  public:
    explicit Totals(size_t n) : sum_(n) {}

    void add(std::span<const double> delta) {
        for (size_t k = 0; k < sum_.size(); ++k) {
            double before = sum_[k].load(std::memory_order_relaxed);
            while (!sum_[k].compare_exchange_weak(before, before + delta[k], std::memory_order_relaxed)) {
            }
        }
    }
    /// Call it while no worker runs.
    void set(std::span<const double> x) {
        for (size_t k = 0; k < sum_.size(); ++k) sum_[k].store(x[k]);
    }
    void read(std::span<double> out) const {
        for (size_t k = 0; k < sum_.size(); ++k) out[k] = sum_[k].load(std::memory_order_relaxed);
    }

  private:
    std::vector<std::atomic<double>> sum_;
};

/// The share of each topic that an entry does not keep: the mean of their phi, which leaves the kept ones unchanged
/// (Zhang et al.), or the equal share that is best for the bound, exp(mean of log phi), renormalised.
enum class Tail { mean, best };

struct TopicSettings {
    size_t K, C;  // topics, and how many an entry keeps
    Tail tail;
    size_t warm_up = 0;     // passes of each worker under means instead of exponentiated mean logarithms
    bool by_token = false;  // blocks are single words, whose row follows every token
};

/// The worker that holds a block owns its rows.
struct SharedTopics : TopicSettings {
    WordBlocks blocks;
    std::vector<std::vector<double>> S;  // [B], each [slots of the block, K]; empty where the block is elsewhere
    Totals total;                        // [K] sum of S over words
    std::vector<double> alpha{}, eta_data{}, eta_total{};
    WordPrior eta{};

    SharedTopics(WordBlocks b, const TopicSettings& how)
        : TopicSettings(how), blocks(std::move(b)), S(blocks.size()), total(how.K) {}

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
