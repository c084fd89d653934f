// The fixed point of one document: which topics its words come from.  docs/math.md, section 3.
//
// document_sweep.hpp makes one update; here updates are repeated until the counts N stand still. A topic that holds no
// more than eps tokens leaves the document for good. The L-sparse constraint is imposed on what is returned; with
// select_often also along the way, as in the paper.
//
// The counts behind the table hold the document itself, as its last visit left it: so its rare words would
// pull it back to its last topics, while common words have counts in every topic. A discount takes part of its own
// counts out, Eq. (3.5b).
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "base/math.hpp"
#include "simd/top_l.hpp"
#include "steps/document_sweep.hpp"

namespace topmix {

class Document : public DocumentSweep {
  public:
    using DocumentSweep::DocumentSweep;

    int64_t tried = 0, accepted = 0;  // restart proposals, over all documents

    /// Runs a document with words v (rows of the table [words, K]) and counts c. Needs at least one word.
    void solve(std::span<const int32_t> v, std::span<const float> c, std::span<const float> table,
               const OwnTokens* own_tokens = nullptr) {
        words = v, counts = c, blocks = (v.size() + kBlock - 1) / kBlock;
        activate();
        gather(table);
        if (response) response.begin(topic, std::accumulate(c.begin(), c.end(), 0.0));
        if (own_tokens) discount(*own_tokens);
        fixed_point(opt.max_iter);
        if (opt.restarts > 0 && topic.size() > 1) propose_restarts();
    }

    /// The responsibilities that the fixed point implies, each word's top L of them. Calls out(u, m, id, r) for each
    /// word u, with m shares r of topics topic[id[l]], ascending. Returns sum_u c_u H[r_u].
    template <class Out>
    double responsibilities(Out&& out) {
        weights();
        if (lists) return excludes ? of_lists<true>(out) : of_lists<false>(out);
        const size_t n = topic.size();
        double entropy = 0;
        shares.resize(n);
        row.resize(n);
        id.resize(std::max(opt.L, n));
        chosen.resize(opt.L);
        std::iota(id.begin(), id.begin() + n, 0);
        for (size_t b = 0; b < blocks; ++b) {
            const Block *e = &E[b * width], *r = excludes ? &R[b * width] : e;
            Block s{};
            for (size_t j = 0; j < n; ++j)
                s += shares[j] = (excludes ? larger(P[j] - own[b] * r[j], least[j] + Block{}) : P[j] + Block{}) * e[j];
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
    std::vector<float> saved;  // [topics]

    /// Responsibilities over the lists, without topics that left since.
    template <bool Exclude, class Out>
    double of_lists(Out&& out) {
        double entropy = 0;
        had.resize(listed);
        id.resize(std::max(listed, id.size()));
        for (size_t u = 0; u < words.size(); ++u) {
            share<Exclude>(u);
            size_t m = 0;
            for (size_t l = 0; l < listed; ++l)
                if (picked[u * listed + l] > 0) id[m] = pick[u * listed + l], had[m++] = had[l];
            if (m == 0) id[0] = pick[u * listed], had[m++] = 1;
            entropy += double(counts[u]) * normalise(std::span(had).first(m));
            out(u, m, id.data(), had.data());
        }
        return entropy;
    }

    void fixed_point(int max_iter) {
        bool left = true;
        for (int it = 0; it < max_iter; ++it) {
            weights();
            if (left || stale || it < 5 || it % 10 == 0) select();  // when a topic left, its tokens need another
            update();
            if (!step(left)) break;
        }
        if (max_iter > 0 && keep.size() < topic.size()) squeeze();
        if (left || stale) weights(), select();
    }

    /// Takes `next`; topics at or under eps leave. False when nothing moves any more.
    bool step(bool& left) {
        float largest = 0, total = 0;
        for (size_t j = 0; j < topic.size(); ++j) {
            const float change = std::fabs(next[j] - N[j]);
            largest = std::max(largest, change), total += change;
        }
        N.swap(next);
        if (response) response.follow(N);
        left = drop_small();
        return left || !((opt.mean_change ? total / float(dense.size()) : largest) < opt.tol);
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

    /// The document's objective less a constant, Eq. (3.9), at the responsibilities that N implies: those that would be
    /// returned, each word's top L of them.
    double objective() {
        weights();
        const double log_s = !lists && opt.L < topic.size() ? sweep_top_l() : sweep<false, true>();
        double terms = 0;
        for (size_t j = 0; j < topic.size(); ++j)
            if (next[j] > 0) {
                const double x = double(next[j]), a = double(alpha[j]);
                const double log_p = opt.posterior == Posterior::collapsed ? std::log(double(P[j])) : double(logP[j]);
                terms += math::lgamma(x + a) - math::lgamma(a) - x * log_p;
            }
        return log_s + terms + (response ? response.log_likelihood(next) : 0.0);
    }

    /// Tries the document without each of its smallest topics; keeps what raises the objective.
    void propose_restarts() {
        double now = objective();
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
                if (response) response.follow(N);
            }
            if (const double then = objective(); then > now)
                now = then, ++accepted, --live;
            else
                N = saved;
        }
        drop_small();
        fixed_point(2);  // responsibilities are still those of the last proposal: make them agree with N
    }
};

}  // namespace topmix
