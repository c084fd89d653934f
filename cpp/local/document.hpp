// The fixed point of one document: which topics its words come from.  docs/math.md, section 3.
//
//     r_uk ~ P_k e_uk,   N_k = sum_u c_u r_uk,   P_k = weight(N_k + alpha_k)                       Eqs. (3.5)-(3.7)
//
// Everything stays out of log space: e_uk was exponentiated once per update, P_k once per iteration, and the inner loop
// is a multiply-add over the document's active topics. A topic that holds no more than eps tokens leaves the document
// for good, and its column is squeezed out when that saves a vector. The L-sparse constraint is imposed on what is
// returned; with Select::often also along the way, as the paper does.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "../math.hpp"
#include "top_l.hpp"

namespace topmix {

enum class Posterior { variational, collapsed };

struct TopicOptions {
    Posterior posterior = Posterior::collapsed;
    bool exclude = true;        // collapsed: a token does not count itself among its document's topics
    bool select_often = false;  // choose the top L in iterations 0-4 and every tenth, not only at the end
    bool mean_change = false;   // stop on the mean change over all K topics (scikit-learn's rule), not the largest
    size_t L = 16;
    float eps = 0;  // topics with at most this many tokens leave the document
    int max_iter = 100;
    float tol = 0.05f;
    int restarts = 0;      // smallest topics to try without
    int restart_iter = 3;  // iterations before a restart is judged
};

constexpr size_t kLanes = 16;  // columns are padded to this many floats
inline size_t padded(size_t n) { return (n + kLanes - 1) / kLanes * kLanes; }

/// to[j] = from[index[j]]; vectors gather where the processor can.
inline void take(const float* __restrict from, const int32_t* __restrict index, size_t n, float* __restrict to) {
#pragma omp simd
    for (size_t j = 0; j < n; ++j) to[j] = from[index[j]];
}

/// Room for n without clearing what is already there.
inline float* at_least(std::vector<float>& x, size_t n) {
    if (x.size() < n) x.resize(n);
    return x.data();
}

/// Scratch of one thread, reused from document to document.
class Document {
  public:
    Document(size_t K, const TopicOptions& options, std::span<const float> prior)
        : opt(options), alpha_all(prior), dense(K, 0.f) {}

    // What the fixed point leaves behind, over the n live topics.
    size_t n = 0, st = 0;             // live topics, padded
    std::vector<int32_t> topic;       // [n] ascending global ids
    std::vector<float> N;             // [st] tokens in each topic
    int64_t tried = 0, accepted = 0;  // restart proposals, over all documents
    int64_t iterations = 0;

    /// Runs a document with words v (rows of the table E [words, K]) and counts c from start counts `dense` [K], which
    /// it clears. Needs at least one word.
    void solve(std::span<const int32_t> v, std::span<const float> c, std::span<const float> E_all) {
        words = v, counts = c, U = v.size();
        activate();
        gather(E_all);
        fixed_point(opt.max_iter, true);
        if (opt.restarts > 0 && n > 1) propose_restarts();
    }

    /// The final r_u of word u restricted to its top L: fills topic ids and shares, ascending; returns how many and
    /// H[r].
    size_t responsibilities(size_t u, int32_t* id, float* r, double& entropy) {
        const float* e = &E[u * st];
        float* w = row.data();
        const float* mask = opt.select_often && opt.L < n ? &M[u * st] : e;
        if (excludes()) {
            const float* own = &R[u * st];
#pragma omp simd
            for (size_t j = 0; j < st; ++j) w[j] = std::max(P[j] - own[j], least[j]) * mask[j];
        } else {
#pragma omp simd
            for (size_t j = 0; j < st; ++j) w[j] = P[j] * mask[j];
        }
        entropy = normalise_top_l(std::span<const float>(w, n), opt.L, id, r);
        return std::min(opt.L, n);
    }

    /// Weights for responsibilities(): call once after solve().
    void finish() { weights(); }

    std::vector<float>& start() { return dense; }

  private:
    const TopicOptions& opt;
    std::span<const float> alpha_all;  // [K]
    std::vector<float> dense;          // [K] start counts, all zero between documents
    std::span<const int32_t> words;
    std::span<const float> counts;
    size_t U = 0;
    std::vector<float> E, R, M;  // [U, st] word table, last responsibilities, masked table
    std::vector<float> alpha, P, logP, least, next, row, saved, keep_N;  // [st]
    std::vector<int32_t> keep, order;

    bool excludes() const { return opt.exclude && opt.posterior == Posterior::collapsed; }

    /// A_d = {k : N_dk > eps}, never empty.
    void activate() {
        topic.clear();
        size_t best = 0;
        for (size_t k = 0; k < dense.size(); ++k) {
            if (dense[k] > opt.eps) topic.push_back(int32_t(k));
            if (dense[k] > dense[best]) best = k;
        }
        if (topic.empty()) topic.push_back(int32_t(best));
        n = topic.size(), st = padded(n);
        for (auto* x : {&alpha, &N, &P, &logP, &least, &next, &row, &saved, &keep_N}) x->assign(st, 0.f);
        for (size_t j = 0; j < n; ++j) N[j] = dense[size_t(topic[j])], alpha[j] = alpha_all[size_t(topic[j])];
        std::fill(dense.begin(), dense.end(), 0.f);
    }

    void gather(std::span<const float> E_all) {
        const size_t K = dense.size();
        float* to = at_least(E, U * st);
        for (size_t u = 0; u < U; ++u, to += st) {
            take(&E_all[size_t(words[u]) * K], topic.data(), n, to);
            std::fill(to + n, to + st, 0.f);
        }
        if (excludes()) std::fill_n(at_least(R, U * st), U * st, 0.f);
        if (opt.select_often) at_least(M, U * st);
    }

    /// P_k of Eq. (3.6); a topic without tokens has left, and weighs nothing. Scaled by a common factor in the
    /// variational case, where exp(psi) of a small count would underflow.
    void weights() {
        if (opt.posterior == Posterior::collapsed) {
            for (size_t j = 0; j < st; ++j) {
                least[j] = N[j] > 0 ? alpha[j] : 0.f;
                P[j] = N[j] + least[j];
            }
            return;
        }
        float largest = -std::numeric_limits<float>::infinity();
#pragma omp simd reduction(max : largest)
        for (size_t j = 0; j < st; ++j) {
            logP[j] = N[j] > 0 ? math::digamma(N[j] + alpha[j]) : -1e30f;
            largest = std::max(largest, logP[j]);
        }
#pragma omp simd
        for (size_t j = 0; j < st; ++j) {
            logP[j] -= largest;
            P[j] = math::exp(logP[j]);
        }
    }

    /// One update of all responsibilities: N from P, into `next`. Returns sum_u c_u log s_u when asked.
    template <bool Exclude, bool Judge>
    double sweep() {
        const float* __restrict p = P.data();
        const float* __restrict floor = least.data();  // a token aside, its topic still has the prior
        float* __restrict out = next.data();
        const std::vector<float>& table = opt.select_often && opt.L < n ? M : E;
        std::fill(next.begin(), next.end(), 0.f);
        double log_s = 0;
        for (size_t u = 0; u < U; ++u) {
            const float* __restrict e = &table[u * st];
            const float c = counts[u];
            float s = 0;
            if constexpr (Exclude) {
                float* __restrict r = &R[u * st];
#pragma omp simd reduction(+ : s)
                for (size_t j = 0; j < st; ++j) {
                    const float others = p[j] - r[j];
                    const float w = (others > floor[j] ? others : floor[j]) * e[j];
                    r[j] = w;
                    s += w;
                }
                const float q = s > 0 ? 1.f / s : 0.f;
#pragma omp simd
                for (size_t j = 0; j < st; ++j) {
                    r[j] *= q;
                    out[j] += c * r[j];
                }
            } else {
#pragma omp simd reduction(+ : s)
                for (size_t j = 0; j < st; ++j) s += p[j] * e[j];
                const float q = s > 0 ? c / s : 0.f;
#pragma omp simd
                for (size_t j = 0; j < st; ++j) out[j] += q * e[j];
            }
            if constexpr (Judge) log_s += double(c) * std::log(double(std::max(s, 1e-37f)));
        }
        if constexpr (!Exclude)
            for (size_t j = 0; j < st; ++j) out[j] *= p[j];
        return log_s;
    }

    void update() {
        if (excludes())
            sweep<true, false>();
        else
            sweep<false, false>();
        ++iterations;
    }

    void fixed_point(int max_iter, bool prune) {
        bool left = true;
        for (int it = 0; it < max_iter; ++it) {
            weights();
            if (left || it < 5 || it % 10 == 0) select();  // when a topic left, its tokens need another
            update();
            float largest = 0, total = 0;
            for (size_t j = 0; j < st; ++j) {
                const float change = std::fabs(next[j] - N[j]);
                largest = std::max(largest, change), total += change;
            }
            N.swap(next);
            left = prune && drop_small();
            if (!left && (opt.mean_change ? total / float(dense.size()) : largest) < opt.tol) break;
        }
        if (left) weights(), select();
    }

    /// Topics at or under eps leave: their count becomes zero, and so does their weight from then on. True if one with
    /// tokens left, because those tokens have yet to find another topic.
    bool drop_small() {
        size_t best = 0, live = 0;
        bool left = false;
        for (size_t j = 1; j < n; ++j)
            if (N[j] > N[best]) best = j;
        for (size_t j = 0; j < n; ++j) {
            if (j != best && !(N[j] > opt.eps)) left |= N[j] > 0, N[j] = 0;
            live += N[j] > 0;
        }
        if (padded(live) * 4 <= st * 3) squeeze();
        return left;
    }

    /// Removes the columns of topics that have left.
    void squeeze() {
        keep.clear();
        for (size_t j = 0; j < n; ++j)
            if (N[j] > 0) keep.push_back(int32_t(j));
        const size_t m = keep.size(), narrow = padded(m);
        squeeze_rows(E, m, narrow);
        if (excludes()) squeeze_rows(R, m, narrow);
        if (opt.select_often) squeeze_rows(M, m, narrow);
        for (size_t j = 0; j < m; ++j)
            topic[j] = topic[keep[j]], N[j] = N[keep[j]], alpha[j] = alpha[keep[j]], P[j] = P[keep[j]];
        for (auto* x : {&alpha, &N, &P}) std::fill(x->begin() + m, x->end(), 0.f);
        for (auto* x : {&alpha, &N, &P, &logP, &least, &next, &row, &saved, &keep_N}) x->resize(narrow);
        topic.resize(m), n = m, st = narrow;
    }

    /// In place: the narrow row never passes the wide one.
    void squeeze_rows(std::vector<float>& table, size_t m, size_t narrow) {
        for (size_t u = 0; u < U; ++u) {
            std::copy_n(&table[u * st], st, row.data());
            float* to = &table[u * narrow];
            take(row.data(), keep.data(), m, to);
            std::fill(to + m, to + narrow, 0.f);
        }
    }

    /// The top L of each word, of all topics in the document; until the next selection only these are reweighted.
    void select() {
        if (!opt.select_often || opt.L >= n) return;
        std::vector<int32_t>& id = order;
        id.resize(opt.L);
        for (size_t u = 0; u < U; ++u) {
            const float* e = &E[u * st];
            float* m = &M[u * st];
            for (size_t j = 0; j < st; ++j) row[j] = P[j] * e[j], m[j] = 0;
            const size_t chosen = select_top_l(std::span<const float>(row.data(), n), opt.L, id.data(), keep_N.data());
            for (size_t l = 0; l < chosen; ++l) m[id[l]] = e[id[l]];
        }
    }

    /// The document's objective less a constant, Eq. (3.9), at the responsibilities that N implies.
    double judge() {
        weights();
        const double log_s = sweep<false, true>();
        double terms = 0;
        for (size_t j = 0; j < n; ++j)
            if (next[j] > 0) {
                const double x = double(next[j]), a = double(alpha[j]);
                const double log_p = opt.posterior == Posterior::collapsed ? std::log(double(P[j])) : double(logP[j]);
                terms += math::lgamma(x + a) - math::lgamma(a) - x * log_p;
            }
        return log_s + terms;
    }

    /// Tries the document without each of its smallest topics; keeps what raises the objective.
    void propose_restarts() {
        double now = judge();
        std::vector<int32_t> smallest(n);
        std::iota(smallest.begin(), smallest.end(), 0);
        std::ranges::stable_sort(smallest, {}, [&](int32_t j) { return N[j]; });
        size_t live = size_t(std::count_if(N.begin(), N.begin() + n, [](float x) { return x > 0; }));
        int tries = 0;
        for (const int32_t j : smallest) {
            if (!(N[j] > 0)) continue;
            if (tries == opt.restarts || live < 2) break;
            ++tries, ++tried;
            saved = N;
            N[j] = 0;
            for (int it = 0; it < opt.restart_iter; ++it) {
                weights();
                if (it == 0) select();
                update();
                N.swap(next);
            }
            if (const double then = judge(); then > now)
                now = then, ++accepted, --live;
            else
                N = saved;
        }
        drop_small();
        fixed_point(2, true);  // the last proposal left its responsibilities behind: bring them in line with N
    }
};

}  // namespace topmix
