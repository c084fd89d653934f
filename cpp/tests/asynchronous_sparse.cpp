// Clusters of sparse rows that move between workers: no race, nothing out of bounds, no row and no count lost, whoever
// stops the workers and when. What the numbers should be, tests/test_asynchronous_sparse.py knows.
#include "asynchronous/sparse_rows.hpp"

#include <cmath>
#include <utility>
#include <vector>

#include "asynchronous/categorical_clusters.hpp"
#include "asynchronous/mixture.hpp"
#include "asynchronous/nomadic_mixture.hpp"
#include "asynchronous/sparse_gaussian.hpp"
#include "base/rng.hpp"
#include "tests/check.hpp"
#include "tests/plain_blas.hpp"

using namespace topmix;
using namespace topmix::asynchronous;

namespace {

constexpr size_t kColumns = 11, kRows = 90;

CategoricalClusters categorical(size_t K, bool bayes) {
    return {bayes, std::vector<double>(kColumns, 0.2), 0.5, 0.5 * double(K) + double(kRows)};
}

SparseGaussian gaussian(size_t K, bool bayes) {
    const std::vector<double> none(kColumns, 0.0), one(kColumns, 1.0);
    NormalWishart prior{{Quadratic::squares, true, kColumns}, bayes, 1.0, none, double(kColumns), one, none, 0.5,
                        0.5 * double(K) + double(kRows)};
    return {std::move(prior), std::vector<double>(kColumns, 0.7), std::vector<double>(kColumns, -0.3)};
}

/// Whole numbers, some rows empty.
template <class Clusters>
struct Problem {
    using Data = SparseRows<Clusters>;
    Clusters prior;
    size_t K, L;
    std::vector<int64_t> indptr{0};
    std::vector<int32_t> index, cluster;
    std::vector<typename Data::Value> value;
    std::vector<float> r;

    Problem(Clusters clusters, size_t n_clusters, size_t active)
        : prior(std::move(clusters)), K(n_clusters), L(active), cluster(kRows * L), r(kRows * L, 1.0f / float(L)) {
        Rng rng(3, 0, 0);
        for (size_t n = 0; n < kRows; ++n) {
            for (size_t v = 0; v < kColumns; ++v)
                if (n % 13 && rng.uniform() < 0.3f) {
                    index.push_back(int32_t(v));
                    value.push_back(typename Data::Value(1 + rng.below(4)));
                }
            indptr.push_back(int64_t(index.size()));
            for (size_t l = 0; l < L; ++l) cluster[n * L + l] = int32_t((n + l) % K);
        }
    }

    Data rows_of(const Clusters& shared, size_t begin, size_t end) const {
        return {shared, {indptr, index, value}, begin, end};
    }

    AsynchronousMixture<Data> learner(size_t workers, size_t blocks, size_t most, uint64_t seed) const {
        std::vector<int64_t> bounds(workers + 1);
        for (size_t w = 0; w <= workers; ++w) bounds[w] = int64_t(w * kRows / workers);
        const std::vector<double> nothing(Data::width(prior));
        return {prior,
                std::vector<SparseCluster>(K, Data::unpacked(prior, nothing.data())),
                Deal{bounds, blocks, most, 17, 1 + int(seed), seed},
                {{}, cluster, r, L},
                [this](const Clusters& shared, size_t begin, size_t end) { return rows_of(shared, begin, end); }};
    }

    /// What all rows add to clusters: kept exactly for counts, since products of shares with whole numbers are exact.
    void check_sums(const std::vector<double>& sums, double tolerance) const {
        std::vector<double> want(Data::numbers(prior)), found(want.size());
        want[0] = double(kRows);
        for (size_t i = 0; i < index.size(); ++i) {
            const auto f = prior.features(size_t(index[i]), value[i]);
            for (size_t j = 0; j < Data::kFeatures; ++j) want[1 + size_t(index[i]) * Data::kFeatures + j] += f[j];
        }
        for (size_t i = 0; i < sums.size(); ++i) found[i % found.size()] += sums[i];
        for (size_t i = 0; i < found.size(); ++i) check(std::abs(found[i] - want[i]) <= tolerance);
    }
};

template <class Clusters>
void nothing_is_lost(const Problem<Clusters>& problem, size_t workers, double tolerance) {
    for (uint64_t seed = 0; seed < 3; ++seed) {
        auto learner = problem.learner(workers, std::max<size_t>(1, problem.K / 2), 1 + seed, seed);
        learner.start(5);
        for (size_t pass = 0; pass < 5; ++pass)
            problem.check_sums(learner.add_up(learner.workers().next()).sums, tolerance);
        learner.stop();
        learner.audit();
        for (size_t leg = 0; leg < 6; ++leg) {  // stopped anywhere
            learner.start(1000);
            if (leg % 2) check(learner.workers().next().size() == workers);
            learner.stop();
            learner.audit();
            problem.check_sums(learner.add_up(learner.workers().now()).sums, tolerance);
        }
    }
}

/// Blocks between two processes: nothing of a cluster stays behind, and every row counts once.
template <class Clusters>
void blocks_come_and_go(const Problem<Clusters>& problem, int threads, double tolerance) {
    using Rows = NomadicMixture<SparseRows<Clusters>>;
    const size_t B = 3, half = kRows / 2;
    auto low = [&](const Clusters& shared) { return problem.rows_of(shared, 0, half); };
    auto high = [&](const Clusters& shared) { return problem.rows_of(shared, half, kRows); };
    const StationSettings settings{double(kRows), problem.K, problem.L, B, 17, threads};
    Rows team[2] = {{problem.prior, settings, {}, low},
                    {problem.prior, settings, std::vector<double>(half, 1.0), high}};
    const size_t width = team[0].width();
    std::vector<std::vector<double>> block(B);
    for (size_t b = 0; b < B; ++b) {
        block[b].assign((team[0].blocks().end(b) - team[0].blocks().begin(b)) * width, 0.0);
        for (size_t i = 0; i < block[b].size(); ++i)  // rows, and sums that rows could have
            block[b][i] = i % width % 2 ? 0.1 * double((i * (b + 2)) % 5) : 4.0;
    }
    auto visit = [&](Rows& rows, std::vector<BlockId> held, auto how) {
        for (const BlockId b : held) rows.put(b, block[b]);
        (rows.*how)(held);
        for (const BlockId b : held) block[b] = rows.take(b);
    };
    for (auto& rows : team) {
        rows.forget();
        visit(rows, {1}, &Rows::compare);
        visit(rows, {0, 2}, &Rows::compare);
        rows.settle();
    }
    for (auto& numbers : block) std::ranges::fill(numbers, 0.0);
    for (auto& rows : team) visit(rows, {2, 0, 1}, &Rows::contribute);
    for (size_t round = 0; round < 3; ++round)
        for (auto& rows : team) {
            visit(rows, {BlockId(round), BlockId((round + 1) % B)}, &Rows::visit);
            visit(rows, {BlockId((round + 2) % B)}, &Rows::visit);
            std::vector<double> all;
            for (const auto& numbers : block) all.insert(all.end(), numbers.begin(), numbers.end());
            problem.check_sums(all, tolerance);
        }
    auto refused = [&](auto&& what) {
        try {
            what();
            check(false, "it was done");
        } catch (const std::logic_error&) {
        }
    };
    const std::vector<BlockId> first{0};
    refused([&] { (void)team[0].take(0); });
    refused([&] { team[0].visit(first); });
    refused([&] { team[0].settle(); });
    team[0].put(0, block[0]);
    refused([&] { team[0].compare(first); });
    team[0].forget();
    refused([&] { team[0].visit(first); });
    refused([&] { team[0].contribute(first); });
    refused([&] { (void)team[0].entropy(); });
    refused([&] { team[0].settle(); });  // no cluster has come
}

}  // namespace

int main() {
    blas::set_plain_blas();
    for (bool bayes : {true, false}) {
        for (size_t workers : {1, 2, 5}) nothing_is_lost(Problem(categorical(9, bayes), 9, 3), workers, 0.0);
        nothing_is_lost(Problem(gaussian(4, bayes), 4, 4), 3, 1e-9);
    }
    nothing_is_lost(Problem(categorical(1, true), 1, 1), 2, 0.0);  // one cluster: nothing to solve
    for (int threads : {1, 3}) {
        blocks_come_and_go(Problem(categorical(7, true), 7, 2), threads, 0.0);
        blocks_come_and_go(Problem(gaussian(7, true), 7, 2), threads, 1e-9);
    }
    return 0;
}
