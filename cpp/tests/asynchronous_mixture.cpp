// Clusters that move between workers, with dense rows, sparse rows and counts, and a plain BLAS: no race, nothing out
// of bounds, no row and no count lost, whoever stops the workers and when. What the numbers should be,
// tests/test_asynchronous_gaussian.py and test_asynchronous_sparse.py know.
#include "asynchronous/mixture.hpp"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "asynchronous/gaussian_rows.hpp"
#include "asynchronous/sparse_rows.hpp"
#include "base/rng.hpp"
#include "tests/check.hpp"
#include "tests/plain_blas.hpp"

using namespace topmix;
using namespace topmix::asynchronous;

namespace {

constexpr size_t kRows = 90, kColumns = 5;

enum class Kind { full, diag, spherical, sparse, counts };

/// Small whole numbers, some rows empty.
struct Problem {
    Kind kind;
    bool bayes;
    size_t K, L;
    std::vector<int64_t> indptr{0};
    std::vector<int32_t> index{}, cluster;
    std::vector<float> count{};
    std::vector<double> dense, centre;
    std::vector<float> r;

    Problem(Kind what, size_t n_clusters, size_t active, bool posterior = true)
        : kind(what),
          bayes(posterior),
          K(n_clusters),
          L(active),
          cluster(kRows * L),
          dense(kRows * kColumns),
          centre(is_dense() ? K * kColumns : 0),
          r(kRows * L, 1.0f / float(L)) {
        Rng rng(3, 0, 0);
        for (size_t n = 0; n < kRows; ++n) {
            for (size_t v = 0; v < kColumns; ++v)
                if (n % 13 && rng.uniform() < 0.5f) {
                    index.push_back(int32_t(v));
                    count.push_back(float(1 + rng.below(4)));
                    dense[n * kColumns + v] = double(count.back());
                }
            indptr.push_back(int64_t(index.size()));
            for (size_t l = 0; l < L; ++l) cluster[n * L + l] = int32_t((n + l) % K);
        }
        for (double& x : centre) x = rng.uniform();
    }

    bool is_dense() const { return kind != Kind::sparse && kind != Kind::counts; }

    NormalWishart prior() const {
        const Quadratic q = kind == Kind::full        ? Quadratic::products
                            : kind == Kind::spherical ? Quadratic::norm
                                                      : Quadratic::squares;
        std::vector<double> B(quadratic_size(q, kColumns), kind == Kind::full ? 0.0 : 2.0);
        for (size_t i = 0, f = 0; kind == Kind::full && i < kColumns; f += kColumns - i, ++i) B[f] = 2.0;
        const std::vector<double> none(kColumns), no_reg(B.size());
        return {{q, true, kColumns}, bayes, 1.0, none, double(kColumns), B, no_reg, 0.5};
    }

    std::shared_ptr<const ClusterRows> rows(size_t begin, size_t end) const {
        const std::span<const int64_t> starts(&indptr[begin], end - begin + 1);
        std::vector<int64_t> from_zero;
        for (const int64_t at : starts) from_zero.push_back(at - starts[0]);
        const auto mine = [&](const auto& all) {
            return std::span(all).subspan(size_t(starts.front()), size_t(starts.back() - starts.front()));
        };
        if (kind == Kind::counts)
            return std::make_shared<CategoricalRows>(bayes, std::vector<double>(kColumns, 0.2), 0.5,
                                                     Csr<float>{from_zero, mine(index), mine(count)});
        if (kind == Kind::sparse) {
            const std::vector<double> scale(kColumns, 1.0), zero(kColumns, -0.25), value(count.begin(), count.end());
            return std::make_shared<SparseGaussianRows>(prior(), scale, zero,
                                                        Csr<double>{from_zero, mine(index), mine(value)});
        }
        return std::make_shared<GaussianRows>(
            prior(), std::vector<double>(&dense[begin * kColumns], dense.data() + end * kColumns));
    }

    MixtureSettings settings(size_t blocks, int threads) const { return {double(kRows), K, L, blocks, 17, threads}; }

    /// What all rows add to clusters. Of counts it is kept exactly: products of shares with whole numbers are exact.
    void check_sums(const std::vector<double>& sums, size_t width) const {
        double N = 0, first = 0, want = 0;
        for (size_t at = 0; at < sums.size(); at += width) N += sums[at], first += sums[at + 1];
        for (size_t n = 0; n < kRows; ++n) want += dense[n * kColumns];
        check(N == double(kRows), "to the bit");
        check(std::abs(first - want) <= (kind == Kind::counts ? 0.0 : 1e-9));
    }
};

void no_row_is_lost(const Problem& problem, size_t workers) {
    std::vector<int64_t> bounds(workers + 1);
    for (size_t w = 0; w <= workers; ++w) bounds[w] = int64_t(w * kRows / workers);
    const size_t blocks = std::max<size_t>(1, problem.K / 2);
    for (uint64_t seed = 0; seed < 3; ++seed) {
        AsynchronousMixture learner(problem.rows(0, kRows), {}, problem.settings(blocks, 1 + int(seed)), bounds,
                                    1 + seed, seed, {problem.cluster, problem.r, problem.centre});
        const size_t width = learner.shared().rows->sizes().sum;
        learner.start(5);
        for (size_t pass = 0; pass < 5; ++pass) {
            const auto posts = learner.workers().next();
            check(posts.size() == workers);
            problem.check_sums(AsynchronousMixture::add_up(posts).sums, width);
        }
        for (size_t leg = 0; leg < 6; ++leg) {  // stopped anywhere
            learner.start(1000);
            if (leg % 2) check(learner.workers().next().size() == workers);
            learner.stop();
            learner.audit();
            problem.check_sums(AsynchronousMixture::add_up(learner.workers().now()).sums, width);
        }
        const RowShares& shares = learner.shared().shares;
        for (size_t n = 0; n < kRows; ++n) {
            double sum = 0;
            for (size_t l = 0; l < problem.L; ++l) sum += double(shares.shares()[n * problem.L + l]);
            check(sum == 1, "to the bit");
        }
    }
}

template <class Fn>
void refused(Fn what) {
    try {
        what();
        check(false, "it was done");
    } catch (const std::logic_error&) {
    }
}

/// Blocks between two processes: nothing of a cluster stays behind, and every row counts once.
void blocks_come_and_go(const Problem& problem, int threads) {
    const size_t B = 3, half = kRows / 2;
    const std::vector<int64_t> bounds{0, int64_t(half)};
    NomadicMixture team[2] = {
        {problem.rows(0, half), {}, problem.settings(B, threads), bounds},
        {problem.rows(half, kRows), std::vector<double>(half, 1.0), problem.settings(B, threads), bounds}};
    const size_t width = team[0].shared().rows->width();
    std::vector<std::vector<double>> block(B);
    for (size_t b = 0; b < B; ++b) {
        const Blocks& blocks = team[0].shared().blocks;
        block[b].assign((blocks.end(b) - blocks.begin(b)) * width, 0.0);
        for (size_t i = 0; i < block[b].size(); i += width)  // rows, and sums that rows could have
            for (size_t j = 0; j <= kColumns; ++j) block[b][i + j] = j == 0 ? 4.0 : 0.1 * double((i * (b + 2) + j) % 5);
    }
    auto visit = [&](NomadicMixture& rows, std::vector<BlockId> held, auto how) {
        for (const BlockId b : held) rows.put(b, block[b]);
        (rows.*how)(held);
        for (const BlockId b : held) block[b] = rows.take(b);
    };
    for (auto& rows : team) {
        rows.forget();
        visit(rows, {1}, &NomadicMixture::compare);
        visit(rows, {0, 2}, &NomadicMixture::compare);
        rows.settle();
    }
    for (auto& numbers : block) std::ranges::fill(numbers, 0.0);
    for (auto& rows : team) visit(rows, {2, 0, 1}, &NomadicMixture::contribute);
    for (size_t round = 0; round < 3; ++round)
        for (auto& rows : team) {
            visit(rows, {BlockId(round), BlockId((round + 1) % B)}, &NomadicMixture::visit);
            visit(rows, {BlockId((round + 2) % B)}, &NomadicMixture::visit);
            std::vector<double> all;
            for (const auto& numbers : block) all.insert(all.end(), numbers.begin(), numbers.end());
            problem.check_sums(all, width);
        }
    const std::vector<BlockId> first{0};
    refused([&] { (void)team[0].take(0); });
    refused([&] { team[0].visit(first); });
    refused([&] { team[0].settle(); });
    team[0].put(0, block[0]);
    refused([&] { team[0].put(0, block[0]); });
    refused([&] { team[0].compare(first); });
    team[0].forget();
    refused([&] { team[0].visit(first); });
    refused([&] { team[0].contribute(first); });
    refused([&] { (void)team[0].entropy(); });
    refused([&] { team[0].settle(); });  // no cluster has come
}

void a_singular_covariance_is_an_error() {
    const std::vector<double> nothing(3);
    const NormalWishart prior{{Quadratic::products, true, 2}, false, 1.0, {0, 0}, 2.0, nothing, nothing, 0.5};
    Cluster cluster{std::vector<double>(6), std::vector<double>(5), 0.0, {0, 0}};
    try {
        refresh(prior, 7, cluster);
        check(false, "it has an inverse");
    } catch (const std::domain_error& error) {
        check(std::string(error.what()).starts_with("the covariance of cluster 7 is singular"));
    }
}

}  // namespace

int main() {
    blas::set_plain_blas();
    for (bool bayes : {true, false})
        for (size_t workers : {1, 2, 5}) {
            no_row_is_lost({Kind::counts, 9, 3, bayes}, workers);
            no_row_is_lost({workers == 1 ? Kind::full : Kind::diag, 6, 2, bayes}, workers);
        }
    no_row_is_lost({Kind::full, 5, 5}, 3);
    no_row_is_lost({Kind::spherical, 4, 1}, 2);
    no_row_is_lost({Kind::sparse, 4, 4}, 3);
    no_row_is_lost({Kind::counts, 1, 1}, 2);  // one cluster: nothing to solve
    for (int threads : {1, 3})
        for (const Kind kind : {Kind::full, Kind::sparse, Kind::counts}) blocks_come_and_go({kind, 7, 2}, threads);
    a_singular_covariance_is_an_error();
}
