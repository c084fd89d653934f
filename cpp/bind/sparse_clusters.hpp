// Checks of what asynchronous clusters of sparse rows are made from.
#pragma once
#include <utility>

#include "asynchronous/categorical_clusters.hpp"
#include "asynchronous/sparse_gaussian.hpp"
#include "bind/arrays.hpp"
#include "bind/normal_wishart.hpp"

namespace topmix {

using CountRows = asynchronous::SparseRows<asynchronous::CategoricalClusters>;
using SparseGaussianRows = asynchronous::SparseRows<asynchronous::SparseGaussian>;

/// `rows` is the sum of the weights of all rows, on whatever machine they are.
inline asynchronous::CategoricalClusters categorical_clusters(bool bayes, const Vec<const double>& eta,
                                                              double weight_prior, size_t K, double rows) {
    bool positive = weight_prior > 0;
    for (const double x : view(eta)) positive = positive && x > 0;
    require(positive, "eta and the weights' prior must be positive");
    return {bayes, {eta.data(), eta.data() + eta.size()}, weight_prior, double(K) * weight_prior + rows};
}

/// Rows in the frame are (x - origin) scale; `zero` is where the row of zeros is.
inline asynchronous::SparseGaussian sparse_gaussian(asynchronous::NormalWishart&& prior, const Vec<const double>& scale,
                                                    const Vec<const double>& zero) {
    require(scale.size() == prior.D() && zero.size() == prior.D(), "scale and zero must have a number for each column");
    return {std::move(prior), {scale.data(), scale.data() + scale.size()}, {zero.data(), zero.data() + zero.size()}};
}

}  // namespace topmix
