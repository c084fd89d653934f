// Sums for the bound, and topics by row: those of a plain loop, and the same bits for any number of threads.
#include "global/topic_bound.hpp"

#include <cmath>
#include <vector>

#include "base/rng.hpp"
#include "global/topic_rows.hpp"
#include "tests/check.hpp"

using namespace topmix;

namespace {

void sums_are_those_of_a_plain_loop(size_t V, size_t K, size_t topic_step, float empty) {
    Rng rng(V, 0, K);
    std::vector<double> raw(V * K), eta(topic_step ? K : 1);
    for (double& x : raw) x = rng.uniform_float() < empty ? 0.0 : 100.0 * rng.uniform_float();
    for (double& x : eta) x = 0.01 + rng.uniform_float();
    const WordPrior prior{eta.data(), 0, topic_step};
    if (V > 0) raw[0] = -1e-12;  // what subtraction leaves behind

    for (const Posterior posterior : {Posterior::collapsed, Posterior::variational}) {
        double want = 0, first = 0;
        std::vector<double> want_norm(K), first_norm;
        for (size_t i = 0; i < V * K; ++i) {
            const double x = std::max(0.5 * raw[i], 0.0) + prior(0, i % K);
            want_norm[i % K] += x;
            want += posterior == Posterior::collapsed ? x * std::log(x) : std::lgamma(x);
        }
        for (int threads : {1, 2, 7}) {
            std::vector<double> norm(K, -1.0);
            const double got = topic_bound(posterior, {std::span<const double>(raw), K}, 0.5, prior, threads, norm);
            check(std::abs(got - want) <= 1e-10 * (1 + std::abs(want)));
            for (size_t k = 0; k < K; ++k) check(std::abs(norm[k] - want_norm[k]) <= 1e-12 * (1 + want_norm[k]));
            if (threads == 1) first = got, first_norm = norm;
            check(got == first && norm == first_norm);
        }
    }
    for (int threads : {1, 7}) {
        std::vector<double> counts(K * V), shares(K * V);
        topic_rows({std::span<const double>(raw), K}, 0.5, prior, false, threads, {counts, V});
        topic_rows({std::span<const double>(raw), K}, 0.5, prior, true, threads, {shares, V});
        for (size_t k = 0; k < K && V > 0; ++k) {
            double norm = 0, sum = 0;
            for (size_t v = 0; v < V; ++v) {
                check(counts[k * V + v] == std::max(0.5 * raw[v * K + k], 0.0) + prior(v, k));
                norm += counts[k * V + v], sum += shares[k * V + v];
            }
            check(std::abs(sum - 1) < 1e-12 && std::abs(shares[k * V] * norm - counts[k * V]) < 1e-9);
        }
    }
}

}  // namespace

int main() {
    for (size_t V : {0, 1, 63, 64, 65, 1000})
        for (size_t K : {1, 7, 33, 130})
            for (float empty : {0.5f, 0.95f})
                for (size_t topic_step : {0, 1}) sums_are_those_of_a_plain_loop(V, K, topic_step, empty);
}
