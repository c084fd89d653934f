// Clusters of bags of words, phi_k ~ Dir(eta), as they travel.  docs/math.md Eqs. (2.2), (2.3).
//
//     W_kv = E[log phi_kv] = psi(eta_v + S_kv) - psi(sum_v eta_v + S_kv)
//
// needs nothing of other clusters, and E[log pi_k] only N_k and the number of all rows.
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "asynchronous/sparse_rows.hpp"
#include "base/math.hpp"

namespace topmix::asynchronous {

struct CategoricalClusters {
    using Value = float;
    struct UpdateScratch {};
    static constexpr size_t kFeatures = 1;  // the count itself

    bool bayes;               // expectations under a posterior, "vb"; else at the point that "map" and "ml" take
    std::vector<double> eta;  // [words]
    double weight;            // Dirichlet prior of each cluster
    double weights;           // of all clusters, with all rows

    size_t columns() const { return eta.size(); }

    std::array<double, 1> features(size_t, float x) const { return {double(x)}; }

    void refresh(size_t, SparseCluster& c, UpdateScratch&) const {
        auto expected_log = [this](double x) { return bayes ? math::digamma(x) : std::log(x); };
        const double* const S = &c.sum[1];
        double total = 0;
        for (size_t v = 0; v < eta.size(); ++v) total += c.W[v] = eta[v] + std::max(S[v], 0.0);
        const double norm = expected_log(total);
        if (bayes)
#pragma omp simd
            for (size_t v = 0; v < eta.size(); ++v) c.W[v] = math::digamma(c.W[v]) - norm;
        else
#pragma omp simd
            for (size_t v = 0; v < eta.size(); ++v) c.W[v] = math::log(c.W[v]) - norm;
        c.constant = expected_log(weight + std::max(c.sum[0], 0.0)) - expected_log(weights);
    }
};

}  // namespace topmix::asynchronous
