// Checks of what asynchronous Gaussian clusters are made from.
#pragma once
#include <string>

#include "asynchronous/normal_wishart.hpp"
#include "bind/arrays.hpp"
#include "bind/quadratic.hpp"

namespace topmix {

/// `rows` is the sum of the weights of all rows, on whatever machine they are.
inline asynchronous::NormalWishart normal_wishart(const std::string& kind, bool linear, bool bayes, double beta,
                                                  const Vec<const double>& m, double nu, const Vec<const double>& B,
                                                  const Vec<const double>& reg, double weight_prior, size_t K,
                                                  double rows) {
    const size_t D = m.size();
    const Quadratic q = quadratic(kind);
    require(q != Quadratic::none, "tied clusters cannot be learned asynchronously: they share their covariance");
    require(B.size() == quadratic_size(q, D) && reg.size() == B.size(), "B and reg must be packed second moments");
    require(beta > 0 && nu > 0 && weight_prior > 0, "beta, nu and the weights' prior must be positive");
    return {{q, linear, D},
            bayes,
            beta,
            {m.data(), m.data() + D},
            nu,
            {B.data(), B.data() + B.size()},
            {reg.data(), reg.data() + reg.size()},
            weight_prior,
            double(K) * weight_prior + rows};
}

}  // namespace topmix
