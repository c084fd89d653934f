// Gaussian clusters that move between workers, on small random rows, with a plain BLAS: no race, nothing out of
// bounds, no row lost, whoever stops the workers and when. What the numbers should be,
// tests/test_asynchronous_gaussian.py knows.
#include "asynchronous/gaussian_rows.hpp"

#include <cmath>
#include <vector>

#include "asynchronous/mixture.hpp"
#include "asynchronous/nomadic_mixture.hpp"
#include "base/rng.hpp"
#include "tests/check.hpp"
#include "tests/plain_blas.hpp"

using namespace topmix;
using namespace topmix::asynchronous;

namespace {

template <class T>
struct Problem {
    size_t n, D, K, L;
    NormalWishart prior;
    std::vector<T> z, r, centre;
    std::vector<int32_t> cluster;

    Problem(size_t rows, size_t dimensions, size_t clusters, size_t active, Quadratic kind, bool bayes)
        : n(rows),
          D(dimensions),
          K(clusters),
          L(active),
          z(n * D),
          r(n * L, T(1) / T(L)),
          centre(K * D),
          cluster(n * L) {
        Rng rng(7, 0, 0);
        for (T& x : z) x = T(6 * rng.uniform() - 3);
        for (T& x : centre) x = T(2 * rng.uniform() - 1);
        for (size_t i = 0; i < n; ++i)
            for (size_t l = 0; l < L; ++l) cluster[i * L + l] = int32_t((i + l) % K);
        std::vector<double> B(quadratic_size(kind, D), kind == Quadratic::products ? 0.0 : 2.0);
        for (size_t i = 0, f = 0; kind == Quadratic::products && i < D; f += D - i, ++i) B[f] = 2.0;
        prior = {{kind, true, D},
                 bayes,
                 1.0,
                 std::vector<double>(D, 0.0),
                 double(D),
                 B,
                 std::vector<double>(B.size()),
                 0.5,
                 0.5 * double(K) + double(n)};
    }

    GaussianRows<T> rows_of(const NormalWishart& shared, size_t begin, size_t end) const {
        return {shared, std::vector<T>(z.begin() + ptrdiff_t(begin * D), z.begin() + ptrdiff_t(end * D))};
    }

    AsynchronousMixture<GaussianRows<T>> learner(size_t workers, size_t blocks, size_t most, uint64_t seed) const {
        std::vector<int64_t> bounds(workers + 1);
        for (size_t w = 0; w <= workers; ++w) bounds[w] = int64_t(w * n / workers);
        std::vector<Cluster<T>> clusters;
        for (size_t k = 0; k < K; ++k) {
            std::vector<double> numbers(GaussianRows<T>::width(prior));
            std::copy_n(&centre[k * D], D, numbers.end() - ptrdiff_t(D));
            clusters.push_back(GaussianRows<T>::unpacked(prior, numbers.data()));
        }
        return {prior,
                std::move(clusters),
                Deal{bounds, blocks, most, 17, 1 + int(seed), seed},
                {{}, cluster, r, L},
                [this](const NormalWishart& shared, size_t begin, size_t end) { return rows_of(shared, begin, end); }};
    }
};

template <class T>
void no_row_is_lost(size_t workers, size_t K, size_t L, Quadratic kind, bool bayes) {
    const Problem<T> problem(91, 3, K, L, kind, bayes);
    const size_t blocks = std::max<size_t>(1, K / 2);
    for (uint64_t seed = 0; seed < 3; ++seed) {
        auto learner = problem.learner(workers, blocks, 1 + seed, seed);
        auto rows = [K](const auto& post) {
            double N = 0;
            for (size_t i = 0; i < post.sums.size(); i += post.sums.size() / K) N += post.sums[i];
            return N;
        };
        learner.start(5);
        for (size_t pass = 0; pass < 5; ++pass) {
            const auto posts = learner.workers().next();
            check(posts.size() == workers);
            check(std::abs(rows(learner.add_up(posts)) - 91) < 1e-12);
        }
        learner.stop();
        learner.audit();
        for (size_t leg = 0; leg < 6; ++leg) {  // stopped anywhere
            learner.start(1000);
            if (leg % 2) check(learner.workers().next().size() == workers);
            learner.stop();
            learner.audit();
            check(std::abs(rows(learner.add_up(learner.workers().now())) - 91) < 1e-12);
        }
        for (size_t w = 0; w < workers; ++w) {
            const auto& shares = learner.workers()[w].shares();
            for (size_t i = 0; i < shares.rows(); ++i) {
                double sum = 0;
                for (size_t l = 0; l < L; ++l) sum += double(shares.shares()[i * L + l]);
                check(sum == 1, "to the bit");
            }
        }
    }
}

/// Blocks between two processes: nothing of a cluster stays behind, and every row counts once.
template <class T>
void blocks_come_and_go(Quadratic kind, int threads) {
    const Problem<T> problem(90, 3, 7, 2, kind, true);
    using Rows = NomadicMixture<GaussianRows<T>>;
    const size_t D = problem.D, K = problem.K, B = 3, half = problem.n / 2;
    auto low = [&](const NormalWishart& shared) { return problem.rows_of(shared, 0, half); };
    auto high = [&](const NormalWishart& shared) { return problem.rows_of(shared, half, problem.n); };
    const StationSettings settings{double(problem.n), K, 2, B, 17, threads};
    Rows team[2] = {{problem.prior, settings, {}, low},
                    {problem.prior, settings, std::vector<double>(half, 1.0), high}};
    const size_t width = team[0].width();
    std::vector<std::vector<double>> block(B);
    size_t k = 0;
    for (size_t b = 0; b < B; ++b)
        for (; k < (b + 1) * K / B; ++k) {
            std::vector<double> row(width, 0.0);
            for (size_t d = 0; d < D; ++d) row[width - D + d] = row[1 + d] = double(problem.centre[k * D + d]);
            row[0] = 1;
            block[b].insert(block[b].end(), row.begin(), row.end());
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
    for (auto& numbers : block)
        for (size_t i = 0; i < numbers.size(); ++i)
            if (i % width < width - D) numbers[i] = 0;
    for (auto& rows : team) visit(rows, {2, 0, 1}, &Rows::contribute);
    for (size_t round = 0; round < 3; ++round)
        for (auto& rows : team) {
            visit(rows, {BlockId(round), BlockId((round + 1) % B)}, &Rows::visit);
            visit(rows, {BlockId((round + 2) % B)}, &Rows::visit);
            double N = 0;
            for (const auto& numbers : block)
                for (size_t i = 0; i < numbers.size(); i += width) N += numbers[i];
            check(std::abs(N - 90) < 1e-9);
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

void a_singular_covariance_is_an_error() {
    Problem<double> problem(8, 3, 2, 1, Quadratic::products, false);
    std::ranges::fill(problem.prior.B, 0.0);  // and rows on a plane
    for (size_t i = 0; i < problem.n; ++i) problem.z[3 * i] = 0;
    try {
        problem.learner(1, 1, 1, 0);
        check(false, "it was inverted");
    } catch (const std::domain_error&) {
    }
}

}  // namespace

int main() {
    blas::set_plain_blas();
    for (Quadratic kind : {Quadratic::norm, Quadratic::squares, Quadratic::products})
        for (size_t workers : {1, 2, 5}) {
            no_row_is_lost<float>(workers, 9, 3, kind, true);
            no_row_is_lost<double>(workers, 4, 4, kind, true);
        }
    no_row_is_lost<float>(3, 1, 1, Quadratic::products, true);  // one cluster: nothing to solve
    no_row_is_lost<float>(2, 8, 2, Quadratic::squares, false);
    for (int threads : {1, 3}) {
        blocks_come_and_go<float>(Quadratic::products, threads);
        blocks_come_and_go<double>(Quadratic::squares, threads);
    }
    a_singular_covariance_is_an_error();
    return 0;
}
