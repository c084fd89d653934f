// Dense rows under Gaussian clusters: scores are products of matrices, and sums are moments.  docs/math.md, section G.
#pragma once
#include <algorithm>
#include <utility>

#include "asynchronous/cluster_rows.hpp"
#include "asynchronous/normal_wishart.hpp"
#include "steps/gaussian.hpp"

namespace topmix::asynchronous {

class GaussianRows final : public ClusterRows {
  public:
    /// The rows in the frame, z [rows, D].
    GaussianRows(NormalWishart prior, std::vector<double> z)
        : ClusterRows(prior.bayes, prior.weight, {1 + prior.D() + prior.Q(), prior.features.size(), prior.D()}),
          prior_(std::move(prior)),
          D_(prior_.D()),
          z_(std::move(z)) {}

    size_t rows() const override { return z_.size() / D_; }
    size_t bytes() const override { return z_.size() * sizeof(double); }

    Scratch scratch() const override {
        Scratch out = ClusterRows::scratch();
        out.moments.emplace(prior_.features.kind, D_);
        return out;
    }

    void refresh(size_t k, double weights, Cluster& c) const override {
        asynchronous::refresh(prior_, k, c);
        c.constant += log_weight(c.sum[0], weights);
    }

    void lay_out(std::span<const Cluster> clusters, const HeldClusters& held, std::span<const char> which, int,
                 Table& table) const override {
        const size_t F = sizes().W;
        table.W.resize(held.size() * F);
        table.constant.resize(held.size());
        for (size_t h = 0; h < held.size(); ++h) {
            if (!which[h]) continue;
            const Cluster& c = clusters[held[h]];
            std::ranges::copy(c.W, table.W.begin() + std::ptrdiff_t(h * F));
            table.constant[h] = c.constant;
        }
    }

    void score(std::span<const size_t> rows, const Table& table, Scratch& scratch) const override {
        scratch.x.resize(rows.size() * D_);
        for (size_t i = 0; i < rows.size(); ++i) std::copy_n(row(rows[i]), D_, &scratch.x[i * D_]);
        const Scorer<double> score{prior_.features, table.W, table.constant};
        score({scratch.x, D_}, 0, rows.size(), scratch.f, scratch.s);
    }

    void sum(const Cluster& c, std::span<const RowWeight> rows, Scratch& scratch) const override {
        scratch.moments->begin(c.centre.data());
        for (const auto& [n, weight] : rows) scratch.moments->add(row(n), weight);
        std::ranges::fill(scratch.sum, 0.0);
        scratch.moments->add_to(scratch.sum[0], &scratch.sum[1], scratch.sum.data() + 1 + D_);
    }

  private:
    const double* row(size_t n) const { return &z_[n * D_]; }

    NormalWishart prior_;
    size_t D_;
    std::vector<double> z_;  // [rows, D] in the frame
};

}  // namespace topmix::asynchronous
