// Gaussian clusters: a score is linear in features of the row.  docs/math.md Eq. (G.4).
//
//     s_k = c_k + sum_f f(z) W_fk       with f(z) = (products z_i z_j, i <= j | squares z_i^2 | ||z||^2 | nothing, z)
//
// so that the scores of a block of rows are one matrix product, whatever the shape of the covariances.
#pragma once
#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/views.hpp"

namespace topmix {

enum class Quadratic { none, norm, squares, products };

/// The number of quadratic features of a row.
constexpr size_t quadratic_size(Quadratic kind, size_t D) {
    switch (kind) {
        case Quadratic::none:
            return 0;
        case Quadratic::norm:
            return 1;
        case Quadratic::squares:
            return D;
        case Quadratic::products:
            return D * (D + 1) / 2;
    }
    return 0;
}

struct Features {
    Quadratic kind;
    bool linear;  // whether z itself follows; not where all means are zero
    size_t D;

    size_t size() const { return quadratic_size(kind, D) + (linear ? D : 0); }

    /// Where parts begin, and the end. A part is what one call of `write` makes: D of the products that share z_i, or
    /// less.
    std::vector<size_t> parts() const {
        std::vector<size_t> at{0};
        if (kind == Quadratic::products)
            for (size_t i = 0; i < D; ++i) at.push_back(at.back() + D - i);
        else if (kind != Quadratic::none)
            at.push_back(quadratic_size(kind, D));
        if (linear) at.push_back(at.back() + D);
        return at;
    }

    template <class T>
    void write(const T* z, size_t part, T* f) const {
        const bool last = linear && part == (kind == Quadratic::products ? D : kind == Quadratic::none ? 0 : 1);
        if (last) {
            std::copy(z, z + D, f);
        } else if (kind == Quadratic::products) {
            const T x = z[part];
#pragma omp simd
            for (size_t j = part; j < D; ++j) f[j - part] = x * z[j];
        } else if (kind == Quadratic::squares) {
#pragma omp simd
            for (size_t j = 0; j < D; ++j) f[j] = z[j] * z[j];
        } else {
            double sum = 0;
            for (size_t j = 0; j < D; ++j) sum += double(z[j]) * double(z[j]);
            f[0] = T(sum);
        }
    }
};

}  // namespace topmix
