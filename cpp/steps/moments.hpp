// Moments of the rows of Gaussian clusters, cluster by cluster.  docs/math.md, section G.
#pragma once
#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "base/accumulate.hpp"
#include "base/blas.hpp"
#include "base/parallel.hpp"
#include "base/views.hpp"
#include "models/gaussian.hpp"

namespace topmix {

/// What rows give to clusters, in double.
struct Moments {
    std::span<double> N;       // [K] sum_n w r
    std::span<double> first;   // [K, D] sum_n w r z
    std::span<double> second;  // [K, size] sum_n w r (products, squares or norm of z)
};

/// Moments of the rows of one cluster at a time, summed about a centre, so that a small cluster far from the origin
/// keeps its digits in float32; `add_to` puts the centre back in double. Weights may be negative: rows that leave.
/// Everything except matrices is in double, so that a row takes away exactly what it added, whatever the centre was.
template <class T>
class MomentSum {
  public:
    MomentSum(Quadratic kind, size_t D)
        : kind_(kind), D_(D), sum_(D), square_(quadratic_size(kind, D)), gram_(is_matrix() ? D * D : 0) {}

    void begin(const T* centre) {
        m_ = centre;
        total_ = 0;
        std::ranges::fill(sum_, 0.0);
        std::ranges::fill(square_, 0.0);
    }

    void add(const T* x, double w) {
        if (w == 0) return;
        total_ += w;
        if (is_matrix()) {
            Side& side = side_[w < 0];
            if (side.y.empty()) side.y.resize(kRows * D_);
            T* to = &side.y[side.filled * D_];
            const T root = T(std::sqrt(std::abs(w)));
#pragma omp simd
            for (size_t d = 0; d < D_; ++d) {
                const T c = x[d] - m_[d];
                sum_[d] += w * double(c);
                to[d] = root * c;
            }
            if (++side.filled == kRows) flush(w < 0);
            return;
        }
        double norm = 0;
#pragma omp simd reduction(+ : norm)
        for (size_t d = 0; d < D_; ++d) {
            const double c = double(x[d]) - double(m_[d]);
            sum_[d] += w * c;
            norm += c * c;
        }
        if (kind_ == Quadratic::norm) square_[0] += w * norm;
        if (kind_ == Quadratic::squares)
#pragma omp simd
            for (size_t d = 0; d < D_; ++d) {
                const double c = double(x[d]) - double(m_[d]);
                square_[d] += w * c * c;
            }
    }

    /// sum w z z' = sum w (z - m)(z - m)' + sum w (z - m) m' + m sum w (z - m)' + sum w m m'
    void add_to(double& N, double* first, double* second) {
        flush(false);
        flush(true);
        double both = 0;
        for (size_t i = 0, f = 0; i < D_; ++i) {
            const double mi = double(m_[i]);
            if (is_matrix())
                for (size_t j = i; j < D_; ++j, ++f)
                    second[f] += square_[f] + sum_[i] * double(m_[j]) + mi * (sum_[j] + total_ * double(m_[j]));
            if (kind_ == Quadratic::squares) second[i] += square_[i] + mi * (2 * sum_[i] + total_ * mi);
            both += mi * (2 * sum_[i] + total_ * mi);
            first[i] += sum_[i] + total_ * mi;
        }
        if (kind_ == Quadratic::norm) second[0] += square_[0] + both;
        N += total_;
    }

  private:
    static constexpr size_t kRows = 512;  // whose products are summed together
    struct Side {
        std::vector<T> y;  // [kRows, D]
        size_t filled = 0;
    };

    bool is_matrix() const { return kind_ == Quadratic::products; }

    void flush(bool negative) {
        Side& side = side_[negative];
        if (side.filled == 0) return;
        blas::gram(side.filled, D_, side.y.data(), gram_.data());
        side.filled = 0;
        const double sign = negative ? -1 : 1;
        for (size_t i = 0, f = 0; i < D_; ++i)
            for (size_t j = i; j < D_; ++j) square_[f++] += sign * double(gram_[i * D_ + j]);
    }

    Quadratic kind_;
    size_t D_;
    const T* m_ = nullptr;
    double total_ = 0;
    std::vector<double> sum_, square_;
    std::vector<T> gram_;
    Side side_[2];  // of rows with positive weights, and with negative ones
};

/// Adds the moments of rows to `out`. Each cluster has one owner.
template <class T>
void add_moments(Rows<const T> z, std::span<const int32_t> cluster, std::span<const T> r,
                 std::span<const double> weight, Rows<const T> centre, Quadratic kind, int threads,
                 const Moments& out) {
    const size_t D = z.cols, K = centre.rows(), L = z.rows() ? r.size() / z.rows() : 1, Q = quadratic_size(kind, D);
    std::vector<int64_t> starts(K + 1);
    std::vector<int32_t> order(cluster.size());
    group_by(cluster, K, threads, std::span(starts), std::span(order));
    parallel_for(K, 1, threads, [&](size_t begin, size_t end, size_t) {
        MomentSum<T> sum(kind, D);
        for (size_t k = begin; k < end; ++k) {
            if (starts[k] == starts[k + 1]) continue;
            sum.begin(centre[k].data());
            for (int64_t at = starts[k]; at < starts[k + 1]; ++at) {
                const size_t pair = size_t(order[size_t(at)]), n = pair / L;
                sum.add(z[n].data(), double(r[pair]) * (weight.empty() ? 1.0 : weight[n]));
            }
            sum.add_to(out.N[k], &out.first[k * D], out.second.data() + k * Q);
        }
    });
}

}  // namespace topmix
