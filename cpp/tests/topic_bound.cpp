// Sums for the bound: those of a plain loop, and the same bits for any number of threads.
#include "topic_bound.hpp"

#include <cmath>
#include <vector>

#include "check.hpp"
#include "rng.hpp"

using namespace topmix;

namespace {

void sums_are_those_of_a_plain_loop(size_t V, size_t K) {
    Rng rng(V, 0, K);
    std::vector<double> raw(V * K), eta(K);
    for (double& x : raw) x = rng.uniform_float() < 0.5f ? 0.0 : 100.0 * rng.uniform_float();
    for (double& x : eta) x = 0.01 + rng.uniform_float();
    if (V > 0) raw[0] = -1e-12;  // what subtraction leaves behind

    for (const Posterior posterior : {Posterior::collapsed, Posterior::variational}) {
        double want = 0, first = 0;
        std::vector<double> want_norm(K), first_norm;
        for (size_t i = 0; i < V * K; ++i) {
            const double x = std::max(0.5 * raw[i], 0.0) + eta[i % K];
            want_norm[i % K] += x;
            want += posterior == Posterior::collapsed ? x * std::log(x) : std::lgamma(x);
        }
        for (int threads : {1, 2, 7}) {
            std::vector<double> norm(K, -1.0);
            const double got =
                topic_bound(posterior, {std::span<const double>(raw), K}, 0.5, {eta.data(), 0, 1}, threads, norm);
            check(std::abs(got - want) <= 1e-10 * (1 + std::abs(want)));
            for (size_t k = 0; k < K; ++k) check(std::abs(norm[k] - want_norm[k]) <= 1e-12 * (1 + want_norm[k]));
            if (threads == 1) first = got, first_norm = norm;
            check(got == first && norm == first_norm);
        }
    }
}

}  // namespace

int main() {
    for (size_t V : {0, 1, 63, 64, 65, 1000})
        for (size_t K : {1, 7, 33}) sums_are_those_of_a_plain_loop(V, K);
}
