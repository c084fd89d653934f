// A document's part of the objective, Eq. (3.8), and of what priors are learned from: sums over documents, as integers.
#pragma once
#include "arguments.hpp"
#include "math.hpp"

/// Sums over the documents of one team, in registers until its last document.
struct TeamSums {
    i64 iterations = 0, entropy = 0, within = 0, lengths = 0, gammas = 0, length_gammas = 0, bound = 0;
    i64 tried = 0, accepted = 0;

    __device__ void add_to(i64* sums) const {
        add(&sums[kIterations], iterations), add(&sums[kEntropy], entropy), add(&sums[kWithin], within);
        add(&sums[kLengths], lengths), add(&sums[kGammas], gammas), add(&sums[kLengthGammas], length_gammas);
        add(&sums[kBound], bound);
        if (tried) add(&sums[kTried], tried), add(&sums[kAccepted], accepted);
    }
};

__device__ inline i64 fixed(double x, double scale) { return i64(rint(x * scale)); }

/// What x parts of a token in topic k add, to sums over documents for each topic and to sums of this document.
template <class Args>
__device__ inline void add_topic(const Args& a, int k, u64 x, double& within, double& gammas) {
    const double count = double(x) / double(a.unit), prior = a.alpha[k];
    add(&a.topic_sums[k], i64(x));
    if (a.variational || a.learns_alpha) {
        const double rise = digamma(count + prior) - digamma(prior);
        add(&a.topic_sums[2 * a.K + k], fixed(rise, kTopicSums));
    }
    if (a.variational) {
        gammas += log_gamma(count + prior) - log_gamma(prior);
    } else {
        add(&a.topic_sums[a.K + k], fixed(log_of((count + prior) / prior), kTopicSums));
        within += count * log_of(count + prior);
    }
}

/// The terms that depend on the document's length alone; sums.lengths is sum_d log or psi(N_d + a_0).
template <class Args>
__device__ inline void add_length(const Args& a, double tokens, TeamSums& sums) {
    const double x = tokens + a.alpha_total;
    sums.lengths += fixed(a.variational ? digamma(x) : log_of(x), kSums);
    if (a.variational)
        sums.length_gammas += fixed(log_gamma(x), kSums);
    else
        sums.within -= fixed(tokens * log_of(x), kSums);
}
