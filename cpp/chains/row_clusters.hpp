// Rows with one cluster each, by collapsed Gibbs sampling: one row after another, given the clusters of all the others.
//
//     p(z_n = k | rest) ~ (N_k + a)  prod_v (S_vk + eta_v)^(x_nv)  /  (S_k + eta)^(x_n),      y^(x) = G(y + x) / G(y)
//
// with counts that lack the row itself: the words and the weights of clusters are integrated out (Dirichlet multinomial
// mixture; Yin & Wang 2014). docs/math.md, section 2. Exact, in one thread; chains are independent of each other.
//
// Most counts are one, and log y^(1) is in a table: for each entry of a row K numbers are added. Only the cluster of
// the row itself, whose counts lack it, is computed anew, and the table changes only where a row has moved.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "base/math.hpp"
#include "base/rng.hpp"
#include "base/views.hpp"

namespace topmix {

/// What rows with clusters z add up to; a sweep changes all of it.
struct RowChain {
    Rows<double> S;           // [words, K] tokens
    std::span<double> total;  // [K] tokens
    std::span<double> N;      // [K] rows
    std::span<int32_t> z;     // [rows]
};

struct RowPrior {
    std::span<const double> eta;  // [words]
    double eta_total;             // of all words, also those that no row has
    double weight;                // a, of each cluster
};

/// s_k + log y_k^(x) for n numbers at a time. Factors y, y + 1 ... are multiplied while a double holds their product.
class LogRising {
  public:
    explicit LogRising(size_t n) : s_(n), product_(n, 1.0) {}

    void begin() { std::ranges::fill(s_, 0.0); }

    /// y(k) must be at least 1e-30, the smallest prior; `from` leaves the first factors out.
    template <class Y>
    void add(double x, Y&& y, double from = 0) {
        const size_t n = s_.size();
        if (x > kMost || x != std::floor(x)) {
            double* s = s_.data();
#pragma omp simd
            for (size_t k = 0; k < n; ++k) s[k] += math::lgamma(y(k) + x) - math::lgamma(y(k) + from);
            return;
        }
        for (double j = from; j < x; ++j) {
            double* p = product_.data();
#pragma omp simd
            for (size_t k = 0; k < n; ++k) p[k] *= y(k) + j;
            if (++factors_ == kFactors) flush();
        }
    }

    std::span<double> sums() {
        if (factors_) flush();
        return s_;
    }

  private:
    static constexpr int kFactors = 8;
    static constexpr double kMost = 16;

    void flush() {
        double *s = s_.data(), *p = product_.data();
#pragma omp simd
        for (size_t k = 0; k < s_.size(); ++k) s[k] += math::log(p[k]), p[k] = 1.0;
        factors_ = 0;
    }

    std::vector<double> s_, product_;
    int factors_ = 0;
};

/// A sweep over the rows of a chain. `weight` [rows] says how often a row counts in the sums; it may be empty.
class RowSampler {
  public:
    RowSampler(const Csr<float>& X, std::span<const double> weight, const RowPrior& prior, const RowChain& chain)
        : X_(X),
          weight_(weight),
          prior_(prior),
          chain_(chain),
          K_(chain.N.size()),
          table_(chain.S.data.size()),
          scale_(prior.eta.size()),
          log_scale_(prior.eta.size()),
          words_(K_),
          tokens_(K_),
          own_(1),
          s_(K_),
          sums_(K_) {
        for (size_t v = 0; v < scale_.size(); ++v) {
            double *S = chain_.S[v].data(), eta = prior.eta[v], sum = 0;
            for (size_t k = 0; k < K_; ++k) sum += S[k] = std::max(S[k], 0.0);
            const double scale = scale_[v] = 1 / (sum / double(K_) + eta);
            log_scale_[v] = std::log(scale);
            float* out = &table_[v * K_];
#pragma omp simd
            for (size_t k = 0; k < K_; ++k) out[k] = float(math::log((S[k] + eta) * scale));
        }
    }

    void sweep(double power, uint64_t seed, uint32_t number) {
        for (size_t n = 0; n < X_.rows(); ++n) {
            const size_t was = size_t(chain_.z[n]);
            const double w = weight_.empty() ? 1.0 : weight_[n];
            double length = 0;
            for (int64_t i = X_.indptr[n]; i < X_.indptr[n + 1]; ++i) length += double(X_.value[i]);
            add(chain_.N[was], -w), add(chain_.total[was], -w * length);
            score(n, was, w, length);
            const size_t now = draw(power, Rng(seed, number, n).uniform());
            add(chain_.N[now], w), add(chain_.total[now], w * length);
            chain_.z[n] = int32_t(now);
            if (now != was) move(n, was, now, w);
        }
    }

  private:
    static constexpr int64_t kAhead = 8;  // entries: words lie anywhere in memory

    static void add(double& sum, double x) { sum = std::max(sum + x, 0.0); }  // rounding may leave less than nothing

    /// log p(z_n = k | rest) up to a constant, in s_. Sums of words still hold the row.
    void score(size_t n, size_t was, double w, double length) {
        float* sums = sums_.data();
        std::ranges::fill(sums_, 0.0f);
        words_.begin(), tokens_.begin(), own_.begin();
        double own_scale = 0;
        for (int64_t i = X_.indptr[n]; i < X_.indptr[n + 1]; ++i) {
            const size_t v = size_t(X_.index[i]);
            const double x = double(X_.value[i]), eta = prior_.eta[v], *S = &chain_.S.data[v * K_];
            const float* row = &table_[v * K_];
            if (i + kAhead < X_.indptr[n + 1]) {
                const size_t next = size_t(X_.index[i + kAhead]);
                __builtin_prefetch(&chain_.S.data[next * K_ + was]), __builtin_prefetch(&prior_.eta[next]);
                __builtin_prefetch(&log_scale_[next]);
                for (size_t k = 0; k < K_; k += 16) __builtin_prefetch(&table_[next * K_ + k]);
            }
            if (x == std::floor(x)) {
#pragma omp simd
                for (size_t k = 0; k < K_; ++k) sums[k] += row[k];
                if (x > 1) words_.add(x, [=](size_t k) { return S[k] + eta; }, 1);
                own_scale += log_scale_[v];
            } else {
                words_.add(x, [=](size_t k) { return S[k] + eta; });
            }
            own_.add(x, [=](size_t) { return std::max(S[was] - w * x, 0.0) + eta; });
        }
        const double *total = chain_.total.data(), eta = prior_.eta_total;
        tokens_.add(length, [=](size_t k) { return total[k] + eta; });
        const double *words = words_.sums().data(), *tokens = tokens_.sums().data(), *N = chain_.N.data();
        double *s = s_.data(), a = prior_.weight;
#pragma omp simd
        for (size_t k = 0; k < K_; ++k) s[k] = math::log(N[k] + a) + double(sums[k]) + words[k] - tokens[k];
        s[was] = math::log(N[was] + a) + own_.sums()[0] + own_scale - tokens[was];
    }

    /// Which of the weights exp(power (s - max s)) holds the point u of their sum; the best where power is infinite.
    size_t draw(double power, double u) {
        const size_t best = size_t(std::ranges::max_element(s_) - s_.begin());
        if (std::isinf(power)) return best;
        const double top = s_[best];
        double sum = 0, *s = s_.data();
#pragma omp simd
        for (size_t k = 0; k < K_; ++k) s[k] = math::exp(power * (s[k] - top));
        for (size_t k = 0; k < K_; ++k) sum += s[k];
        double x = u * sum;
        size_t k = 0;
        while (k + 1 < K_ && x >= s[k]) x -= s[k++];
        return k;
    }

    void move(size_t n, size_t from, size_t to, double w) {
        for (int64_t i = X_.indptr[n]; i < X_.indptr[n + 1]; ++i) {
            const size_t v = size_t(X_.index[i]);
            const double x = w * double(X_.value[i]);
            double* S = &chain_.S.data[v * K_];
            add(S[from], -x), add(S[to], x);
            for (const size_t k : {from, to}) table_[v * K_ + k] = float(math::log((S[k] + prior_.eta[v]) * scale_[v]));
        }
    }

    const Csr<float> X_;
    const std::span<const double> weight_;
    const RowPrior prior_;
    const RowChain chain_;
    const size_t K_;
    std::vector<float> table_;               // [words, K] log of (S + eta) scale
    std::vector<double> scale_, log_scale_;  // [words] one over the mean of S + eta, so that the table is near zero
    LogRising words_, tokens_, own_;
    std::vector<double> s_;    // [K] log p, then weights
    std::vector<float> sums_;  // [K] of the table
};

}  // namespace topmix
