// Rows with few entries, under clusters whose scores are sums over these entries.  docs/math.md, section G.1.
//
//     s_nk = c_k + sum_{v in row n} sum_j f_j(v, x_nv) W_kvj
//
// Entries that are zero cost nothing.
#pragma once
#include <algorithm>
#include <cmath>
#include <utility>

#include "asynchronous/cluster_rows.hpp"
#include "asynchronous/normal_wishart.hpp"
#include "base/parallel.hpp"
#include "base/views.hpp"

namespace topmix::asynchronous {

class SparseRows : public ClusterRows {
  public:
    size_t rows() const override { return indptr_.size() - 1; }
    size_t bytes() const override {
        return indptr_.size() * sizeof(int64_t) + index_.size() * sizeof(int32_t) + f_.size() * sizeof(double);
    }

    /// Word by word: an entry then reads consecutive numbers of the clusters held.
    void lay_out(std::span<const Cluster> clusters, const HeldClusters& held, std::span<const char> which, int threads,
                 Table& table) const override {
        const size_t H = held.size(), F = sizes().W;
        table.W.resize(F * H);
        table.constant.resize(H);
        for (size_t h = 0; h < H; ++h) table.constant[h] = clusters[held[h]].constant;
        parallel_for(F, 256, threads, [&](size_t begin, size_t end, size_t) {
            for (size_t h = 0; h < H; ++h) {
                if (!which[h]) continue;
                const double* const W = clusters[held[h]].W.data();
                for (size_t f = begin; f < end; ++f) table.W[f * H + h] = W[f];
            }
        });
    }

    void score(std::span<const size_t> rows, const Table& table, Scratch& scratch) const override {
        const size_t H = table.constant.size();
        scratch.s.resize(rows.size() * H);
        for (size_t i = 0; i < rows.size(); ++i) {
            double* const s = &scratch.s[i * H];
            std::ranges::copy(table.constant, s);
            each_feature(rows[i], [&](size_t at, double f) {
                const double* const w = &table.W[at * H];
#pragma omp simd
                for (size_t h = 0; h < H; ++h) s[h] += f * w[h];
            });
        }
    }

    void sum(const Cluster&, std::span<const RowWeight> rows, Scratch& scratch) const override {
        std::ranges::fill(scratch.sum, 0.0);
        double *const N = scratch.sum.data(), *const S = N + 1;
        for (const auto& [n, weight] : rows) {
            *N += weight;
            each_feature(n, [S, w = weight](size_t at, double f) { S[at] += w * f; });
        }
    }

  protected:
    /// `features` of each entry. Those of an entry are made by write(column, value, to).
    template <class T, class Write>
    SparseRows(bool bayes, double weight_prior, size_t columns, size_t features, const Csr<T>& X, Write write)
        : ClusterRows(bayes, weight_prior, {1 + features * columns, features * columns, 0}),
          features_(features),
          indptr_(X.indptr.begin(), X.indptr.end()),
          index_(X.index.begin(), X.index.end()),
          f_(X.index.size() * features) {
        for (size_t i = 0; i < index_.size(); ++i) write(size_t(index_[i]), double(X.value[i]), &f_[i * features]);
    }

  private:
    template <class Fn>
    void each_feature(size_t n, Fn fn) const {
        for (size_t i = size_t(indptr_[n]); i < size_t(indptr_[n + 1]); ++i)
            for (size_t j = 0; j < features_; ++j) fn(size_t(index_[i]) * features_ + j, f_[i * features_ + j]);
    }

    size_t features_;
    std::vector<int64_t> indptr_;
    std::vector<int32_t> index_;
    std::vector<double> f_;  // [entries, features]
};

/// Bags of words, phi_k ~ Dir(eta): W_kv = E[log phi_kv] = psi(eta_v + S_kv) - psi(sum_v eta_v + S_kv), Eqs. (2.2),
/// (2.3). The feature is the count itself.
class CategoricalRows final : public SparseRows {
  public:
    CategoricalRows(bool bayes, std::vector<double> eta, double weight_prior, const Csr<float>& X)
        : SparseRows(bayes, weight_prior, eta.size(), 1, X, [](size_t, double x, double* f) { *f = x; }),
          eta_(std::move(eta)) {}

    void refresh(size_t, double weights, Cluster& c) const override {
        const double* const S = &c.sum[1];
        double total = 0;
        for (size_t v = 0; v < eta_.size(); ++v) total += c.W[v] = eta_[v] + std::max(S[v], 0.0);
        const double norm = expected_log(total);
        if (bayes_)
#pragma omp simd
            for (size_t v = 0; v < eta_.size(); ++v) c.W[v] = math::digamma(c.W[v]) - norm;
        else
#pragma omp simd
            for (size_t v = 0; v < eta_.size(); ++v) c.W[v] = math::log(c.W[v]) - norm;
        c.constant = log_weight(c.sum[0], weights);
    }

  private:
    std::vector<double> eta_;  // [columns]
};

/// Gaussian clusters with variances of each column. In the frame, z = (x - o) s, an entry of zero is z0 = -o s, and a
/// row differs from the row of zeros in few entries. So
///
///     W1' z + W2' z^2 = W1' z0 + W2' z0^2 + sum_{d: x_d != 0} W1_d b_d + W2_d a_d,    b = z - z0,   a = z^2 - z0^2
///
/// and the moments of a cluster are N z0 + sum r b and N z0^2 + sum r a.
class SparseGaussianRows final : public SparseRows {
  public:
    /// `scale` [D] is s, and `zero` [D] is z0.
    SparseGaussianRows(NormalWishart prior, std::span<const double> scale, std::vector<double> zero,
                       const Csr<double>& X)
        : SparseRows(prior.bayes, prior.weight, prior.D(), 2, X,
                     [&](size_t d, double x, double* f) {
                         const double b = x * scale[d];
                         f[0] = b, f[1] = b * (b + 2 * zero[d]);
                     }),
          prior_(std::move(prior)),
          zero_(std::move(zero)) {}

    void refresh(size_t k, double weights, Cluster& c) const override {
        const size_t D = zero_.size();
        const double N = c.sum[0];
        Cluster dense{std::vector<double>(1 + 2 * D), std::vector<double>(prior_.features.size()), 0.0,
                      std::vector<double>(D)};
        dense.sum[0] = N;
        for (size_t d = 0; d < D; ++d) {
            dense.sum[1 + d] = N * zero_[d] + c.sum[1 + 2 * d];
            dense.sum[1 + D + d] = N * zero_[d] * zero_[d] + c.sum[2 + 2 * d];
        }
        asynchronous::refresh(prior_, k, dense);
        c.constant = dense.constant + log_weight(N, weights);
        for (size_t d = 0; d < D; ++d) {
            const double linear = prior_.features.linear ? dense.W[D + d] : 0.0;
            c.W[2 * d] = linear;
            c.W[2 * d + 1] = dense.W[d];
            c.constant += zero_[d] * (linear + zero_[d] * dense.W[d]);
        }
    }

  private:
    NormalWishart prior_;
    std::vector<double> zero_;
};

}  // namespace topmix::asynchronous
