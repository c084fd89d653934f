// Local step of admixtures: groups of rows that share proportions of clusters.  docs/math.md, section A.
//
//     r_nk ~ exp(s_nk) P_dk for the L best candidates of row n,   N_dk = sum_{n in d} w_n r_nk,
//     P_dk = exp psi(N_dk + alpha_k) variational, N_dk + alpha_k collapsed                         Eqs. (A.4)-(A.6)
//
// A row comes with a few candidates, those that score highest under the proportions that its group has at first: so a
// large group needs rows x candidates numbers, never rows x K. The best of them are chosen anew in each iteration, and
// each iteration climbs. All groups iterate side by side, in chunks of rows that do not depend on threads.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/math.hpp"
#include "base/parallel.hpp"
#include "base/views.hpp"
#include "simd/top_l.hpp"

namespace topmix {

constexpr size_t kGroupRows = 1024;  // of a chunk; a larger group has several

/// The group of each row, of groups of consecutive rows.
inline std::vector<int32_t> group_of_rows(std::span<const int64_t> starts) {
    std::vector<int32_t> group(size_t(starts.back()));
    for (size_t g = 0; g + 1 < starts.size(); ++g)
        std::fill(group.begin() + starts[g], group.begin() + starts[g + 1], int32_t(g));
    return group;
}

template <class T>
struct GroupTask {
    std::span<const int64_t> starts;  // [groups + 1] where the rows of each begin
    Rows<const int32_t> cluster;      // [rows, C] candidates, ascending
    Rows<const T> share;              // [rows, C] of the row, under the proportions that N implies at first
    std::span<const double> weight;   // [rows], may be empty
    std::span<const double> alpha;    // [K]
    bool collapsed;
    size_t L;
    T least;  // a share below this counts as none
    int max_iter;
    double tol;  // a group is done when its counts change by less, as a part of its rows
};

/// What is found of rows.
template <class T>
struct GroupRows {
    std::span<int32_t> cluster;  // [rows, L] ascending
    std::span<T> r;              // [rows, L]
    std::span<double> entropy;   // [rows]
};

/// N [groups, K] is where groups start, and becomes what their rows sum to; absent [groups, K], where it is not empty,
/// the log of the probability that no row of the group is in the cluster. Returns the iterations of all groups.
template <class T>
int64_t solve_groups(const GroupTask<T>& task, int threads, Rows<double> N, Rows<double> absent,
                     const GroupRows<T>& out) {
    struct Part {
        size_t group, begin, end;
    };
    const size_t K = task.alpha.size(), C = task.cluster.cols, L = task.L, G = N.rows();
    std::vector<Part> parts;
    std::vector<size_t> first(G + 1);  // part of each group
    for (size_t g = 0; g < G; ++g) {
        first[g] = parts.size();
        for (size_t at = size_t(task.starts[g]); at < size_t(task.starts[g + 1]); at += kGroupRows)
            parts.push_back({g, at, std::min(at + kGroupRows, size_t(task.starts[g + 1]))});
    }
    first[G] = parts.size();
    const size_t n = task.share.rows(), few = std::max<size_t>(1, parts.size() * 64 / std::max<size_t>(n, 1));
    std::vector<double> sums(parts.size() * K), log_p(G * K);
    std::vector<T> s(n * C);  // scores without proportions, up to what all candidates of a row have
    std::vector<char> moves(G, 1);

    // Up to a factor that all clusters of a group have: psi of a small number has few digits left beside it.
    auto weigh = [&](size_t g) {
        double *p = &log_p[g * K], largest = -std::numeric_limits<double>::infinity();
        const double *counts = N[g].data(), *a = task.alpha.data();
#pragma omp simd reduction(max : largest)
        for (size_t k = 0; k < K; ++k) {
            const double x = counts[k] + a[k];
            p[k] = task.collapsed ? math::log(x) : math::digamma(x);
            largest = std::max(largest, p[k]);
        }
#pragma omp simd
        for (size_t k = 0; k < K; ++k) p[k] -= largest;
    };
    parallel_for(G, few, threads, [&](size_t begin, size_t end, size_t) {
        for (size_t g = begin; g < end; ++g) {
            weigh(g);
            for (size_t i = size_t(task.starts[g]) * C; i < size_t(task.starts[g + 1]) * C; ++i)
                s[i] = T(math::log(double(task.share.data[i])) - log_p[g * K + size_t(task.cluster.data[i])]);
        }
    });
    int64_t iterations = 0;
    for (int it = 0; it < task.max_iter && std::ranges::count(moves, 1) > 0; ++it) {
        parallel_for(parts.size(), few, threads, [&](size_t begin, size_t end, size_t) {
            std::vector<T> t(C);
            for (size_t p = begin; p < end; ++p) {
                const auto [g, from, to] = parts[p];
                if (!moves[g]) continue;
                const double* w = &log_p[g * K];
                double* sum = &sums[p * K];
                std::fill_n(sum, K, 0.0);
                for (size_t i = from; i < to; ++i) {
                    const int32_t* ids = task.cluster[i].data();
                    for (size_t c = 0; c < C; ++c) t[c] = T(double(s[i * C + c]) + w[ids[c]]);
                    int32_t* cluster = &out.cluster[i * L];
                    T* r = &out.r[i * L];
                    out.entropy[i] = softmax_top_l(std::span<const T>(t), L, cluster, r);
                    const double weight = task.weight.empty() ? 1.0 : task.weight[i];
                    for (size_t l = 0; l < L; ++l) {
                        cluster[l] = ids[cluster[l]];  // which of the few, then which of all
                        r[l] = r[l] < task.least ? T(0) : r[l];
                        sum[cluster[l]] += weight * double(r[l]);
                    }
                }
            }
        });
        iterations += std::ranges::count(moves, 1);
        parallel_for(G, few, threads, [&](size_t begin, size_t end, size_t) {
            for (size_t g = begin; g < end; ++g) {
                if (!moves[g]) continue;
                double change = 0, total = 0;
                for (size_t k = 0; k < K; ++k) {
                    double sum = 0;
                    for (size_t p = first[g]; p < first[g + 1]; ++p) sum += sums[p * K + k];
                    change += std::abs(sum - N[g][k]), total += sum;
                    N[g][k] = sum;
                }
                moves[g] = change > task.tol * total;
                if (moves[g]) weigh(g);
            }
        });
    }
    if (!absent.data.empty())
        parallel_for(G, few, threads, [&](size_t begin, size_t end, size_t) {
            for (size_t i = size_t(task.starts[begin]); i < size_t(task.starts[end]); ++i) {
                while (int64_t(i) >= task.starts[begin + 1]) ++begin;
                const double weight = task.weight.empty() ? 1.0 : task.weight[i];
                for (size_t l = 0; l < L; ++l)
                    absent[begin][size_t(out.cluster[i * L + l])] +=
                        weight * math::log(1.0 - std::min(double(out.r[i * L + l]), 1.0 - 0x1p-40));
            }
        });
    return iterations;
}

}  // namespace topmix
