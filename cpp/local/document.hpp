// The fixed point of one document: which topics its words come from.  docs/math.md, section 3.
//
//     r_uk ~ P_k e_uk,   N_k = sum_u c_u r_uk,   P_k = weight(N_k + alpha_k)                       Eqs. (3.5)-(3.7)
//
// Everything stays out of log space: e_uk was exponentiated once per update, P_k once per iteration, and the inner loop
// is a multiply-add over the document's active topics. A topic that holds no more than eps tokens leaves the document
// for good. The L-sparse constraint is imposed on what is returned; with select_often also along the way, as in the
// paper.
//
// Words go by sixteens: a block holds a vector of sixteen words for each topic. Documents have many more words than
// topics, so lanes are seldom wasted, sums over topics need no shuffling, and a topic that leaves takes one vector out
// of each block.
//
// The counts behind the table hold the document itself, as its last visit left it: its rare words would call it back to
// where it was, and its common words keep their places in every topic. A discount takes part of that out, Eq. (3.5b).
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "../math.hpp"
#include "block.hpp"
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
    int restarts = 0;        // smallest topics to try without
    int restart_iter = 3;    // iterations before a restart is judged
    float own_discount = 0;  // collapsed: the part of its own last visit that a document does not see in the table
};

/// What the table of a shard holds of the document at hand: e_vk has c r / norm_k / scale_v for c r tokens.
struct OwnTokens {
    std::span<const float> by_topic;  // [K] 1 / norm_k
    std::span<const float> by_word;   // [words] 1 / scale_v
    float least = 0;                  // the smallest prior count of a word, which always stays
};

constexpr float kTiny = 1e-36f;  // its inverse is still a number

inline Block larger(Block a, Block b) { return a > b ? a : b; }

inline float sum(const Block& x) {
    float half[8], quarter[4];
    for (size_t i = 0; i < 8; ++i) half[i] = x[i] + x[i + 8];
    for (size_t i = 0; i < 4; ++i) quarter[i] = half[i] + half[i + 4];
    return (quarter[0] + quarter[2]) + (quarter[1] + quarter[3]);
}

/// Scratch of one thread, reused from document to document.
class Document {
  public:
    Document(size_t K, const TopicOptions& options, std::span<const float> prior)
        : opt(options),
          excludes(options.exclude && options.posterior == Posterior::collapsed),
          alpha_all(prior),
          dense(K, 0.f),
          last(K, 0.f) {}

    std::vector<int32_t> topic;       // the document's topics, ascending global ids
    int64_t tried = 0, accepted = 0;  // restart proposals, over all documents
    int64_t iterations = 0;

    /// Counts to start from, [K]: all zero between documents, to be filled before solve().
    std::vector<float>& start() { return dense; }

    /// Counts that the last visit left, [K]: likewise, where own tokens are to be discounted.
    std::vector<float>& left_before() { return last; }

    /// Runs a document with words v (rows of the table [words, K]) and counts c. Needs at least one word.
    void solve(std::span<const int32_t> v, std::span<const float> c, std::span<const float> table,
               const OwnTokens* own_tokens = nullptr) {
        words = v, counts = c, blocks = (v.size() + kBlock - 1) / kBlock;
        activate();
        gather(table);
        if (own_tokens) discount(*own_tokens);
        fixed_point(opt.max_iter);
        if (opt.restarts > 0 && topic.size() > 1) propose_restarts();
    }

    /// The responsibilities that the fixed point implies, each word's top L of them. Calls out(u, m, id, r) for each
    /// word u, with m shares r of topics topic[id[l]], ascending. Returns sum_u c_u H[r_u].
    template <class Out>
    double responsibilities(Out&& out) {
        weights();
        const size_t n = topic.size();
        double entropy = 0;
        shares.resize(n);
        row.resize(n);
        id.resize(std::max(opt.L, n));
        chosen.resize(opt.L);
        std::iota(id.begin(), id.begin() + n, 0);
        for (size_t b = 0; b < blocks; ++b) {
            const Block *e = &E[b * width], *support = masked() ? &M[b * width] : e, *r = excludes ? &R[b * width] : e;
            Block s{};
            for (size_t j = 0; j < n; ++j)
                s += shares[j] =
                    (excludes ? larger(P[j] - own[b] * r[j], least[j] + Block{}) : P[j] + Block{}) * support[j];
            s = larger(s, kTiny + Block{});
            const size_t end = std::min(words.size(), (b + 1) * kBlock);
            if (n > opt.L) {
                for (size_t u = b * kBlock; u < end; ++u) {
                    for (size_t j = 0; j < n; ++j) row[j] = shares[j][u % kBlock];
                    const double H = normalise_top_l(std::span<const float>(row), opt.L, id.data(), chosen.data());
                    entropy += double(counts[u]) * H;
                    out(u, opt.L, id.data(), chosen.data());
                }
                continue;
            }
            Block plogp{};
            for (size_t j = 0; j < n; ++j) {
                shares[j] /= s;
                for (size_t i = 0; i < kBlock; ++i)
                    plogp[i] += shares[j][i] * math::log(std::max(shares[j][i], 1e-37f));
            }
            for (size_t u = b * kBlock; u < end; ++u) {
                for (size_t j = 0; j < n; ++j) row[j] = shares[j][u % kBlock];
                entropy -= double(counts[u]) * double(plogp[u % kBlock]);
                out(u, n, id.data(), row.data());
            }
        }
        return entropy;
    }

  private:
    const TopicOptions& opt;
    const bool excludes;
    std::span<const float> alpha_all;  // [K]
    std::vector<float> dense, last;    // [K]
    std::span<const int32_t> words;
    std::span<const float> counts;
    size_t blocks = 0, width = 0;     // blocks of words; vectors a block, at least the number of topics
    std::vector<Block> E, R, M, C;    // [blocks, width]: word table, last responsibilities, masked table; [blocks]
    std::vector<Block> own;           // [blocks] what a word counts of itself: one token, or what there is of it
    std::vector<Block> sums, shares;  // [topics]
    std::vector<float> alpha, N, P, logP, least, next, saved, row, chosen;  // [topics]
    std::vector<int32_t> keep, id;

    bool masked() const { return opt.select_often && opt.L < topic.size(); }

    /// A_d = {k : N_dk > eps}, never empty.
    void activate() {
        topic.clear();
        N.clear(), alpha.clear();
        const size_t K = dense.size();
        float largest = -1;
        size_t best = 0;
        for (size_t k0 = 0; k0 < K; k0 += kBlock) {
            const size_t k1 = std::min(K, k0 + kBlock);
            float high = 0;
            for (size_t k = k0; k < k1; ++k) high = std::max(high, dense[k]);
            if (high > largest) {
                largest = high;
                best = size_t(std::find(dense.begin() + k0, dense.begin() + k1, high) - dense.begin());
            }
            if (!(high > opt.eps)) continue;
            for (size_t k = k0; k < k1; ++k)
                if (dense[k] > opt.eps) topic.push_back(int32_t(k));
        }
        if (topic.empty()) topic.push_back(int32_t(best));
        for (const int32_t k : topic) N.push_back(dense[size_t(k)]), alpha.push_back(alpha_all[size_t(k)]);
        std::fill(dense.begin(), dense.end(), 0.f);
        width = topic.size();
        for (auto* x : {&P, &logP, &least, &next}) x->assign(width, 0.f);
    }

    static void at_least(std::vector<Block>& x, size_t n) {
        if (x.size() < n) x.resize(n);
    }

    /// Copies the document's part of the table. The lanes after the last word repeat it and count nothing.
    void gather(std::span<const float> table) {
        const size_t K = dense.size(), n = width;
        at_least(E, blocks * n);
        at_least(C, blocks);
        at_least(own, blocks);
        for (size_t b = 0; b < blocks; ++b) {
            const size_t u0 = b * kBlock, in = std::min(kBlock, words.size() - u0);
            const float* from[kBlock];
            for (size_t i = 0; i < kBlock; ++i) from[i] = &table[size_t(words[u0 + std::min(i, in - 1)]) * K];
            for (size_t j = 0; j < n; ++j) {
                const size_t k = size_t(topic[j]);
                float e[kBlock];
                for (size_t i = 0; i < kBlock; ++i) e[i] = from[i][k];
                std::copy_n(e, kBlock, reinterpret_cast<float*>(&E[b * n + j]));
            }
            for (size_t i = 0; i < kBlock; ++i) C[b][i] = i < in ? counts[u0 + i] : 0.f;
            own[b] = C[b] < 1.f + Block{} ? C[b] : 1.f + Block{};
        }
        if (excludes) {
            at_least(R, blocks * n);
            std::fill_n(R.begin(), blocks * n, Block{});
        }
        if (opt.select_often) at_least(M, blocks * n);
    }

    /// Eq. (3.5b). What the last visit gave to a word is worked out again from its counts; the table has moved since,
    /// and topics that are not active now are left out, so this is near it, not equal.
    void discount(const OwnTokens& tokens) {
        const size_t n = width;
        for (size_t b = 0; b < blocks; ++b) {
            Block *e = &E[b * n], s{}, by_word;
            for (size_t j = 0; j < n; ++j) s += last[size_t(topic[j])] * e[j];
            const size_t u0 = b * kBlock, in = std::min(kBlock, words.size() - u0);
            for (size_t i = 0; i < kBlock; ++i) by_word[i] = tokens.by_word[size_t(words[u0 + std::min(i, in - 1)])];
            const Block given = opt.own_discount * C[b] * by_word / larger(s, kTiny + Block{});
            for (size_t j = 0; j < n; ++j) {
                const float N_last = last[size_t(topic[j])], by_topic = tokens.by_topic[size_t(topic[j])];
                if (N_last > 0)
                    e[j] = larger(e[j] - given * (N_last * by_topic) * e[j], tokens.least * by_topic * by_word);
            }
        }
        std::fill(last.begin(), last.end(), 0.f);
    }

    /// P_k of Eq. (3.6); a topic without tokens has left, and weighs nothing. Scaled by a common factor in the
    /// variational case, where exp(psi) of a small count would underflow.
    void weights() {
        const size_t n = topic.size();
        if (opt.posterior == Posterior::collapsed) {
            for (size_t j = 0; j < n; ++j) {
                least[j] = N[j] > 0 ? alpha[j] : 0.f;
                P[j] = N[j] + least[j];
            }
            return;
        }
        float largest = -std::numeric_limits<float>::infinity();
#pragma omp simd reduction(max : largest)
        for (size_t j = 0; j < n; ++j) {
            logP[j] = N[j] > 0 ? math::digamma(N[j] + alpha[j]) : -1e30f;
            largest = std::max(largest, logP[j]);
        }
#pragma omp simd
        for (size_t j = 0; j < n; ++j) {
            logP[j] -= largest;
            P[j] = math::exp(logP[j]);
        }
    }

    /// One update of all responsibilities: N from P, into `next`. Returns sum_u c_u log s_u when asked.
    template <bool Exclude, bool Judge>
    double sweep() {
        const size_t n = topic.size();
        sums.assign(n, Block{});
        double log_s = 0;
        if constexpr (Exclude) {
            for (size_t b = 0; b < blocks; ++b) reweigh_excluding(b);
        } else {
            size_t b = 0;
            for (; b + 4 <= blocks; b += 4) log_s += reweigh<4, Judge>(b);
            for (; b < blocks; ++b) log_s += reweigh<1, Judge>(b);
        }
        for (size_t j = 0; j < n; ++j) next[j] = sum(sums[j]) * (Exclude ? 1.f : P[j]);
        return log_s;
    }

    /// Several blocks side by side: the sum over topics is a chain of additions, each waiting for the last.
    template <size_t Several, bool Judge>
    double reweigh(size_t b) {
        const size_t n = topic.size(), step = width;
        const float* __restrict p = P.data();
        const Block* __restrict e = masked() ? &M[b * width] : &E[b * width];
        Block* __restrict out = sums.data();
        Block s[Several]{}, q[Several];
        for (size_t j = 0; j < n; ++j)
            for (size_t i = 0; i < Several; ++i) s[i] += p[j] * e[i * step + j];
        for (size_t i = 0; i < Several; ++i) q[i] = C[b + i] / larger(s[i], kTiny + Block{});
        for (size_t j = 0; j < n; ++j) {
            Block x = out[j];
            for (size_t i = 0; i < Several; ++i) x += q[i] * e[i * step + j];
            out[j] = x;
        }
        double log_s = 0;
        if constexpr (Judge)
            for (size_t i = 0; i < Several; ++i)
                for (size_t u = 0; u < kBlock; ++u) log_s += double(C[b + i][u]) * std::log(double(s[i][u]));
        return log_s;
    }

    /// The token aside, its topic still has the prior.
    void reweigh_excluding(size_t b) {
        const size_t n = topic.size();
        const Block* __restrict e = masked() ? &M[b * width] : &E[b * width];
        Block* __restrict r = &R[b * width];
        Block s{};
        for (size_t j = 0; j < n; ++j) {
            r[j] = larger(P[j] - own[b] * r[j], least[j] + Block{}) * e[j];
            s += r[j];
        }
        const Block q = 1.f / larger(s, kTiny + Block{});
        for (size_t j = 0; j < n; ++j) {
            r[j] *= q;
            sums[j] += C[b] * r[j];
        }
    }

    void update() {
        if (excludes)
            sweep<true, false>();
        else
            sweep<false, false>();
        ++iterations;
    }

    void fixed_point(int max_iter) {
        bool left = true;
        for (int it = 0; it < max_iter; ++it) {
            weights();
            if (left || it < 5 || it % 10 == 0) select();  // when a topic left, its tokens need another
            update();
            float largest = 0, total = 0;
            for (size_t j = 0; j < topic.size(); ++j) {
                const float change = std::fabs(next[j] - N[j]);
                largest = std::max(largest, change), total += change;
            }
            N.swap(next);
            left = drop_small();
            if (!left && (opt.mean_change ? total / float(dense.size()) : largest) < opt.tol) break;
        }
        if (max_iter > 0 && keep.size() < topic.size()) squeeze();
        if (left) weights(), select();
    }

    /// Topics at or under eps leave, but never the largest. True if one with tokens left, because those tokens have yet
    /// to find another topic. A topic that left weighs nothing; its vectors go when a quarter of them can go at once,
    /// since moving the rest costs as much as an update.
    bool drop_small() {
        const size_t n = topic.size(), best = size_t(std::ranges::max_element(N) - N.begin());
        bool left = false;
        keep.clear();
        for (size_t j = 0; j < n; ++j)
            if (j == best || N[j] > opt.eps)
                keep.push_back(int32_t(j));
            else
                left |= N[j] > 0, N[j] = 0;
        if (4 * keep.size() <= 3 * n) squeeze();
        return left;
    }

    /// Keeps the vectors of the topics in `keep`.
    void squeeze() {
        const size_t m = keep.size();
        auto narrow = [&](std::vector<Block>& x) {
            for (size_t b = 0; b < blocks; ++b)  // in place: a block's new vectors never pass its old ones
                for (size_t j = 0; j < m; ++j) x[b * m + j] = x[b * width + size_t(keep[j])];
        };
        narrow(E);
        if (excludes) narrow(R);
        if (opt.select_often) narrow(M);
        width = m;
        for (size_t j = 0; j < m; ++j) {
            const size_t from = size_t(keep[j]);
            topic[j] = topic[from], N[j] = N[from], alpha[j] = alpha[from];
        }
        topic.resize(m);
        for (auto* x : {&alpha, &N, &P, &logP, &least, &next}) x->resize(m);
    }

    /// The top L of each word, of all topics in the document; until the next selection only these are reweighted.
    void select() {
        if (!masked()) return;
        const size_t n = topic.size();
        row.resize(n);
        chosen.resize(opt.L);
        id.resize(std::max(opt.L, n));
        for (size_t b = 0; b < blocks; ++b) {
            const Block* e = &E[b * width];
            Block* m = &M[b * width];
            std::fill_n(m, n, Block{});
            for (size_t i = 0; i < kBlock; ++i) {
                for (size_t j = 0; j < n; ++j) row[j] = P[j] * e[j][i];
                select_top_l(std::span<const float>(row), opt.L, id.data(), chosen.data());
                for (size_t l = 0; l < opt.L; ++l) m[id[l]][i] = e[id[l]][i];
            }
        }
    }

    /// The document's objective less a constant, Eq. (3.9), at the responsibilities that N implies.
    double judge() {
        weights();
        const double log_s = sweep<false, true>();
        double terms = 0;
        for (size_t j = 0; j < topic.size(); ++j)
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
        std::vector<int32_t> smallest(topic.size());
        std::iota(smallest.begin(), smallest.end(), 0);
        std::ranges::stable_sort(smallest, {}, [&](int32_t j) { return N[size_t(j)]; });
        size_t live = size_t(std::ranges::count_if(N, [](float x) { return x > 0; }));
        int tries = 0;
        for (const int32_t j : smallest) {
            if (!(N[size_t(j)] > 0)) continue;
            if (tries == opt.restarts || live < 2) break;
            ++tries, ++tried;
            saved = N;
            N[size_t(j)] = 0;
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
        fixed_point(2);  // the last proposal left its responsibilities behind: bring them in line with N
    }
};

}  // namespace topmix
