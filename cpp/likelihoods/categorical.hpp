// Bags of words: row n is drawn word by word from phi_k, phi_k ~ Dir(eta).  docs/math.md, section 2.
#pragma once
#include <algorithm>
#include <span>

#include "base/parallel.hpp"
#include "base/views.hpp"

namespace topmix {

/// Scores rows of a shard, Eq. (2.2). The table is E[log phi] less each word's largest entry, so that long rows add
/// small numbers and float32 is enough; what was taken off is the same for every cluster and comes back through
/// `offset`.
struct Categorical {
    std::span<const float> Elogphi;  // [words, K] word-major: one word reads K contiguous floats
    std::span<const double> offset;  // [words] largest E[log phi_k] of the word
    size_t K;

    /// s_k += sum_v x_nv (E[log phi_kv] - offset_v);  returns sum_v x_nv offset_v
    double score(const Csr<float>& X, size_t n, std::span<float> s) const {
        double taken_off = 0;
        for (int64_t i = X.indptr[n]; i < X.indptr[n + 1]; ++i) {
            const float x = X.value[i], *logphi = &Elogphi[size_t(X.index[i]) * K];
            taken_off += double(x) * offset[X.index[i]];
#pragma omp simd
            for (size_t k = 0; k < K; ++k) s[k] += x * logphi[k];
        }
        return taken_off;
    }
};

}  // namespace topmix
