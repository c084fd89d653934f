// Priors of documents from covariates, and what documents with priors of their own say of them.  Eqs. (3.30) to (3.32).
//
// Sums over documents are of blocks that do not depend on threads, and blocks are added in order. Sums of a topic have
// one owner: the entries of documents are dealt to their topics first, in the order of documents.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/math.hpp"
#include "base/parallel.hpp"
#include "base/views.hpp"
#include "models/posterior.hpp"
#include "steps/priors.hpp"

namespace topmix {

/// out [n, K] = exp(x . lambda), with the logarithm from `low` to `high`. x [n, P], coefficients [K, P].
template <class T>
void own_alpha(Rows<const double> x, Rows<const double> coefficients, double low, double high, int threads,
               Rows<T> out) {
    const size_t P = x.cols, K = out.cols;
    std::vector<double> by_column(P * K);
    for (size_t k = 0; k < K; ++k)
        for (size_t p = 0; p < P; ++p) by_column[p * K + k] = coefficients[k][p];
    parallel_for(out.rows(), 64, busy_threads(threads, double(out.data.size()) * double(P + 20)),
                 [&](size_t begin, size_t end, size_t) {
                     std::vector<double> scores(K);
                     for (size_t n = begin; n < end; ++n) {
                         double* const s = scores.data();
                         std::ranges::fill(scores, 0.0);
                         for (size_t p = 0; p < P; ++p) {
                             const double value = x[n][p];
                             const double* const column = by_column.data() + p * K;
#pragma omp simd
                             for (size_t k = 0; k < K; ++k) s[k] += value * column[k];
                         }
                         T* const to = out[n].data();
#pragma omp simd
                         for (size_t k = 0; k < K; ++k) to[k] = T(math::exp(std::clamp(s[k], low, high)));
                     }
                 });
}

/// psi'(x), x > 0: steps up by 1/x^2, then the asymptotic series.
inline double trigamma(double x) {
    double steps = 0;
    for (int i = 0; i < 10; ++i) steps += 1.0 / ((x + i) * (x + i));
    const double y = 1.0 / (x + 10.0), z = y * y;
    return steps +
           y * (1.0 + y * (0.5 + y * (1.0 / 6 - z * (1.0 / 30 - z * (1.0 / 42 - z * (1.0 / 30 - z * 5 / 66))))));
}

/// The documents of a shard, their topics, and the rows of the design [priors, P] that their priors come from.
struct OwnDocuments {
    std::span<const int64_t> indptr;  // [documents + 1]
    std::span<const uint16_t> topic;  // [entries]
    std::span<const float> count;     // [entries]
    std::span<const double> lengths;  // [documents] tokens
    Rows<const float> alpha;          // [priors, K]
    std::span<const int32_t> row;     // [documents]
    Rows<const double> x = {{}, 0};   // no columns: nobody learns from them
};

struct OwnSums {
    double G = 0, A = 0, T = 0;
};

namespace own {

/// Of one prior: its sum, and log Gamma(sum) + sum_k alpha log alpha - log Gamma(alpha), where it is collapsed.
struct Prior {
    double total = 0, normaliser = 0;
};

inline std::vector<Prior> priors(Posterior posterior, Rows<const float> alpha, int threads) {
    std::vector<Prior> found(alpha.rows());
    parallel_for(found.size(), 64, busy_threads(threads, 40.0 * double(alpha.data.size())),
                 [&](size_t begin, size_t end, size_t) {
                     for (size_t n = begin; n < end; ++n) {
                         const float* const a = alpha[n].data();
                         double total = 0, inside = 0;
#pragma omp simd reduction(+ : total)
                         for (size_t k = 0; k < alpha.cols; ++k) total += double(a[k]);
                         if (posterior == Posterior::collapsed) {
#pragma omp simd reduction(+ : inside)
                             for (size_t k = 0; k < alpha.cols; ++k) {
                                 const double v = a[k] > 0 ? double(a[k]) : 1.0;  // 1 adds nothing
                                 inside += v * math::log(v) - math::lgamma(v);
                             }
                             inside += math::lgamma(total);
                         }
                         found[n] = {total, inside};
                     }
                 });
    return found;
}

/// Entries topic by topic: the row of the design of their document, c_dk and c'_dk.
struct Dealt {
    std::vector<size_t> first;  // [K + 1]
    std::vector<int32_t> row;
    std::vector<double> rise, curve;
};

/// Where the entries of each block of documents go: [blocks, K], and `first`.
inline std::vector<size_t> places(const OwnDocuments& d, size_t grain, size_t blocks, int threads, Dealt& dealt) {
    const size_t K = d.alpha.cols, docs = d.row.size();
    std::vector<size_t> place(blocks * K);
    parallel_for(docs, grain, threads, [&](size_t begin, size_t end, size_t) {
        size_t* const here = place.data() + begin / grain * K;
        for (int64_t i = d.indptr[begin]; i < d.indptr[end]; ++i) ++here[d.topic[size_t(i)]];
    });
    dealt.first.assign(K + 1, 0);
    size_t at = 0;
    for (size_t k = 0; k < K; ++k) {
        dealt.first[k] = at;
        for (size_t b = 0; b < blocks; ++b) at += std::exchange(place[b * K + k], at);
    }
    dealt.first[K] = at;
    return place;
}

/// M_k += c x and, where it is wanted, the lower half of Q_k += c' x x'.
inline void add_row(std::span<const double> x, double rise, double curve, double* M, double* Q) {
    const size_t P = x.size();
#pragma omp simd
    for (size_t p = 0; p < P; ++p) M[p] += rise * x[p];
    if (!Q) return;
    for (size_t p = 0; p < P; ++p) {
        const double v = curve * x[p];
#pragma omp simd
        for (size_t q = 0; q <= p; ++q) Q[p * P + q] += v * x[q];
    }
}

/// M [K, P] and Q [K, P, P]. Topics with more entries than there are rows sum by row first.
inline void sum_topics(const Dealt& dealt, Rows<const double> x, int threads, std::span<double> M,
                       std::span<double> Q) {
    const size_t K = dealt.first.size() - 1, P = x.cols;
    parallel_for(K, 1, threads, [&](size_t begin, size_t end, size_t) {
        std::vector<double> rise, curve;
        for (size_t k = begin; k < end; ++k) {
            double *const m = M.data() + k * P, *const q = Q.empty() ? nullptr : Q.data() + k * P * P;
            const size_t from = dealt.first[k], to = dealt.first[k + 1];
            if (to - from > x.rows()) {
                rise.assign(x.rows(), 0.0), curve.assign(q ? x.rows() : 0, 0.0);
                for (size_t i = from; i < to; ++i) {
                    rise[size_t(dealt.row[i])] += dealt.rise[i];
                    if (q) curve[size_t(dealt.row[i])] += dealt.curve[i];
                }
                for (size_t n = 0; n < x.rows(); ++n)
                    if (rise[n] != 0) add_row(x[n], rise[n], q ? curve[n] : 0.0, m, q);
            } else {
                for (size_t i = from; i < to; ++i)
                    add_row(x[size_t(dealt.row[i])], dealt.rise[i], q ? dealt.curve[i] : 0.0, m, q);
            }
            for (size_t p = 0; q && p < P; ++p)
                for (size_t r = p + 1; r < P; ++r) q[p * P + r] = q[r * P + p];
        }
    });
}

}  // namespace own

/// The sums of Eq. (3.31); M [K, P] and, unless it is empty, Q [K, P, P] of Eq. (3.32), which are zero before. Without
/// columns x these are not made.
inline OwnSums own_stats(Posterior posterior, const OwnDocuments& d, int threads, std::span<double> M,
                         std::span<double> Q) {
    const size_t docs = d.row.size(), K = d.alpha.cols, entries = d.topic.size();
    const size_t grain = std::max<size_t>(512, K), blocks = (docs + grain - 1) / grain;
    const bool learns = d.x.cols > 0, curves = !Q.empty(), collapsed = posterior == Posterior::collapsed;
    threads = busy_threads(threads, 100.0 * double(entries) + 10.0 * double(docs));
    const auto priors = own::priors(posterior, d.alpha, threads);
    own::Dealt dealt;
    std::vector<size_t> place;
    if (learns) {
        place = own::places(d, grain, blocks, threads, dealt);
        dealt.row.resize(entries), dealt.rise.resize(entries), dealt.curve.resize(curves ? entries : 0);
    }
    std::vector<OwnSums> sums(blocks);
    parallel_for(docs, grain, threads, [&](size_t begin, size_t end, size_t) {
        OwnSums& sum = sums[begin / grain];
        const size_t from = size_t(d.indptr[begin]), size = size_t(d.indptr[end]) - from;
        std::vector<double> count(size), prior(size), rise(learns ? size : 0), curve(curves ? size : 0);
        double *const N = count.data(), *const a = prior.data(), *const r = rise.data();
        std::vector<double> total(end - begin), length(d.lengths.begin() + long(begin), d.lengths.begin() + long(end));
        for (size_t n = begin; n < end; ++n) {
            const auto [sum_of_alpha, normaliser] = priors[size_t(d.row[n])];
            const float* const alpha = d.alpha[size_t(d.row[n])].data();
            total[n - begin] = sum_of_alpha, sum.T += normaliser;
            for (size_t i = size_t(d.indptr[n]); i < size_t(d.indptr[n + 1]); ++i)
                N[i - from] = d.count[i], a[i - from] = alpha[d.topic[i]];
        }
        double first = 0, second = 0;
        if (collapsed) {
#pragma omp simd reduction(+ : first, second)
            for (size_t i = 0; i < size; ++i) {
                first += N[i] * math::log(N[i] + a[i]);
                second += a[i] * math::log(1.0 + N[i] / a[i]);
            }
            for (size_t n = 0; n < total.size(); ++n) {
                const double whole = math::log(length[n] + total[n]);
                first -= length[n] > 0 ? length[n] * whole : 0.0;
                second -= total[n] * whole;
            }
            sum.A = first, sum.T += second;
        } else {
#pragma omp simd reduction(+ : first)
            for (size_t i = 0; i < size; ++i) first += math::lgamma(N[i] + a[i]) - math::lgamma(a[i]);
#pragma omp simd reduction(+ : second)
            for (size_t n = 0; n < total.size(); ++n)
                second += math::lgamma(total[n]) - math::lgamma(total[n] + length[n]);
            sum.G = first + second;
        }
        if (!learns) return;
#pragma omp simd
        for (size_t i = 0; i < size; ++i) r[i] = a[i] * (math::digamma(N[i] + a[i]) - math::digamma(a[i]));
        if (curves)
#pragma omp simd
            for (size_t i = 0; i < size; ++i) curve[i] = r[i] + a[i] * a[i] * (trigamma(N[i] + a[i]) - trigamma(a[i]));
        size_t* const to = place.data() + begin / grain * K;
        for (size_t n = begin; n < end; ++n)
            for (size_t i = size_t(d.indptr[n]); i < size_t(d.indptr[n + 1]); ++i) {
                const size_t at = to[d.topic[i]]++;
                dealt.row[at] = d.row[n], dealt.rise[at] = r[i - from];
                if (curves) dealt.curve[at] = curve[i - from];
            }
    });
    if (learns) own::sum_topics(dealt, d.x, threads, M, Q);
    OwnSums all;
    for (const OwnSums& sum : sums) all.G += sum.G, all.A += sum.A, all.T += sum.T;
    return all;
}

}  // namespace topmix
