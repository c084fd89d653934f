// Checks of what asynchronous Gaussian clusters are made from.
#pragma once
#include <array>
#include <string>

#include "asynchronous/normal_wishart.hpp"
#include "bind/arrays.hpp"
#include "bind/quadratic.hpp"

namespace topmix {

/// Without clusters: `of` says how many there are.
struct NormalWishartPrior {
    asynchronous::NormalWishart prior;

    NormalWishartPrior(const std::string& kind, bool linear, bool bayes, double beta, const Vec<const double>& m,
                       double nu, const Vec<const double>& B, const Vec<const double>& reg, double weight_prior) {
        const size_t D = m.size();
        const Quadratic q = quadratic(kind);
        require(q != Quadratic::none, "tied clusters cannot be learned asynchronously: they share their covariance");
        require(D >= 1, "rows need a column");
        require(B.size() == quadratic_size(q, D) && reg.size() == B.size(), "B and reg must be packed second moments");
        require(are_positive<double>(std::array{beta, nu, weight_prior}),
                "beta, nu and the weights' prior must be positive");
        require(are_finite(view(m)) && are_finite(view(B)) && are_finite(view(reg)), "m, B and reg must be finite");
        prior = {{q, linear, D},
                 bayes,
                 beta,
                 {m.data(), m.data() + D},
                 nu,
                 {B.data(), B.data() + B.size()},
                 {reg.data(), reg.data() + reg.size()},
                 weight_prior,
                 0.0};
    }

    /// Of K clusters; `rows` is the sum of the weights of all rows, on whatever machine they are.
    asynchronous::NormalWishart of(size_t K, double rows) const {
        asynchronous::NormalWishart out = prior;
        out.weights = double(K) * prior.weight + rows;
        return out;
    }
};

}  // namespace topmix
