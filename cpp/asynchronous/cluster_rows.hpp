// Rows of asynchronous mixtures, and what clusters are to them: the statistics that rows add to a cluster, and the
// scores that follow from these.  docs/math.md, section G.1.
//
// A cluster's scores need nothing of other clusters. Even E[log pi_k] needs only N_k and the number of all rows, which
// does not change. So the worker that holds a cluster can update it alone. Scores and sums are in double, shares of
// rows in float: products of shares with whole numbers, and their sums, are then exact.
#pragma once
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "asynchronous/cluster_blocks.hpp"
#include "base/math.hpp"
#include "steps/moments.hpp"

namespace topmix::asynchronous {

struct Cluster {
    std::vector<double> sum;     // N, then what its likelihood needs
    std::vector<double> W;       // coefficients of its scores
    double constant = 0;         // the score of a row without features
    std::vector<double> centre;  // [D] near its mean: what rows are summed about; nothing where that is zero
};

struct RowWeight {
    size_t row;
    double weight;
};

/// Lengths of what a cluster has.
struct ClusterSizes {
    size_t sum, W, centre;
};

class ClusterRows {
  public:
    /// The coefficients of the clusters that a worker holds, as `score` reads them.
    struct Table {
        std::vector<double> W, constant;
    };
    /// Memory of one thread.
    struct Scratch {
        std::vector<double> x, f, s, sum;  // rows and features at hand; scores [rows, held]; what rows add to a cluster
        std::optional<MomentSum<double>> moments{};
    };

    /// `bayes`: expectations under a posterior, "vb"; else at the point that "map" and "ml" take.
    ClusterRows(bool bayes, double weight_prior, ClusterSizes sizes)
        : bayes_(bayes), weight_prior_(weight_prior), sizes_(sizes) {}
    virtual ~ClusterRows() = default;

    virtual size_t rows() const = 0;
    virtual size_t bytes() const = 0;
    virtual Scratch scratch() const { return {{}, {}, {}, std::vector<double>(sizes_.sum)}; }

    /// Cluster k's coefficients from its sum. `weights` is the prior weight of all clusters, with all rows.
    virtual void refresh(size_t k, double weights, Cluster& c) const = 0;
    /// Puts the coefficients of the clusters held into the table, those of `which` [held].
    virtual void lay_out(std::span<const Cluster> clusters, const HeldClusters& held, std::span<const char> which,
                         int threads, Table& table) const = 0;
    /// The scores of some rows, into scratch.s.
    virtual void score(std::span<const size_t> rows, const Table& table, Scratch& scratch) const = 0;
    /// What some rows add to a cluster, into scratch.sum.
    virtual void sum(const Cluster& c, std::span<const RowWeight> rows, Scratch& scratch) const = 0;

    /// Numbers of a cluster that travels: its sum and its centre.
    size_t width() const { return sizes_.sum + sizes_.centre; }
    const ClusterSizes& sizes() const { return sizes_; }
    double weight_prior() const { return weight_prior_; }

    Cluster unpacked(const double* at) const {
        const double *const centre = at + sizes_.sum, *const end = at + width();
        return {{at, centre}, std::vector<double>(sizes_.W), 0.0, {centre, end}};
    }
    static void pack(const Cluster& c, std::vector<double>& out) {
        out.insert(out.end(), c.sum.begin(), c.sum.end());
        out.insert(out.end(), c.centre.begin(), c.centre.end());
    }

  protected:
    double expected_log(double x) const { return bayes_ ? math::digamma(x) : std::log(x); }
    double log_weight(double N, double weights) const {
        return expected_log(weight_prior_ + std::max(N, 0.0)) - expected_log(weights);
    }
    bool bayes_;

  private:
    double weight_prior_;
    ClusterSizes sizes_;
};

}  // namespace topmix::asynchronous
