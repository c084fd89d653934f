// Gaussian clusters with variances of each column, for rows that are mostly zero.  docs/math.md, section G.1.
//
// In the frame, z = (x - o) s, an entry of zero is z0 = -o s, and a row differs from the row of zeros in few entries.
// So
//
//     W1' z + W2' z^2 = W1' z0 + W2' z0^2 + sum_{d: x_d != 0} W1_d b_d + W2_d a_d,    b = z - z0,   a = z^2 - z0^2
//
// and the moments of a cluster are N z0 + sum r b and N z0^2 + sum r a.
#pragma once
#include <array>
#include <stdexcept>
#include <utility>
#include <vector>

#include "asynchronous/normal_wishart.hpp"
#include "asynchronous/sparse_rows.hpp"

namespace topmix::asynchronous {

struct SparseGaussian {
    using Value = double;
    struct UpdateScratch {
        Cluster<double> dense{};
        asynchronous::UpdateScratch update{};
    };
    static constexpr size_t kFeatures = 2;  // b and a

    NormalWishart normal;
    std::vector<double> scale, zero;  // [D] s and z0

    SparseGaussian(NormalWishart prior, std::vector<double> s, std::vector<double> z0)
        : normal(std::move(prior)), scale(std::move(s)), zero(std::move(z0)) {
        if (normal.features.kind != Quadratic::squares)
            throw std::invalid_argument("sparse rows need variances of each column");
    }

    size_t columns() const { return scale.size(); }

    std::array<double, 2> features(size_t d, double x) const {
        const double b = x * scale[d];
        return {b, b * (b + 2 * zero[d])};
    }

    void refresh(size_t k, SparseCluster& c, UpdateScratch& scratch) const {
        const size_t D = columns();
        Cluster<double>& dense = scratch.dense;
        const double N = c.sum[0];
        dense.sum.resize(1 + 2 * D);
        dense.W.resize(normal.features.size());
        dense.centre.resize(D);
        dense.sum[0] = N;
        for (size_t d = 0; d < D; ++d) {
            dense.sum[1 + d] = N * zero[d] + c.sum[1 + 2 * d];
            dense.sum[1 + D + d] = N * zero[d] * zero[d] + c.sum[2 + 2 * d];
        }
        asynchronous::refresh(normal, k, dense, scratch.update);
        c.constant = dense.constant;
        for (size_t d = 0; d < D; ++d) {
            const double linear = normal.features.linear ? dense.W[D + d] : 0.0;
            c.W[2 * d] = linear;
            c.W[2 * d + 1] = dense.W[d];
            c.constant += zero[d] * (linear + zero[d] * dense.W[d]);
        }
    }
};

}  // namespace topmix::asynchronous
