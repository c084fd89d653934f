// Weights of words in topics from whole counts: e_vk = (n_vk + eta_vk) / (n_k + eta_k).
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/views.hpp"
#include "models/word_prior.hpp"
#include "steps/token_draw.hpp"

namespace topmix {

/// [K] n_k + eta_k
inline std::vector<double> topic_norms(std::span<const int64_t> total, std::span<const double> eta_totals) {
    std::vector<double> norm(eta_totals.begin(), eta_totals.end());
    for (size_t k = 0; k < norm.size(); ++k) norm[k] += double(total[k]);
    return norm;
}

/// A row at a time, when its word's turn comes: a table of all rows would have to be written and read again.
class CountedWords {
  public:
    CountedWords(Rows<const int32_t> word, WordPrior eta, std::span<const float> inverse, std::span<const float> alpha)
        : word_(word),
          eta_(eta),
          inverse_(inverse),
          alpha_(alpha),
          prior_(alpha.size()),
          e_(alpha.size()),
          mass_(prior_blocks(alpha.size())) {
        take_prior(0);
    }

    WordWeights operator()(size_t v) {
        if (eta_.word_step) take_prior(v);
        const int32_t* __restrict n = word_[v].data();
        const float* __restrict p = prior_.data(), * __restrict q = inverse_.data();
        float* __restrict out = e_.data();
#pragma omp simd
        for (size_t k = 0; k < e_.size(); ++k) out[k] = (float(n[k]) + p[k]) * q[k];
        prior_mass(e_, alpha_, mass_);
        return {e_, mass_, 1.f};
    }

    /// Asks for a row that is needed soon.
    void prefetch(size_t v) const {
#if defined(__GNUC__)
        for (size_t k = 0; k < e_.size(); k += 64 / sizeof(int32_t)) __builtin_prefetch(&word_[v][k]);
#endif
    }

  private:
    Rows<const int32_t> word_;  // [V, K]
    WordPrior eta_;
    std::span<const float> inverse_, alpha_;
    std::vector<float> prior_, e_, mass_;

    void take_prior(size_t v) {
        for (size_t k = 0; k < prior_.size(); ++k) prior_[k] = float(eta_(v, k));
    }
};

}  // namespace topmix
