// Local step of Gaussian mixtures: rows to their L best clusters, then moments cluster by cluster.  docs/math.md,
// section G.
//
// Three passes over a piece of the data that fits in cache or nearly so: rows into the frame where float32 is safe,
// scores by matrix products on blocks with the top L of each row taken while they are hot, and second moments by
// symmetric products on rows regrouped by cluster. Memory: a few blocks a thread; never rows x K.
#pragma once
#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "base/accumulate.hpp"
#include "base/blas.hpp"
#include "base/parallel.hpp"
#include "models/gaussian.hpp"
#include "steps/mixture.hpp"

namespace topmix {

constexpr size_t kBlockRows = 256;       // rows whose scores are made together
constexpr size_t kBlockFeatures = 2304;  // features at a time, so that a block of them stays in a core's cache

/// z = (x - origin) A, with A [D, D], or [D] for a scale. In double: data may lie far from zero, and a frame that evens
/// out long and short axes adds large numbers that cancel.
template <class T>
void to_frame(Rows<const T> x, std::span<const double> origin, std::span<const double> A, int threads, Rows<T> z) {
    const size_t D = x.cols;
    const bool rotate = A.size() == D * D && D > 1;
    parallel_for(x.rows(), kBlockRows, threads, [&](size_t begin, size_t end, size_t) {
        std::vector<double> y((end - begin) * D), turned(rotate ? y.size() : 0);
        for (size_t n = begin; n < end; ++n)
            for (size_t d = 0; d < D; ++d)
                y[(n - begin) * D + d] = (double(x[n][d]) - origin[d]) * (rotate ? 1.0 : A[d]);
        if (rotate) blas::add_product(end - begin, D, D, y.data(), A.data(), turned.data());
        std::ranges::copy(rotate ? turned : y, z[begin].data());
    });
}

/// Scores of rows begin to end, into s [end - begin, K].
template <class T>
struct Scorer {
    Features features;
    std::span<const T> W;                 // [K, features]
    std::span<const T> constant;          // [K], or [groups, K] where groups of rows have their own
    size_t K = constant.size();           // clusters
    std::span<const int32_t> group = {};  // [rows] the group of each; empty where there are none
    std::vector<size_t> parts = features.parts();

    void operator()(Rows<const T> z, size_t begin, size_t end, std::vector<T>& f, std::vector<T>& s) const {
        const size_t F = features.size(), rows = end - begin;
        s.resize(rows * K);
        for (size_t n = 0; n < rows; ++n) {
            const size_t g = group.empty() ? 0 : size_t(group[begin + n]);
            std::ranges::copy(constant.subspan(g * K, K), s.begin() + ptrdiff_t(n * K));
        }
        for (size_t first = 0; first + 1 < parts.size();) {
            size_t last = first + 1;
            while (last + 1 < parts.size() && parts[last + 1] - parts[first] <= kBlockFeatures) ++last;
            const size_t width = parts[last] - parts[first];
            f.resize(std::max(f.size(), rows * width));
            for (size_t n = 0; n < rows; ++n)
                for (size_t p = first; p < last; ++p)
                    features.write(z[begin + n].data(), p, &f[n * width + parts[p] - parts[first]]);
            blas::add_product_transposed(rows, width, K, f.data(), &W[parts[first]], F, s.data());
            first = last;
        }
    }
};

template <class T>
void assign_gaussian(Rows<const T> z, const Scorer<T>& score, size_t L, int threads, const Assigned<T>& out) {
    const size_t K = score.K;
    struct Scratch {
        std::vector<T> f, s;
    };
    std::vector<Scratch> scratch(size_t(std::max(threads, 1)));
    parallel_for(z.rows(), kBlockRows, threads, [&](size_t begin, size_t end, size_t t) {
        auto& [f, s] = scratch[t];
        score(z, begin, end, f, s);
        for (size_t n = begin; n < end; ++n) assign_row(std::span<const T>(&s[(n - begin) * K], K), L, n, 0.0, out);
    });
}

/// Rows to the L best of a few clusters: row n is scored by those near the cluster that it was in, near[was[n]], and by
/// no others. Rows that were in one cluster are scored together, so it stays a matrix product.
template <class T>
void assign_near(Rows<const T> z, std::span<const int32_t> was, Rows<const int32_t> near, Features features,
                 Rows<const T> W, std::span<const T> constant, size_t L, int threads, const Assigned<T>& out) {
    const size_t K = near.rows(), C = near.cols, F = features.size();
    const std::vector<size_t> parts = features.parts();
    const size_t rows = std::clamp<size_t>((size_t(1) << 19) / std::max<size_t>(F, 1), 16, kBlockRows);
    std::vector<int64_t> starts(K + 1);
    std::vector<int32_t> order(was.size());
    group_by(was, K, threads, std::span(starts), std::span(order));
    parallel_for(K, 1, threads, [&](size_t begin, size_t end, size_t) {
        std::vector<T> table(C * F), f(rows * F), s(rows * C);
        for (size_t k = begin; k < end; ++k) {
            if (starts[k] == starts[k + 1]) continue;
            const std::span<const int32_t> ids = near[k];
            for (size_t c = 0; c < C; ++c) std::ranges::copy(W[size_t(ids[c])], table.begin() + ptrdiff_t(c * F));
            for (int64_t at = starts[k]; at < starts[k + 1]; at += int64_t(rows)) {
                const size_t n = size_t(std::min<int64_t>(starts[k + 1] - at, int64_t(rows)));
                for (size_t i = 0; i < n; ++i) {
                    const T* x = z[size_t(order[size_t(at) + i])].data();
                    for (size_t p = 0; p + 1 < parts.size(); ++p) features.write(x, p, &f[i * F + parts[p]]);
                    for (size_t c = 0; c < C; ++c) s[i * C + c] = constant[size_t(ids[c])];
                }
                blas::add_product_transposed(n, F, C, f.data(), table.data(), F, s.data());
                for (size_t i = 0; i < n; ++i) {
                    const size_t row = size_t(order[size_t(at) + i]);
                    assign_row(std::span<const T>(&s[i * C], C), L, row, 0.0, out);
                    for (size_t l = 0; l < L; ++l)  // which of the few, then which of all
                        out.cluster[row * L + l] = ids[size_t(out.cluster[row * L + l])];
                }
            }
        }
    });
}

/// s[c] = x' w[c] for eight vectors of length D: as many sums as it takes to keep a core busy.
template <class T>
void dot_eight(const T* x, const T* const (&w)[8], size_t D, T (&s)[8]) {
    const T *p = w[0], *q = w[1], *r = w[2], *t = w[3], *u = w[4], *v = w[5], *y = w[6], *z = w[7];
    T a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0;
#pragma omp simd reduction(+ : a, b, c, d, e, f, g, h)
    for (size_t i = 0; i < D; ++i) {
        const T xi = x[i];
        a += xi * p[i];
        b += xi * q[i];
        c += xi * r[i];
        d += xi * t[i];
        e += xi * u[i];
        f += xi * v[i];
        g += xi * y[i];
        h += xi * z[i];
    }
    s[0] = a, s[1] = b, s[2] = c, s[3] = d, s[4] = e, s[5] = f, s[6] = g, s[7] = h;
}

/// Rows to the L best of a few clusters each, among[n], by the scores constant + z W'. Rows that were in one cluster
/// come one after the other, because they share most of their candidates, which are then in a core's cache.
template <class T>
void assign_among(Rows<const T> z, std::span<const int32_t> was, Rows<const int32_t> among, Rows<const T> W,
                  std::span<const T> constant, size_t L, int threads, const Assigned<T>& out) {
    const size_t K = constant.size(), C = among.cols, D = z.cols;
    std::vector<int64_t> starts(K + 1);
    std::vector<int32_t> order(was.size());
    group_by(was, K, threads, std::span(starts), std::span(order));
    parallel_for(order.size(), kBlockRows, threads, [&](size_t begin, size_t end, size_t) {
        std::vector<T> s((C + 7) / 8 * 8);
        for (size_t at = begin; at < end; ++at) {
            const size_t n = size_t(order[at]);
            const std::span<const int32_t> ids = among[n];
            for (size_t c = 0; c < C; c += 8) {
                const T* w[8];
                for (size_t j = 0; j < 8; ++j) w[j] = W[size_t(ids[std::min(c + j, C - 1)])].data();
                T dot[8];
                dot_eight(z[n].data(), w, D, dot);
                for (size_t j = 0; j < 8 && c + j < C; ++j) s[c + j] = dot[j] + constant[size_t(ids[c + j])];
            }
            assign_row(std::span<const T>(s.data(), C), L, n, 0.0, out);
            for (size_t l = 0; l < L; ++l)  // which of the few, then which of all
                out.cluster[n * L + l] = ids[size_t(out.cluster[n * L + l])];
        }
    });
}

}  // namespace topmix
