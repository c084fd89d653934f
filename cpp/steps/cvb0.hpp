// CVB0 on one shard: every token keeps its gamma, and is left out of all three counts when it is updated.
//
//     gamma_k ~ (N_dk - g_k + alpha_k) (N_vk - g_k + eta_v) / (N_k - g_k + eta)          Foulds et al. 2013, Eq. (3)
//
// The document's counts N_dk follow every update, entry by entry. The words' N_vk and the totals N_k are fixed while
// the shard is visited, so documents are independent. They hold g, this token's gamma after the last visit: each visit
// makes one sweep, so that it is also what the document holds. At the first visit they hold nothing of it, and a
// document that starts from its words alone is swept burn_in times before the sweep that counts. A word that stands in
// a document several times has one gamma, and one copy is left out.
//
// Counts of words are read off the table e_vk = (N_vk + eta_v) / (N_k + eta) / scale_v. All K topics are weighed from
// it; only those few that the token itself holds are then weighed again.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "base/parallel.hpp"
#include "base/views.hpp"
#include "steps/entries.hpp"
#include "steps/priors.hpp"
#include "steps/shard.hpp"
#include "steps/topic_result.hpp"

namespace topmix {

struct Cvb0Options {
    size_t L;
    int burn_in;  // sweeps over a document before it is counted for the first time
    float least;  // the smallest prior count of a word, which no exclusion goes below
};

/// What topics hold of the words of a shard.
struct Cvb0Words {
    Rows<const float> table;            // [words, K]
    std::span<const double> log_scale;  // [words]
    std::span<const double> norm;       // [K] N_k + eta
};

/// gamma of every entry: L topics, ascending, and their shares.
struct Gammas {
    std::vector<TopicId> topic;  // [nnz, L]
    std::vector<float> r;        // [nnz, L]
};
struct GammasView {
    std::span<const TopicId> topic;
    std::span<const float> r;
};

/// Scratch of one thread: a document's counts.
class Excluding {
  public:
    Excluding(const Cvb0Options& options, const Cvb0Words& words_of, std::span<const float> prior)
        : opt(options),
          words(words_of),
          alpha(prior),
          norm(prior.size()),
          N(prior.size()),
          w(prior.size()),
          idx(options.L) {
        for (size_t k = 0; k < norm.size(); ++k) norm[k] = float(words.norm[k]);
    }

    int64_t sweeps = 0;

    /// The prior [K] of the next documents, where each has its own.
    void use_prior(std::span<const float> prior) { alpha = prior; }

    std::span<const float> counts() const { return N; }

    /// One sweep over a document with words v, c copies each; gamma [U, L] is where it starts and where it ends, and if
    /// `counted` also what the words hold of it. Returns sum_u c_u H[gamma_u].
    double sweep(std::span<const int32_t> v, std::span<const float> c, bool counted, TopicId* topic, float* r) {
        count(c, topic, r);
        double entropy = 0;
        for (size_t u = 0; u < v.size(); ++u)
            entropy += double(c[u]) * update(size_t(v[u]), c[u], counted, topic + u * opt.L, r + u * opt.L);
        ++sweeps;
        count(c, topic, r);  // what rounding left behind is gone
        return entropy;
    }

    /// gamma from the word alone: the start of a document at its first visit.
    void start(size_t v, TopicId* topic, float* r) {
        share_top_l(words.table[v], opt.L, idx.data(), r);
        std::ranges::copy(idx, topic);
    }

  private:
    const Cvb0Options& opt;
    const Cvb0Words& words;
    std::span<const float> alpha;   // [K]
    std::vector<float> norm, N, w;  // [K]
    std::vector<int32_t> idx;       // [L]

    void count(std::span<const float> c, const TopicId* topic, const float* r) {
        std::ranges::fill(N, 0.f);
        for (size_t u = 0, i = 0; u < c.size(); ++u)
            for (size_t l = 0; l < opt.L; ++l, ++i) N[topic[i]] += c[u] * r[i];
    }

    /// w with nothing left out. Rounding may make N slightly negative.
    void weigh(const float* __restrict e) {
        const float* __restrict n = N.data(), * __restrict a = alpha.data();
        float* __restrict y = w.data();
#pragma omp simd
        for (size_t k = 0; k < N.size(); ++k) y[k] = e[k] * (std::max(n[k], 0.f) + a[k]);
    }

    /// One token's gamma, and N with it.
    double update(size_t v, float c, bool counted, TopicId* topic, float* r) {
        const size_t L = opt.L;
        const float *e = words.table[v].data(), copy = std::min(c, 1.f), scale = float(std::exp(words.log_scale[v]));
        weigh(e);
        for (size_t l = 0; l < L; ++l) {
            const size_t k = topic[l];
            const float g = copy * r[l];
            float phi = e[k];
            if (counted)
                phi = std::max(phi * scale * norm[k] - g, opt.least) / (scale * std::max(norm[k] - g, opt.least));
            w[k] = phi * (std::max(N[k] - g, 0.f) + alpha[k]);
        }
        for (size_t l = 0; l < L; ++l) N[topic[l]] -= c * r[l];
        const double H = normalise_top_l(std::span<const float>(w), L, idx.data(), r);
        for (size_t l = 0; l < L; ++l) {
            topic[l] = TopicId(idx[l]);
            N[size_t(idx[l])] += c * r[l];
        }
        return H;
    }
};

/// Every document of a shard from where its gammas were left, or from its words where `last` is empty; the new ones are
/// written to `next`. Counts sweeps in `iterations`. Needs L <= K.
inline TopicResult cvb0_step(const Shard& shard, const Cvb0Words& words, const Priors& priors, const Cvb0Options& opt,
                             GammasView last, int threads, Gammas& next) {
    const Csr<float>& X = shard.X;
    const size_t K = priors.shared.size(), L = opt.L, docs = X.rows();
    next.topic.resize(X.index.size() * L);
    next.r.resize(X.index.size() * L);

    TopicResult out;
    out.docs.indptr.assign(docs + 1, 0);
    std::vector<DocPiece> pieces((docs + kDocumentGrain - 1) / kDocumentGrain);
    parallel_for(docs, kDocumentGrain, threads, [&](size_t begin, size_t end, size_t) {
        DocPiece& piece = pieces[begin / kDocumentGrain];
        Excluding document(opt, words, priors.shared);
        for (size_t d = begin; d < end; ++d) {
            const size_t at = size_t(X.indptr[d]), U = size_t(X.indptr[d + 1]) - at;
            if (U == 0) continue;
            if (priors.differ()) document.use_prior(priors[d]);
            TopicId* topic = &next.topic[at * L];
            float* r = &next.r[at * L];
            const auto v = X.index.subspan(at, U);
            const auto c = X.value.subspan(at, U);
            const bool counted = !last.r.empty();
            if (counted) {
                std::ranges::copy(last.topic.subspan(at * L, U * L), topic);
                std::ranges::copy(last.r.subspan(at * L, U * L), r);
            } else {
                for (size_t u = 0; u < U; ++u) document.start(size_t(v[u]), topic + u * L, r + u * L);
                for (int pass = 0; pass < opt.burn_in; ++pass) document.sweep(v, c, false, topic, r);
            }
            piece.entropy += document.sweep(v, c, counted, topic, r);
            keep_document(document.counts(), d, piece, out.docs);
        }
        piece.iterations = document.sweeps;
    });
    join(pieces, out);
    out.S = sum_by_word(shard.starts, shard.order, K, threads, [&](int32_t i, Row& S) {
        const TopicId* k = &next.topic[size_t(i) * L];
        const float *r = &next.r[size_t(i) * L], c = X.value[size_t(i)];
        for (size_t l = 0; l < L; ++l) S.add(k[l], double(c * r[l]));
    });
    return out;
}

}  // namespace topmix
