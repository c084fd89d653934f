// The two factors of Eq. (3.26): a row e for each word of a block, as it was when the visit began, and w for the
// document at hand.
//
//     e_vk = exp(psi(lambda_vk) - psi(sum_v lambda_vk)),   w_k = exp(psi(gamma_dk))       in the opening, x for exp psi(x)
//
// Rows are scaled to a largest entry of about one: a factor that all topics share is seen by nothing.
#pragma once
#include <algorithm>
#include <limits>
#include <span>
#include <vector>

#include "../math.hpp"
#include "topic_sea.hpp"

namespace topmix::nomad {

using Vector = topmix::Block;  // sixteen topics
constexpr size_t kWidth = kBlock;

inline float* numbers(std::vector<Vector>& x) { return reinterpret_cast<float*>(x.data()); }
inline const float* numbers(const std::vector<Vector>& x) { return reinterpret_cast<const float*>(x.data()); }

class TopicTables {
  public:
    explicit TopicTables(const TopicSea& sea)
        : vectors((sea.K + kWidth - 1) / kWidth), w(vectors), log_w(vectors), sea_(sea), K_(sea.K), x_(K_), norm_(K_) {}

    const size_t vectors;          // of a row
    std::vector<Vector> e, log_e;  // [rows, vectors]; zero beyond K
    std::vector<Vector> w, log_w;  // [vectors]
    std::vector<double> log_e_all;  // [rows] sum_k log e, where `others` was asked for
    double log_all = 0;             // sum_k log w, likewise

    /// Of the words in these slots, as the sea has them.
    void words(std::span<const int32_t> slots, bool means, bool others) {
        sea_.total.read(norm_);
        for (size_t k = 0; k < K_; ++k) norm_[k] += sea_.eta_total[k];
        for (double& x : norm_) x = means ? math::log(x) : math::digamma(x);
        const double least = *std::ranges::min_element(norm_);
        float* by_topic = numbers(w);
        for (size_t k = 0; k < K_; ++k) by_topic[k] = float(math::exp(least - norm_[k]));
        rows(slots, others, [&](float* row) {
            weigh(means, row);
            for (size_t k = 0; k < K_; ++k) row[k] *= by_topic[k];
        });
    }

    /// In the place of tables: the shares of topics in each word, and no opinion of the document.
    void shares(std::span<const int32_t> slots, bool others) {
        rows(slots, others, [&](float* row) {
            for (size_t k = 0; k < K_; ++k) row[k] = float(x_[k]);
        });
        std::fill_n(numbers(w), K_, 1.f);
        std::ranges::fill(log_w, Vector{});
        log_all = 0;
    }

    /// Of a document that has N_k + even tokens of each topic.
    void document(const double* N, double even, bool means, bool others) {
        const double* alpha = sea_.alpha.data();
        double* x = x_.data();
#pragma omp simd
        for (size_t k = 0; k < K_; ++k) x[k] = alpha[k] + std::max(N[k] + even, 0.0);
        weigh(means, numbers(w));
        const float* from = numbers(w);
        float* to = numbers(log_w);
        logs(from, to);
        if (others) log_all = sum_of(to);
    }

  private:
    static constexpr float kSafe = 1e-6f;  // weights all below this are made again, relative to their largest

    template <class Fill>
    void rows(std::span<const int32_t> slots, bool others, Fill fill) {
        e.resize(slots.size() * vectors);
        log_e.resize(e.size());
        log_e_all.resize(slots.size());
        for (size_t r = 0; r < slots.size(); ++r) {
            const size_t slot = size_t(slots[r]), v = size_t(sea_.blocks.word[slot]);
            const double *S = &sea_.S[slot * K_], *eta = sea_.eta.data + v * sea_.eta.word_step;
            double* x = x_.data();
            if (sea_.eta.topic_step == 0) {
                const double same = *eta;
#pragma omp simd
                for (size_t k = 0; k < K_; ++k) x[k] = std::max(S[k], 0.0) + same;
            } else {
#pragma omp simd
                for (size_t k = 0; k < K_; ++k) x[k] = std::max(S[k], 0.0) + eta[k];
            }
            e[(r + 1) * vectors - 1] = log_e[(r + 1) * vectors - 1] = Vector{};  // what lies beyond K
            float *row = numbers(e) + r * vectors * kWidth, *log_row = numbers(log_e) + r * vectors * kWidth, most = 0;
            fill(row);
#pragma omp simd reduction(max : most)
            for (size_t k = 0; k < K_; ++k) most = std::max(most, row[k]);
            const float scale = 1.f / std::max(most, kTiny);
#pragma omp simd
            for (size_t k = 0; k < K_; ++k) row[k] = std::max(row[k] * scale, kLeast);
            logs(row, log_row);
            if (others) log_e_all[r] = sum_of(log_row);
        }
    }

    void logs(const float* from, float* to) const {
#pragma omp simd
        for (size_t k = 0; k < K_; ++k) to[k] = math::log(std::max(from[k], kTiny));
    }

    double sum_of(const float* x) const {
        double sum = 0;
#pragma omp simd reduction(+ : sum)
        for (size_t k = 0; k < K_; ++k) sum += double(x[k]);
        return sum;
    }

    /// out = exp(psi(x_)), in the opening x_; or a multiple of that where it would all vanish in a float.
    void weigh(bool means, float* out) const {
        const double* x = x_.data();
        if (means) {
#pragma omp simd
            for (size_t k = 0; k < K_; ++k) out[k] = float(x[k]);
            return;
        }
        float largest = 0;
#pragma omp simd reduction(max : largest)
        for (size_t k = 0; k < K_; ++k) {
            out[k] = math::exp_digamma(float(x[k]));
            largest = std::max(largest, out[k]);
        }
        if (largest >= kSafe) return;
        double most = -std::numeric_limits<double>::infinity();
        for (size_t k = 0; k < K_; ++k) most = std::max(most, math::digamma(x[k]));
        for (size_t k = 0; k < K_; ++k) out[k] = float(math::exp(math::digamma(x[k]) - most));
    }

    const TopicSea& sea_;
    const size_t K_;
    std::vector<double> x_, norm_;  // [K]
};

}  // namespace topmix::nomad
