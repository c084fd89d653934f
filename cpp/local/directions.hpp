// Local step of mixtures of directions in one visit to the rows: scores, the L best clusters, and sums of rows by
// cluster, while a block of rows is in a core's cache.  docs/math.md, section V.
//
// For few clusters: each chunk of rows has sums of its own, [K, D]. Where these are large, rows are regrouped by
// cluster instead (moments.hpp).
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/blas.hpp"
#include "base/parallel.hpp"
#include "base/views.hpp"
#include "simd/top_l.hpp"

namespace topmix {

constexpr size_t kDirectionRows = 128;              // whose scores are made together
constexpr size_t kDirectionSums = size_t(1) << 19;  // numbers that the sums of all chunks may hold, about

/// Rows of a table, in the order of `rows`, or all of them in their own order.
template <class T>
struct SelectedRows {
    Rows<const T> x;
    std::span<const int64_t> rows;  // may be empty

    size_t size() const { return rows.empty() ? x.rows() : rows.size(); }

    /// Rows begin to end, one after the other: in place, or copied to `to`.
    const T* block(size_t begin, size_t end, std::vector<T>& to) const {
        if (rows.empty()) return x[begin].data();
        to.resize((end - begin) * x.cols);
        for (size_t n = begin; n < end; ++n)
            std::ranges::copy(x[size_t(rows[n])], to.begin() + ptrdiff_t((n - begin) * x.cols));
        return to.data();
    }
};

template <class T>
struct DirectionTask {
    SelectedRows<T> x;
    std::span<const T> W;            // [K, D]
    std::span<const T> constant;     // [K]
    std::span<const double> weight;  // [rows], may be empty
    size_t L;
    T least;  // a share below this counts as none
};

struct DirectionSums {
    std::span<double> N;          // [K] sum w r
    std::span<double> resultant;  // [K, D] sum w r x
};

/// Rows per chunk. It depends on the data and K alone, so that the bits do not depend on threads.
inline size_t direction_chunk(size_t n, size_t K, size_t D) {
    const size_t most = std::clamp<size_t>(kDirectionSums / std::max<size_t>(K * D, 1), 8, 64);
    const size_t chunk = std::max<size_t>((n + most - 1) / most, 1);
    return (chunk + kDirectionRows - 1) / kDirectionRows * kDirectionRows;
}

/// Adds to `out`; returns the summed entropy of the rows' shares.
template <class T>
double direction_step(const DirectionTask<T>& task, int threads, const DirectionSums& out) {
    const size_t n = task.x.size(), D = task.x.x.cols, K = task.constant.size(), L = task.L;
    const size_t chunk = direction_chunk(n, K, D), chunks = (n + chunk - 1) / chunk, size = K * D + K + 1;
    std::vector<double> sums(chunks * size);  // of each chunk: resultant, N, entropy
    struct Scratch {
        std::vector<T> x, s, r;
        std::vector<int32_t> cluster;
    };
    std::vector<Scratch> scratch(size_t(std::max(threads, 1)));
    parallel_for(n, chunk, threads, [&](size_t from, size_t to, size_t t) {
        auto& [copy, s, r, cluster] = scratch[t];
        s.resize(kDirectionRows * K);
        r.resize(L);
        cluster.resize(L);
        double* R = &sums[from / chunk * size];
        double *N = R + K * D, H = 0;
        for (size_t begin = from; begin < to; begin += kDirectionRows) {
            const size_t rows = std::min(to - begin, kDirectionRows);
            const T* x = task.x.block(begin, begin + rows, copy);
            for (size_t i = 0; i < rows; ++i) std::ranges::copy(task.constant, s.begin() + ptrdiff_t(i * K));
            blas::add_product_transposed(rows, D, K, x, task.W.data(), D, s.data());
            for (size_t i = 0; i < rows; ++i) {
                const double h = softmax_top_l(std::span<const T>(&s[i * K], K), L, cluster.data(), r.data());
                const double w = task.weight.empty() ? 1.0 : task.weight[begin + i];
                H += w * h;
                for (size_t l = 0; l < L; ++l) {
                    if (r[l] < task.least) continue;
                    const double share = w * double(r[l]);
                    const size_t k = size_t(cluster[l]);
                    double* to_k = R + k * D;
                    const T* row = x + i * D;
                    N[k] += share;
#pragma omp simd
                    for (size_t d = 0; d < D; ++d) to_k[d] += share * double(row[d]);
                }
            }
        }
        N[K] = H;
    });
    parallel_for(K * D, size_t(1) << 12, threads, [&](size_t begin, size_t end, size_t) {
        for (size_t c = 0; c < chunks; ++c) {
            const double* R = &sums[c * size];
#pragma omp simd
            for (size_t i = begin; i < end; ++i) out.resultant[i] += R[i];
        }
    });
    double H = 0;
    for (size_t c = 0; c < chunks; ++c) {
        const double* N = &sums[c * size + K * D];
        for (size_t k = 0; k < K; ++k) out.N[k] += N[k];
        H += N[K];
    }
    return H;
}

}  // namespace topmix
