// Sums for the bound, and topics by row: those of a plain loop, and the same bits for any number of threads.
#include "models/topic_bound.hpp"

#include <cmath>
#include <numeric>
#include <vector>

#include "base/rng.hpp"
#include "models/topic_rows.hpp"
#include "models/topic_table.hpp"
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

/// The same prior twice: extra counts beside one eta, and all of it written out.
void extra_counts_are_a_dense_prior(size_t V, size_t K) {
    Rng rng(V, 1, K);
    const double eta = 0.1;
    std::vector<double> raw(V * K), dense(V * K, eta), value;
    std::vector<int64_t> indptr{0};
    std::vector<TopicId> topic;
    for (double& x : raw) x = rng.below(10) ? 0.0 : 100.0 * rng.uniform();
    for (size_t v = 0; v < V; ++v) {
        for (size_t k = 0; k < K; ++k)
            if (rng.below(v % 7 == 3 ? 1 : 20) == 0) {
                topic.push_back(TopicId(k)), value.push_back(10 * rng.uniform());
                dense[v * K + k] += value.back();
            }
        indptr.push_back(int64_t(topic.size()));
    }
    const WordPrior sparse{&eta, 0, 0, {{}, {}, indptr, topic, value, 1.0}}, written{dense.data(), K, 1};
    std::vector<int32_t> cols(V);
    std::iota(cols.begin(), cols.end(), 0);
    for (const Posterior posterior : {Posterior::collapsed, Posterior::variational})
        for (int threads : {1, 3}) {
            std::vector<double> norm(K), want_norm(K), scale(V), want_scale(V), rows(K * V), want_rows(K * V);
            std::vector<float> table(V * K), want_table(V * K);
            const double got = topic_bound(posterior, {std::span<const double>(raw), K}, 0.5, sparse, threads, norm);
            const double want = topic_bound(posterior, {std::span<const double>(raw), K}, 0.5, written, 1, want_norm);
            check(std::abs(got - want) <= 1e-12 * (1 + std::abs(want)) && norm == want_norm);
            topic_rows({std::span<const double>(raw), K}, 0.5, sparse, true, threads, {rows, V});
            topic_rows({std::span<const double>(raw), K}, 0.5, written, true, 1, {want_rows, V});
            check(rows == want_rows);
            topic_table(posterior, {raw, K}, 0.5, sparse, {}, norm, cols, threads, {table, K}, scale);
            topic_table(posterior, {raw, K}, 0.5, written, {}, norm, cols, 1, {want_table, K}, want_scale);
            check(table == want_table && scale == want_scale);
        }
}

}  // namespace

int main() {
    for (size_t V : {1, 64, 200})
        for (size_t K : {1, 7, 33, 130}) extra_counts_are_a_dense_prior(V, K);
    for (size_t V : {0, 1, 63, 64, 65, 1000})
        for (size_t K : {1, 7, 33, 130})
            for (float empty : {0.5f, 0.95f})
                for (size_t topic_step : {0, 1}) sums_are_those_of_a_plain_loop(V, K, topic_step, empty);
}
