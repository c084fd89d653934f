// One Gaussian cluster: its statistics, and the coefficients of its scores that are made from them.  docs/math.md
// Eqs. (0.1), (G.3)-(G.6).
//
// A cluster's scores need nothing of other clusters. Even E[log pi_k] needs only N_k and the number of all rows, which
// does not change. So the worker that holds a cluster can update it alone.
#pragma once
#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>
#include <string>
#include <vector>

#include "asynchronous/cluster_rows.hpp"
#include "base/blas.hpp"
#include "base/math.hpp"
#include "models/gaussian.hpp"

namespace topmix::asynchronous {

/// What all clusters share. Second moments are packed as `Features` says: upper triangles, diagonals or traces.
struct NormalWishart {
    Features features;
    bool bayes;  // expectations under a posterior, "vb"; else at the point that "map" and "ml" take
    double beta;
    std::vector<double> m;  // [D]
    double nu;
    std::vector<double> B, reg;  // [Q]
    double weight;               // Dirichlet prior of each cluster

    size_t D() const { return features.D; }
    size_t Q() const { return quadratic_size(features.kind, features.D); }
};

/// The conjugate update of cluster k, and its coefficients, without what its weight adds to the constant.
inline void refresh(const NormalWishart& p, size_t k, Cluster& c) {
    const size_t D = p.D();
    const Quadratic kind = p.features.kind;
    const bool matrix = kind == Quadratic::products, means = p.features.linear;
    const double *const first = &c.sum[1], *const second = c.sum.data() + 1 + D;
    const double N = std::max(c.sum[0], 0.0), beta = p.beta + N;
    const double nu = p.nu + (kind == Quadratic::norm ? double(D) * N : N);
    std::vector<double> m(D, 0.0), Pm(D, 0.0), B;
    if (means)
        for (size_t d = 0; d < D; ++d) m[d] = (p.beta * p.m[d] + first[d]) / beta;

    // What the packed numbers f of a cluster come to without the part of the means.
    auto scatter = [&](size_t f, double prior_mm, double mm) {
        return p.B[f] + second[f] + N * p.reg[f] + (means ? p.beta * prior_mm - beta * mm : 0.0);
    };
    double log_det = 0;
    bool positive = true;
    if (matrix) {
        B.resize(D * D);
        for (size_t i = 0, f = 0; i < D; ++i)
            for (size_t j = i; j < D; ++j, ++f) B[i * D + j] = scatter(f, p.m[i] * p.m[j], m[i] * m[j]);
        positive = blas::invert(D, B.data(), log_det);
    } else if (kind == Quadratic::squares) {
        B.resize(D);
        for (size_t d = 0; d < D; ++d) B[d] = scatter(d, p.m[d] * p.m[d], m[d] * m[d]);
    } else {
        double prior_mm = 0, mm = 0;
        for (size_t d = 0; d < D; ++d) prior_mm += p.m[d] * p.m[d], mm += m[d] * m[d];
        B.assign(1, scatter(0, prior_mm, mm));
    }
    if (!matrix)
        for (double& b : B) {
            positive = positive && b > 0 && std::isfinite(b);
            log_det += std::log(b);
            b = 1 / b;
        }
    if (!positive)
        throw std::domain_error(
            "the covariance of cluster " + std::to_string(k) +
            " is singular: too few different rows, or columns that are constant or depend on each other. Raise "
            "reg_covar, take fewer clusters, or use objective='vb', whose prior fills the gap.");

    // B is now its own inverse; nu times that is E[Lambda].
    for (size_t i = 0, f = 0; i < D; ++i) {
        if (matrix) {
            for (size_t j = i; j < D; ++j, ++f) {
                const double P = nu * B[i * D + j];
                c.W[f] = i == j ? -0.5 * P : -P;
                Pm[i] += P * m[j];
                if (i != j) Pm[j] += P * m[i];
            }
        } else {
            const double P = nu * B[kind == Quadratic::norm ? 0 : i];
            c.W[kind == Quadratic::norm ? 0 : i] = -0.5 * P;
            Pm[i] = P * m[i];
        }
    }
    double mPm = 0;
    for (size_t d = 0; d < D; ++d) {
        mPm += m[d] * Pm[d];
        c.centre[d] = m[d];
        if (means) c.W[p.Q() + d] = Pm[d];
    }
    const size_t size = matrix ? D : 1, copies = kind == Quadratic::squares ? D : 1;
    double Elog = 0;
    if (p.bayes)
        for (size_t i = 0; i < size; ++i) Elog += math::digamma(0.5 * (nu - double(i)));
    Elog = p.bayes ? double(copies) * (Elog + double(size) * std::numbers::ln2)
                   : double(copies) * double(size) * std::log(nu);
    Elog -= log_det;
    const double repeat = kind == Quadratic::norm ? double(D) : 1.0;
    const double uncertainty = p.bayes && means ? double(D) / beta : 0.0;
    c.constant = 0.5 * (repeat * Elog - uncertainty - mPm - double(D) * std::log(2 * std::numbers::pi));  // where z = 0
}

}  // namespace topmix::asynchronous
