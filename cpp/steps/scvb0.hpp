// SCVB0 on one minibatch (Foulds et al. 2013, Algorithm 2): tokens in random order, each moves its document's average.
//
//     gamma_k ~ e_vk (N_k + alpha_k)                                                                         Eq. (5)
//     N := (1 - rho_t)^m N + (1 - (1 - rho_t)^m) C gamma,        rho_t = s / (tau + t)^kappa              Eqs. (6), (9)
//
// e_vk is the topics' mean, fixed within a minibatch; C is the document's tokens, m the copies of the word, clumped.
// The clump takes one step size, that of its first copy, as Eq. (9) has it; but t counts tokens, so a clump moves it on
// by m. It runs on through the burn-in passes, which move N and count nothing. At every visit a document starts again:
// t = 0 and N = C alpha / alpha_0, which sums to C and always will, because each step is an average of two such.
//
// The last pass is the one that counts: its m gamma are the statistics. They live in scratch until the words' owners
// have summed them, then they are gone. With L < K each gamma keeps its L best topics.
#pragma once
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "base/math.hpp"
#include "base/parallel.hpp"
#include "base/rng.hpp"
#include "base/views.hpp"
#include "steps/entries.hpp"
#include "steps/priors.hpp"
#include "steps/shard.hpp"
#include "steps/topic_result.hpp"

namespace topmix {

struct Scvb0Options {
    double scale, offset, decay;  // s, tau and kappa of rho_t
    int burn_in;                  // passes before the one that counts
    size_t L;
    uint64_t seed;

    /// rho_t, at most one.
    double rho(double t) const { return std::min(1.0, scale * math::exp(-decay * math::log(offset + t))); }

    /// (1 - rho_t)^m
    double left(double t, double m) const {
        const double stays = 1 - rho(t);
        if (m == 1 || stays <= 0) return std::max(stays, 0.0);
        return math::exp(m * math::log(stays));
    }
};

/// Scratch of one thread: a document's running average.
class Average {
  public:
    Average(const Scvb0Options& options, std::span<const float> prior)
        : opt(options), alpha(prior), N(prior.size()), w(prior.size()), idx(options.L), r(options.L) {
        use_prior(prior);
    }

    /// The prior [K] of the next documents.
    void use_prior(std::span<const float> prior) {
        alpha = prior, alpha0 = 0;
        for (float a : alpha) alpha0 += double(a);
    }

    std::span<const float> counts() const { return N; }

    /// Calls out(u, n, idx, r) for each word u of the pass that counts. Returns sum_u m_u H[gamma_u].
    template <class Out>
    double visit(std::span<const int32_t> words, std::span<const float> copies, Rows<const float> table, Rng rng,
                 Out&& out) {
        const double C = std::accumulate(copies.begin(), copies.end(), 0.0);
        for (size_t k = 0; k < N.size(); ++k) N[k] = float(C * double(alpha[k]) / alpha0);
        order.resize(words.size());
        std::iota(order.begin(), order.end(), 0);

        double t = 0, entropy = 0;
        for (int pass = 0; pass <= opt.burn_in; ++pass) {
            for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[rng.below(uint32_t(i))]);
            for (const size_t u : order) {
                const double m = double(copies[u]), left = opt.left(t, m);
                weigh(table[size_t(words[u])].data(), float(left));
                size_t n = r.size();
                if (pass == opt.burn_in)
                    entropy += m * normalise_top_l(std::span<const float>(w), opt.L, idx.data(), r.data());
                else
                    n = share_top_l(w, opt.L, idx.data(), r.data());
                move(float(C * (1 - left)));
                if (pass == opt.burn_in) out(u, n, idx.data(), r.data());
                t += m;
            }
        }
        return entropy;
    }

  private:
    const Scvb0Options& opt;
    std::span<const float> alpha;  // [K]
    double alpha0 = 0;
    std::vector<float> N, w;  // [K]
    std::vector<int32_t> idx;
    std::vector<float> r;  // [L]
    std::vector<size_t> order;

    /// w = e (N + alpha), and N *= left while it is at hand.
    void weigh(const float* __restrict e, float left) {
        float* __restrict x = N.data(), * __restrict y = w.data();
        const float* __restrict a = alpha.data();
#pragma omp simd
        for (size_t k = 0; k < N.size(); ++k) {
            y[k] = e[k] * (x[k] + a[k]);
            x[k] *= left;
        }
    }

    /// N += mass gamma
    void move(float mass) {
        if (r.size() < N.size()) {
            for (size_t l = 0; l < r.size(); ++l) N[size_t(idx[l])] += mass * r[l];
            return;
        }
        float* __restrict x = N.data();
        const float* __restrict y = r.data();
#pragma omp simd
        for (size_t k = 0; k < N.size(); ++k) x[k] += mass * y[k];
    }
};

/// Documents of one minibatch. The order of a document's tokens is a function of (seed, pass, row). Topics of documents
/// are sums of gamma, as the words' are; the averages N themselves go to `averages` [docs, K] unless that is empty.
/// Counts in `iterations` the gammas that were computed. Needs L <= K.
inline TopicResult scvb0_step(const Shard& shard, Rows<const float> table, const Priors& priors,
                              const Scvb0Options& opt, uint32_t pass, int threads, TopicScratch& scratch,
                              std::span<float> averages) {
    const Csr<float>& X = shard.X;
    const size_t K = priors.shared.size(), L = opt.L, docs = X.rows();
    scratch.topic.resize(X.index.size() * L);
    scratch.share.resize(X.index.size() * L);

    TopicResult out;
    out.docs.indptr.assign(docs + 1, 0);
    std::vector<DocPiece> pieces((docs + kDocumentGrain - 1) / kDocumentGrain);
    parallel_for(docs, kDocumentGrain, threads, [&](size_t begin, size_t end, size_t) {
        DocPiece& piece = pieces[begin / kDocumentGrain];
        Average average(opt, priors.shared);
        std::vector<float> N(K);
        for (size_t d = begin; d < end; ++d) {
            const size_t at = size_t(X.indptr[d]), U = size_t(X.indptr[d + 1]) - at;
            if (U == 0) continue;
            const auto copies = X.value.subspan(at, U);
            if (priors.differ()) average.use_prior(priors[d]);
            std::ranges::fill(N, 0.f);
            piece.entropy += average.visit(X.index.subspan(at, U), copies, table, Rng(opt.seed, pass, d),
                                           [&](size_t u, size_t n, const int32_t* idx, const float* r) {
                                               TopicId* topic = &scratch.topic[(at + u) * L];
                                               float* share = &scratch.share[(at + u) * L];
                                               for (size_t l = 0; l < n; ++l) {
                                                   topic[l] = TopicId(idx[l]);
                                                   N[size_t(idx[l])] += share[l] = copies[u] * r[l];
                                               }
                                           });
            piece.iterations += int64_t(U) * (opt.burn_in + 1);
            keep_document(N, d, piece, out.docs);
            if (!averages.empty()) std::ranges::copy(average.counts(), averages.begin() + int64_t(d * K));
        }
    });
    join(pieces, out);
    out.S = sum_by_word(shard.starts, shard.order, K, threads, [&](int32_t i, Row& S) {
        const TopicId* k = &scratch.topic[size_t(i) * L];
        const float* x = &scratch.share[size_t(i) * L];
        for (size_t l = 0; l < L; ++l) S.add(k[l], double(x[l]));
    });
    return out;
}

}  // namespace topmix
