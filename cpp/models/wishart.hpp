// Posteriors of the precisions of Gaussian clusters, one matrix after another.  docs/math.md Eq. (G.6).
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "base/blas.hpp"
#include "base/parallel.hpp"
#include "base/views.hpp"

namespace topmix {

/// What the matrices are made of: B_k = base + S_k + N_k reg - beta_k m_k m_k'.
struct Scatter {
    Rows<const double> second;     // [K, D (D + 1) / 2] upper triangles S_k
    std::span<const double> N;     // [K]
    std::span<const double> base;  // [D, D] symmetric
    std::span<const double> reg;   // [D, D] symmetric
    std::span<const double> beta;  // [K]
    Rows<const double> m;          // [K, D]
};

/// B_k and its inverse, [D, D] each, and log |B_k|: NaN where B_k is not positive definite, and then there is no
/// inverse. A matrix stays in a core's cache from its moments to its inverse.
inline void update_precisions(const Scatter& x, int threads, std::span<double> B, std::span<double> inverse,
                              std::span<double> log_det) {
    const size_t K = x.N.size(), D = x.m.cols;
    parallel_for(K, 4, threads, [&](size_t begin, size_t end, size_t) {
        for (size_t k = begin; k < end; ++k) {
            double *b = &B[k * D * D], *inv = &inverse[k * D * D];
            const double* S = x.second[k].data();
            const double* m = x.m[k].data();
            for (size_t i = 0; i < D; ++i) {
                const double pull = x.beta[k] * m[i];
                for (size_t j = i; j < D; ++j)
                    b[i * D + j] = x.base[i * D + j] + *S++ + x.N[k] * x.reg[i * D + j] - pull * m[j];
                for (size_t j = 0; j < i; ++j) b[i * D + j] = b[j * D + i];
            }
            std::copy(b, b + D * D, inv);
            if (!blas::invert(D, inv, log_det[k])) {
                log_det[k] = std::numeric_limits<double>::quiet_NaN();
                continue;
            }
            for (size_t i = 0; i < D; ++i)
                for (size_t j = 0; j < i; ++j) inv[i * D + j] = inv[j * D + i];
        }
    });
}

}  // namespace topmix
