// Checks of what asynchronous clusters of sparse rows are made from.
#pragma once
#include <utility>
#include <vector>

#include "asynchronous/categorical_clusters.hpp"
#include "asynchronous/sparse_gaussian.hpp"
#include "bind/arrays.hpp"
#include "bind/normal_wishart.hpp"

namespace topmix {

using CountRows = asynchronous::SparseRows<asynchronous::CategoricalClusters>;
using SparseGaussianRows = asynchronous::SparseRows<asynchronous::SparseGaussian>;

/// Without clusters: `of` says how many there are.
struct CategoricalPrior {
    bool bayes;
    std::vector<double> eta;  // [columns]
    double weight;

    CategoricalPrior(bool bayes_, const Vec<const double>& eta_, double weight_prior)
        : bayes(bayes_), eta(view(eta_).begin(), view(eta_).end()), weight(weight_prior) {
        require(!eta.empty() && are_positive<double>(eta) && are_positive<double>({&weight, 1}),
                "eta and the weights' prior must be positive");
    }

    size_t columns() const { return eta.size(); }

    /// Of K clusters; `rows` is the sum of the weights of all rows, on whatever machine they are.
    asynchronous::CategoricalClusters of(size_t K, double rows) const {
        return {bayes, eta, weight, double(K) * weight + rows};
    }
};

/// Rows in the frame are (x - origin) scale; `zero` is where the row of zeros is.
struct SparseGaussianPrior {
    asynchronous::SparseGaussian prior;

    SparseGaussianPrior(const NormalWishartPrior& clusters, const Vec<const double>& scale,
                        const Vec<const double>& zero)
        : prior{clusters.prior, {view(scale).begin(), view(scale).end()}, {view(zero).begin(), view(zero).end()}} {
        require(scale.size() == columns() && zero.size() == columns(),
                "scale and zero must have a number for each column");
        require(are_finite(view(scale)) && are_finite(view(zero)), "scale and zero must be finite");
    }

    size_t columns() const { return prior.normal.D(); }

    asynchronous::SparseGaussian of(size_t K, double rows) const {
        asynchronous::SparseGaussian out = prior;
        out.normal.weights = double(K) * prior.normal.weight + rows;
        return out;
    }
};

}  // namespace topmix
