// The two factors of Eq. (3.26) and their logarithms: a row e for each word of a block, as it was when the visit began,
// and w for the document at hand.
//
//     e_vk = exp(psi(lambda_vk) - psi(sum_v lambda_vk)),   w_k = exp(psi(gamma_dk))     in the warm-up, x for exp
//     psi(x)
//
// Rows are scaled to a largest entry of one: a factor that all topics share is seen by nothing. Once topics have
// formed, most counts of a word, or of a document, are nothing: what that weighs is computed once.
#pragma once
#include <algorithm>
#include <limits>
#include <span>
#include <vector>

#include "asynchronous/shared_topics.hpp"
#include "base/math.hpp"
#include "simd/block.hpp"
#include "simd/lanes.hpp"

namespace topmix::asynchronous {

using Vector = topmix::Block;  // sixteen topics
constexpr size_t kWidth = kBlock;

inline float* numbers(std::vector<Vector>& x) { return reinterpret_cast<float*>(x.data()); }
inline const float* numbers(const std::vector<Vector>& x) { return reinterpret_cast<const float*>(x.data()); }

/// exp(psi(prior + x)) and its logarithm, or prior + x itself, for rows of counts x under one prior.
class Weights {
  public:
    explicit Weights(size_t K) : K_(K), prior_(K), none_(K), log_none_(K), near_(K + 2 * kWidth), id_(near_.size()) {}

    template <class Prior>  // prior(k)
    void under(bool means, Prior prior) {
        means_ = means;
        for (size_t k = 0; k < K_; ++k) prior_[k] = float(prior(k));
        all(nullptr, none_.data(), log_none_.data());
    }

    /// Those of all vanish in a float together if they vanish: then they are made relative to the largest.
    void operator()(const float* x, float* w, float* log_w) {
        const size_t n = means_ ? K_ : Lanes<float>::filter_ge(x, K_, kTrifle, near_.data(), id_.data(), near_.size());
        if (4 * n > K_) {
            all(x, w, log_w);
        } else {
            std::ranges::copy(none_, w);
            std::ranges::copy(log_none_, log_w);
            for (size_t j = 0; j < n; ++j) near_[j] += prior_[size_t(id_[j])];
            float* y = near_.data();
#pragma omp simd
            for (size_t j = 0; j < n; ++j) y[j] = math::exp_digamma(y[j]);
            for (size_t j = 0; j < n; ++j) w[id_[j]] = y[j];
#pragma omp simd
            for (size_t j = 0; j < n; ++j) y[j] = math::log(y[j] > kTiny ? y[j] : kTiny);
            for (size_t j = 0; j < n; ++j) log_w[id_[j]] = y[j];
        }
        float largest = 0;
#pragma omp simd reduction(max : largest)
        for (size_t k = 0; k < K_; ++k) largest = w[k] > largest ? w[k] : largest;
        if (largest < kSafe && !means_) relative(x, w, log_w);
    }

  private:
    static constexpr float kSafe = 1e-6f;
    static constexpr float kTrifle = 1e-10f;  // tokens; less weighs what none do

    void all(const float* x, float* w, float* log_w) const {
        const float* prior = prior_.data();
        if (x) {
#pragma omp simd
            for (size_t k = 0; k < K_; ++k) w[k] = prior[k] + x[k];
        } else {
            std::copy_n(prior, K_, w);
        }
        if (!means_) {
#pragma omp simd
            for (size_t k = 0; k < K_; ++k) w[k] = math::exp_digamma(w[k]);
        }
#pragma omp simd
        for (size_t k = 0; k < K_; ++k) log_w[k] = math::log(w[k] > kTiny ? w[k] : kTiny);
    }

    void relative(const float* x, float* w, float* log_w) const {
        double most = -std::numeric_limits<double>::infinity();
        for (size_t k = 0; k < K_; ++k) most = std::max(most, math::digamma(double(prior_[k]) + double(x[k])));
        for (size_t k = 0; k < K_; ++k) {
            const float y = float(math::digamma(double(prior_[k]) + double(x[k])) - most);
            w[k] = math::exp(y);
            log_w[k] = std::max(y, std::log(kTiny));
        }
    }

    const size_t K_;
    bool means_ = false;
    std::vector<float> prior_, none_, log_none_;  // [K]; weights without a count
    std::vector<float> near_;
    std::vector<int32_t> id_;
};

class TopicTables {
  public:
    explicit TopicTables(const SharedTopics& shared)
        : vectors((shared.K + kWidth - 1) / kWidth),
          w(vectors),
          log_w(vectors),
          shared_(shared),
          K_(shared.K),
          of_words_(K_),
          of_documents_(K_),
          x_(K_),
          by_topic_(K_),
          log_by_topic_(K_),
          norm_(K_) {}

    const size_t vectors;           // of a row
    std::vector<Vector> e, log_e;   // [rows, vectors]; zero beyond K
    std::vector<Vector> w, log_w;   // [vectors]
    std::vector<double> log_e_all;  // [rows] sum_k log e, where `others` was asked for
    double log_all = 0;             // sum_k log w, likewise

    /// Of the words of block b in these slots, as they are shared now; documents from now on are weighed in the same
    /// way.
    void words(size_t b, std::span<const int32_t> slots, bool means, bool others) {
        shared_.total.read(norm_);
        for (size_t k = 0; k < K_; ++k) norm_[k] += shared_.eta_total[k];
        for (double& x : norm_) x = means ? math::log(x) : math::digamma(x);
        const double least = *std::ranges::min_element(norm_);
        for (size_t k = 0; k < K_; ++k) {
            log_by_topic_[k] = float(least - norm_[k]);
            by_topic_[k] = math::exp(log_by_topic_[k]);
        }
        of_documents_.under(means, [this](size_t k) { return shared_.alpha[k]; });
        rows(b, slots, means, others);
    }

    /// In the place of tables: the shares of topics in each word, and no opinion of the document.
    void shares(size_t b, std::span<const int32_t> slots, bool others) {
        std::ranges::fill(by_topic_, 1.f);
        std::ranges::fill(log_by_topic_, 0.f);
        rows(b, slots, true, others);
        std::fill_n(numbers(w), K_, 1.f);
        std::ranges::fill(log_w, Vector{});
        log_all = 0;
    }

    /// Of a document that has N_k + even tokens of each topic.
    void document(const double* N, double even, bool others) {
        counts(N, even);
        of_documents_(x_.data(), numbers(w), numbers(log_w));
        if (others) log_all = sum_of(numbers(log_w));
    }

  private:
    void counts(const double* from, double more) {
        float* x = x_.data();
#pragma omp simd
        for (size_t k = 0; k < K_; ++k) x[k] = from[k] + more > 0.0 ? float(from[k] + more) : 0.f;
    }

    void rows(size_t b, std::span<const int32_t> slots, bool means, bool others) {
        const size_t stride = vectors * kWidth;
        const float low = std::log(kLeast), *by_topic = by_topic_.data(), *log_by_topic = log_by_topic_.data();
        e.resize(slots.size() * vectors);
        log_e.resize(e.size());
        log_e_all.resize(slots.size());
        for (size_t r = 0; r < slots.size(); ++r) {
            const size_t slot = size_t(slots[r]), v = size_t(shared_.blocks.word[slot]);
            if (r == 0 || shared_.eta.word_step > 0)
                of_words_.under(means, [this, v](size_t k) { return shared_.eta(v, k); });
            counts(shared_.row(b, slot), 0.0);
            e[(r + 1) * vectors - 1] = log_e[(r + 1) * vectors - 1] = Vector{};  // what lies beyond K
            float *row = numbers(e) + r * stride, *log_row = numbers(log_e) + r * stride, most = 0;
            of_words_(x_.data(), row, log_row);
#pragma omp simd reduction(max : most)
            for (size_t k = 0; k < K_; ++k) {
                row[k] *= by_topic[k];
                most = row[k] > most ? row[k] : most;
            }
            const float scale = 1.f / std::max(most, kTiny), log_scale = -std::log(std::max(most, kTiny));
#pragma omp simd
            for (size_t k = 0; k < K_; ++k) {
                const float x = row[k] * scale, y = log_row[k] + log_by_topic[k] + log_scale;
                row[k] = x > kLeast ? x : kLeast;
                log_row[k] = y > low ? y : low;
            }
            if (others) log_e_all[r] = sum_of(log_row);
        }
    }

    double sum_of(const float* x) const {
        double sum = 0;
#pragma omp simd reduction(+ : sum)
        for (size_t k = 0; k < K_; ++k) sum += double(x[k]);
        return sum;
    }

    const SharedTopics& shared_;
    const size_t K_;
    Weights of_words_, of_documents_;
    std::vector<float> x_, by_topic_, log_by_topic_;  // [K]
    std::vector<double> norm_;                        // [K]
};

}  // namespace topmix::asynchronous
