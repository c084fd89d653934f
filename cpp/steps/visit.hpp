// Local step of mixtures in one visit to the rows: scores, the L best clusters, and moments by cluster, while a block
// of rows is in a core's cache.  docs/math.md, sections G and V.
//
// For clusters whose moments are vectors: directions, and Gaussian clusters with diagonal or spherical covariances. And
// for few of them: each chunk of rows has sums of its own. Where these are large, rows are regrouped by cluster instead
// (moments.hpp).
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/blas.hpp"
#include "base/math.hpp"
#include "base/parallel.hpp"
#include "base/views.hpp"
#include "models/gaussian.hpp"
#include "simd/scores.hpp"
#include "simd/top_l.hpp"

namespace topmix {

constexpr size_t kVisitNumbers = size_t(1) << 17;  // of the rows of a block, so that they stay in a core's cache
constexpr size_t kVisitSums = size_t(1) << 20;     // numbers that the sums of all chunks may hold, about
constexpr size_t kFewFeatures = 96;                // up to here BLAS is slower

/// Rows of a table, in the order of `rows`, or all of them in their own order.
template <class T>
struct SelectedRows {
    Rows<const T> x;
    std::span<const int64_t> rows;  // may be empty

    size_t size() const { return rows.empty() ? x.rows() : rows.size(); }
    const T* operator[](size_t n) const { return x[rows.empty() ? n : size_t(rows[n])].data(); }
};

template <class T>
struct VisitTask {
    SelectedRows<T> x;
    Features features;               // none, norm or squares
    std::span<const double> origin;  // [D]
    std::span<const double> scale;   // [D]: z = (x - origin) scale. Both empty where z is x
    std::span<const T> W;            // [K, features]
    std::span<const T> constant;     // [K]
    std::span<const T> centre;  // [K, D] that moments are summed about, so that they keep their digits; empty: zero
    std::span<const double> weight;  // [rows], may be empty
    size_t L;
    T least;  // a share below this counts as none

    size_t width() const { return features.D + quadratic_size(features.kind, features.D); }  // of a cluster's sums
};

struct VisitSums {
    std::span<double> N;       // [K] sum w r
    std::span<double> first;   // [K, D] sum w r z
    std::span<double> second;  // [K, size] sum w r (squares or norm of z)
};

/// Rows per block and rows per chunk. They depend on the data and K alone, so that the bits do not depend on threads.
struct VisitSizes {
    size_t block, chunk;

    VisitSizes(size_t n, size_t K, size_t D, size_t width) {
        block = std::clamp<size_t>(kVisitNumbers / std::max<size_t>(D, 1) / 128 * 128, 128, 512);
        const size_t most = std::clamp<size_t>(kVisitSums / std::max<size_t>(K * width, 1), 8, 64);
        chunk = ((n + most - 1) / most + block - 1) / block * block;
        chunk = std::max(chunk, block);
    }
};

/// What one thread needs to visit blocks of rows.
template <class T>
class BlockVisit {
  public:
    /// Adds to R [K, width], about the centres, and to N [K]; returns the entropy of the shares of rows begin to end.
    double operator()(const VisitTask<T>& task, const PackedScores<T>* packed, size_t begin, size_t end, double* R,
                      double* N) {
        const size_t K = task.constant.size(), D = task.features.D, rows = end - begin, width = task.width();
        const T* z = framed(task, begin, rows);
        score(task, packed, featured(task.features, z, rows), rows);
        choose_clusters(task, packed ? packed->stride() : K, rows);
        const double H = share(task, begin, rows);
        for (size_t k = 0; k < K; ++k) {
            const std::span<const Pair> pairs(&pairs_[size_t(starts_[k])], size_t(starts_[k + 1] - starts_[k]));
            if (pairs.empty()) continue;
            sum_.assign(width, T(0));
            for (const Pair& p : pairs) N[k] += double(p.w);
            add(task.features.kind, pairs, z, D, task.centre.empty() ? nullptr : &task.centre[k * D]);
            double* to = R + k * width;
#pragma omp simd
            for (size_t d = 0; d < width; ++d) to[d] += double(sum_[d]);
        }
        return H;
    }

  private:
    struct Pair {
        int32_t row;
        T w;
    };

    /// Rows of the block in the frame, one after the other: in place where they lie so.
    const T* framed(const VisitTask<T>& task, size_t begin, size_t rows) {
        const size_t D = task.features.D;
        if (task.origin.empty() && task.x.rows.empty()) return task.x[begin];
        z_.resize(rows * D);
        for (size_t i = 0; i < rows; ++i) {
            const T* x = task.x[begin + i];
            T* to = &z_[i * D];
            if (task.origin.empty()) {
                std::copy(x, x + D, to);
                continue;
            }
#pragma omp simd
            for (size_t d = 0; d < D; ++d) to[d] = T((double(x[d]) - task.origin[d]) * task.scale[d]);
        }
        return z_.data();
    }

    const T* featured(const Features& features, const T* z, size_t rows) {
        if (features.kind == Quadratic::none) return z;
        const size_t F = features.size(), Q = quadratic_size(features.kind, features.D);
        f_.resize(rows * F);
        for (size_t i = 0; i < rows; ++i) {
            features.write(z + i * features.D, 0, &f_[i * F]);
            if (features.linear) features.write(z + i * features.D, 1, &f_[i * F + Q]);
        }
        return f_.data();
    }

    /// Scores of the block, and the best of each row.
    void score(const VisitTask<T>& task, const PackedScores<T>* packed, const T* f, size_t rows) {
        const size_t K = task.constant.size(), F = task.features.size();
        best_.resize(rows);
        s_.resize(rows * (packed ? packed->stride() : K));
        if (packed) return (*packed)(f, rows, s_.data(), best_.data());
        for (size_t i = 0; i < rows; ++i) std::ranges::copy(task.constant, s_.begin() + ptrdiff_t(i * K));
        blas::add_product_transposed(rows, F, K, f, task.W.data(), F, s_.data());
        for (size_t i = 0; i < rows; ++i) best_[i] = largest(std::span<const T>(&s_[i * K], K));
    }

    /// The L best clusters of each row, without those whose share would be too small, and their scores less the best.
    void choose_clusters(const VisitTask<T>& task, size_t stride, size_t rows) {
        using Do = Lanes<T>;
        constexpr T inf = std::numeric_limits<T>::infinity();
        const size_t K = task.constant.size(), room = K + 4 * Do::width, L = task.L;
        const T reach = std::log(task.least);  // -inf where everything counts
        few_.resize(L);
        few_ids_.resize(L);
        ends_.resize(rows);
        size_t at = 0;
        T gap = std::min(-reach, T(16));  // below the best, so that L clusters or a few more are found at once: a guess
        for (size_t i = 0; i < rows; ++i) {
            if (at + room > d_.size()) d_.resize(2 * (at + room)), cluster_.resize(2 * (at + room));
            const T *s = &s_[i * stride], best = best_[i];
            T* d = &d_[at];
            int32_t* cluster = &cluster_[at];
            size_t m = 0;
            if (best > -inf && best < inf) {
                m = Do::filter_ge(s, K, best - gap, d, cluster, room);
                while (m < L && gap < -reach) {
                    gap = gap < T(64) ? std::min(2 * gap, -reach) : -reach;
                    m = Do::filter_ge(s, K, best - gap, d, cluster, room);
                }
                if (m > 3 * L) gap *= T(0.75);
                if (m > L) {
                    if (m > Do::few || !Do::take_ranked(d, cluster, m, L, few_ids_.data(), few_.data())) {
                        select_top_l(std::span<const T>(d, m), L, few_ids_.data(), few_.data());
                        for (int32_t& id : few_ids_) id = cluster[id];
                    }
                    std::ranges::copy(few_, d);
                    std::ranges::copy(few_ids_, cluster);
                    m = L;
                }
                for (size_t l = 0; l < m; ++l) d[l] -= best;
            } else {  // a row that is too far from all clusters, or numbers that are none: as in top_l.hpp
                m = select_top_l(std::span<const T>(s, K), L, cluster, d);
                for (size_t l = 0; l < m; ++l) d[l] = d[l] == best ? T(0) : -inf;
            }
            ends_[i] = at += m;
        }
    }

    /// The pairs of rows and clusters with a share, cluster by cluster, from what `choose_clusters` left. Returns the
    /// entropy: of all rows at once, so that exponentials and logarithms fill vectors.
    double share(const VisitTask<T>& task, size_t begin, size_t rows) {
        const size_t K = task.constant.size(), n = ends_.empty() ? 0 : ends_[rows - 1];
        e_.resize(n);
#pragma omp simd
        for (size_t p = 0; p < n; ++p) e_[p] = math::exp(d_[p]);
        Z_.resize(rows);
        log_.resize(rows);
        for (size_t i = 0, p = 0; i < rows; ++i) {
            double Z = 0, mean = 0;
            for (; p < ends_[i]; ++p) {
                Z += double(e_[p]);
                if (e_[p] > 0) mean += double(e_[p]) * double(d_[p]);  // not 0 * -inf
            }
            Z_[i] = Z;
            log_[i] = -mean / Z;
        }
#pragma omp simd
        for (size_t i = 0; i < rows; ++i) log_[i] += math::log(Z_[i]);
        starts_.assign(K + 1, 0);
        double H = 0;
        for (size_t i = 0, p = 0; i < rows; ++i) {
            const double w = task.weight.empty() ? 1.0 : task.weight[begin + i], scale = 1 / Z_[i];
            H += w * log_[i];
            for (; p < ends_[i]; ++p) {
                const T r = T(double(e_[p]) * scale);
                e_[p] = r >= task.least ? T(w * double(r)) : T(0);
                starts_[size_t(cluster_[p])] += e_[p] != 0;
            }
        }
        int32_t at = 0;
        for (int32_t& start : starts_) at += std::exchange(start, at);
        pairs_.resize(size_t(at) + 1);  // one more, so that there is a first
        for (size_t i = 0, p = 0; i < rows; ++i)
            for (; p < ends_[i]; ++p)
                if (e_[p] != 0) pairs_[size_t(starts_[size_t(cluster_[p])]++)] = {int32_t(i), e_[p]};
        std::shift_right(starts_.begin(), starts_.end(), 1);  // where clusters end is where the next ones begin
        starts_[0] = 0;
        return H;
    }

    /// sum_ = sum w c, then sum w (squares or norm of c), with c = z - m. Four rows at a time, because a sum is read
    /// and written for each.
    void add(Quadratic kind, std::span<const Pair> pairs, const T* z, size_t D, const T* m) {
        T *a = sum_.data(), *b = a + D;
        size_t i = 0;
        auto row = [&](size_t j) { return z + size_t(pairs[i + j].row) * D; };
        if (kind == Quadratic::squares) {
            for (; i + 4 <= pairs.size(); i += 4) {
                const T *x0 = row(0), *x1 = row(1), *x2 = row(2), *x3 = row(3);
                const T w0 = pairs[i].w, w1 = pairs[i + 1].w, w2 = pairs[i + 2].w, w3 = pairs[i + 3].w;
#pragma omp simd
                for (size_t d = 0; d < D; ++d) {
                    const T c0 = x0[d] - m[d], c1 = x1[d] - m[d], c2 = x2[d] - m[d], c3 = x3[d] - m[d];
                    const T y0 = w0 * c0, y1 = w1 * c1, y2 = w2 * c2, y3 = w3 * c3;
                    a[d] += (y0 + y1) + (y2 + y3);
                    b[d] += (y0 * c0 + y1 * c1) + (y2 * c2 + y3 * c3);
                }
            }
            for (; i < pairs.size(); ++i) {
                const T *x = row(0), w = pairs[i].w;
#pragma omp simd
                for (size_t d = 0; d < D; ++d) {
                    const T c = x[d] - m[d], y = w * c;
                    a[d] += y;
                    b[d] += y * c;
                }
            }
        } else if (kind == Quadratic::norm) {
            for (; i < pairs.size(); ++i) {
                const T *x = row(0), w = pairs[i].w;
                T norm = 0;
#pragma omp simd reduction(+ : norm)
                for (size_t d = 0; d < D; ++d) {
                    const T c = x[d] - m[d];
                    a[d] += w * c;
                    norm += c * c;
                }
                b[0] += w * norm;
            }
        } else {
            for (; i + 4 <= pairs.size(); i += 4) {
                const T *x0 = row(0), *x1 = row(1), *x2 = row(2), *x3 = row(3);
                const T w0 = pairs[i].w, w1 = pairs[i + 1].w, w2 = pairs[i + 2].w, w3 = pairs[i + 3].w;
#pragma omp simd
                for (size_t d = 0; d < D; ++d) a[d] += (w0 * x0[d] + w1 * x1[d]) + (w2 * x2[d] + w3 * x3[d]);
            }
            for (; i < pairs.size(); ++i) {
                const T *x = row(0), w = pairs[i].w;
#pragma omp simd
                for (size_t d = 0; d < D; ++d) a[d] += w * x[d];
            }
        }
    }

    std::vector<T> z_, f_, s_, best_, sum_, few_;
    std::vector<T> d_, e_;          // of the chosen clusters of all rows: scores less the best, then weights
    std::vector<int32_t> cluster_;  // which they are
    std::vector<size_t> ends_;      // [rows] of each row's
    std::vector<double> Z_, log_;   // [rows]
    std::vector<int32_t> few_ids_, starts_;
    std::vector<Pair> pairs_;
};

/// Adds to `out`; returns the summed entropy of the rows' shares.
template <class T>
double visit_rows(const VisitTask<T>& task, int threads, const VisitSums& out) {
    const size_t n = task.x.size(), D = task.features.D, K = task.constant.size(), width = task.width();
    const VisitSizes sizes(n, K, D, width);
    const size_t chunks = (n + sizes.chunk - 1) / sizes.chunk, size = K * width + K + 1;
    std::vector<double> sums(chunks * size);  // of each chunk: moments about the centres, N, entropy
    std::vector<BlockVisit<T>> visits(size_t(std::max(threads, 1)));
    const size_t F = task.features.size();
    const auto packed = F <= kFewFeatures ? std::optional<PackedScores<T>>(std::in_place, task.W, task.constant)
                                          : std::optional<PackedScores<T>>();
    parallel_for(n, sizes.chunk, threads, [&](size_t from, size_t to, size_t t) {
        double* R = &sums[from / sizes.chunk * size];
        double *N = R + K * width, H = 0;
        for (size_t begin = from; begin < to; begin += sizes.block)
            H += visits[t](task, packed ? &*packed : nullptr, begin, std::min(begin + sizes.block, to), R, N);
        N[K] = H;
    });
    parallel_for(K, std::max<size_t>(4096 / width, 1), threads, [&](size_t begin, size_t end, size_t) {
        for (size_t k = begin; k < end; ++k) {
            double *R = &sums[k * width], N = 0, both = 0;
            for (size_t c = 0; c < chunks; ++c) N += sums[c * size + K * width + k];
            for (size_t c = 1; c < chunks; ++c)
#pragma omp simd
                for (size_t d = 0; d < width; ++d) R[d] += sums[c * size + k * width + d];
            for (size_t d = 0; d < D; ++d) {  // sum w z = sum w c + N m, and so on
                const double m = task.centre.empty() ? 0.0 : double(task.centre[k * D + d]);
                const double square = m * (2 * R[d] + N * m);
                out.first[k * D + d] += R[d] + N * m;
                if (task.features.kind == Quadratic::squares) out.second[k * D + d] += R[D + d] + square;
                both += square;
            }
            if (task.features.kind == Quadratic::norm) out.second[k] += R[D] + both;
            out.N[k] += N;
        }
    });
    double H = 0;
    for (size_t c = 0; c < chunks; ++c) H += sums[c * size + K * width + K];
    return H;
}

}  // namespace topmix
