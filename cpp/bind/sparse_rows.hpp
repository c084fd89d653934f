// Sparse rows for asynchronous learning, and which worker has which of them.
#pragma once
#include "bind/arrays.hpp"

namespace topmix {

/// Rows as they are given; whoever takes them looks at them.
template <class T>
struct SparseRowArrays {
    Vec<const int64_t> indptr;
    Vec<const int32_t> index;
    Vec<const T> value;

    Csr<T> checked(size_t columns) const { return csr(indptr, index, value, columns); }
};

/// Of counts.
inline Csr<float> checked_counts(const SparseRowArrays<float>& rows, size_t n_words) {
    const Csr<float> X = rows.checked(n_words);
    require(are_counts(X.value), "counts must be finite and not negative");
    return X;
}

constexpr size_t kMostWorkers = 1024;  // each is a thread

/// Rows bounds[w] to bounds[w + 1] of n are worker w's.
inline void check_bounds(std::span<const int64_t> bounds, size_t n) {
    require(bounds.size() >= 2 && rises(bounds, n), "bounds must rise from 0 to the number of rows");
    require(bounds.size() - 1 <= kMostWorkers, "there are at most 1024 workers");
}

}  // namespace topmix
