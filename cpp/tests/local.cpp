// Local steps on small random shards: every token is somewhere, nobody writes out of bounds, and the bits are the same
// for any number of threads. What the numbers should be, tests/test_mixture.py and test_topics_step.py know.
#include <cmath>
#include <vector>

#include "base/rng.hpp"
#include "models/categorical.hpp"
#include "models/topic_table.hpp"
#include "steps/merged.hpp"
#include "steps/mixture.hpp"
#include "steps/topics.hpp"
#include "tests/check.hpp"
#include "tests/random_shard.hpp"

using namespace topmix;

namespace {

void rows_are_assigned(size_t n, size_t K, size_t L) {
    const RandomShard shard(n, 211, 30, 7);
    std::vector<float> table = positive(shard.words() * K, 8), pi = positive(K, 9);
    for (auto* x : {&table, &pi})
        for (float& e : *x) e = std::log(e);
    const std::vector<double> offset(shard.words(), -0.5);
    struct Out {
        std::vector<int32_t> cluster;
        std::vector<float> r;
        std::vector<double> entropy, likelihood;
        bool operator==(const Out&) const = default;
    };
    auto run = [&](int threads) {
        Out out{std::vector<int32_t>(n * L), std::vector<float>(n * L), std::vector<double>(n), std::vector<double>(n)};
        assign_rows(Categorical{table, offset, K}, std::span<const float>(pi), shard.rows(), L, threads,
                    {out.cluster, out.r, out.entropy, out.likelihood});
        return out;
    };
    const Out one = run(1);
    for (size_t d = 0; d < n; ++d) {
        double sum = 0;
        for (size_t l = 0; l < L; ++l) {
            sum += double(one.r[d * L + l]);
            check(l == 0 || one.cluster[d * L + l - 1] < one.cluster[d * L + l]);
        }
        check(std::abs(sum - 1) < 1e-5 && one.entropy[d] >= 0 && std::isfinite(one.likelihood[d]));
    }
    for (int threads : {2, 7}) check(run(threads) == one);
}

void documents_are_solved(size_t n, size_t K, const DocumentOptions& opt) {
    const RandomShard shard(n, 151, 25, 11);
    const std::vector<float> table = positive(shard.words() * K, 12), alpha(K, 0.1f);
    auto run = [&](int threads, const Start& start, TopicScratch& scratch, const LastVisit* last = nullptr,
                   const Responses& responses = {}) {
        return topics_step(shard.view(), {table, K}, Priors{alpha}, opt, start, last, true, threads, scratch,
                           responses);
    };
    TopicScratch scratch;
    const TopicResult one = run(1, {}, scratch);
    check(std::isfinite(one.entropy) && one.entropy >= 0);
    for (size_t d = 0; d < n; ++d) {
        double tokens = 0, topics = 0;
        for (int64_t i = shard.indptr[d]; i < shard.indptr[d + 1]; ++i) tokens += double(shard.value[size_t(i)]);
        for (int64_t i = one.docs.indptr[d]; i < one.docs.indptr[d + 1]; ++i) {
            check(one.docs.topic[size_t(i)] < K && one.docs.count[size_t(i)] > 0);
            topics += double(one.docs.count[size_t(i)]);
        }
        check(std::abs(tokens - topics) <= 1e-4 * tokens, "every token is somewhere, once");
    }
    double all = 0, S = 0;
    for (float x : shard.value) all += double(x);
    for (double x : one.S.totals) S += x;
    check(std::abs(all - S) <= 1e-4 * all);

    auto same = [](const TopicResult& a, const TopicResult& b) {
        return a.S.indptr == b.S.indptr && a.S.topic == b.S.topic && a.S.value == b.S.value &&
               a.S.totals == b.S.totals && a.docs.indptr == b.docs.indptr && a.docs.topic == b.docs.topic &&
               a.docs.count == b.docs.count && a.entropy == b.entropy && a.iterations == b.iterations &&
               a.tried == b.tried && a.accepted == b.accepted;
    };
    const Start left{one.docs.indptr, one.docs.topic, one.docs.count, {}};
    TopicScratch fresh;
    const TopicResult warm = run(1, left, fresh);
    for (int threads : {2, 7}) {
        check(same(run(threads, {}, scratch), one), "scratch and threads do not show");
        check(same(run(threads, left, scratch), warm));
    }
    if (opt.posterior == Posterior::collapsed) {
        const std::vector<double> log_scale(shard.words(), -1), norm(K, 50);
        const LastVisit last{one.docs.indptr, one.docs.topic, one.docs.count, log_scale, norm, 0.01};
        const TopicResult again = run(1, {}, fresh, &last);
        for (int threads : {2, 7}) check(same(run(threads, {}, scratch, &last), again));
    }
    if (!opt.exclude) {
        const std::vector<float> coefficients = positive(3 * K, 14), numbers = positive(n, 15);
        std::vector<float> classes(n);
        for (size_t d = 0; d < n; ++d) classes[d] = float(d % 3);
        for (const Responses& said : {Responses{{coefficients, K}, classes, 0, 50},
                                      Responses{{std::span(coefficients).first(K), K}, numbers, 100, 50}}) {
            const TopicResult again = run(1, {}, fresh, nullptr, said);
            check(std::isfinite(again.entropy) && !same(again, one), "responses say something");
            for (int threads : {2, 7}) check(same(run(threads, {}, scratch, nullptr, said), again));
        }
    }
    run(1, {}, scratch);
    std::vector<int32_t> partner(K, -1);
    for (size_t k = 0; k + 1 < K; k += 2) partner[k] = int32_t(k + 1), partner[k + 1] = int32_t(k);
    std::vector<double> lost(K), lost_again(K);
    merged_entropy(scratch, opt.L, partner, 1, lost);
    for (size_t k = 0; k < K; ++k) check(lost[k] >= -1e-9 && (k % 2 == 0 || lost[k] == 0), "merging takes entropy");
    for (int threads : {2, 7}) {
        merged_entropy(scratch, opt.L, partner, threads, lost_again);
        check(lost_again == lost);
    }
    std::vector<float> dense(n * K);
    for (size_t d = 0; d < n; ++d)
        for (int64_t i = one.docs.indptr[d]; i < one.docs.indptr[d + 1]; ++i)
            dense[d * K + one.docs.topic[size_t(i)]] = one.docs.count[size_t(i)];
    check(same(run(2, {{}, {}, {}, dense}, scratch), warm), "a dense start is a sparse one written out");
}

void tables_have_a_one_in_every_row(Posterior posterior, double eta) {
    const size_t V = 131, K = 7;
    std::vector<double> raw(V * K), norm(K, eta * double(V));
    Rng rng(13, 0, 0);
    for (size_t i = 0; i < raw.size(); ++i)
        if (rng.below(2)) norm[i % K] += raw[i] = 20 * rng.uniform();
    std::vector<int32_t> cols;
    for (int32_t v = 0; v < int32_t(V); v += 2) cols.push_back(v);
    std::vector<float> one;
    for (int threads : {1, 2, 7}) {
        std::vector<float> table(cols.size() * K);
        std::vector<double> scale(cols.size());
        topic_table(posterior, {raw, K}, 1.0, {&eta, 0, 0}, {}, norm, cols, threads, {table, K}, scale);
        for (size_t j = 0; j < cols.size(); ++j) {
            const auto row = std::span(table).subspan(j * K, K);
            check(std::ranges::max(row) == 1 && std::ranges::min(row) > 0 && std::isfinite(scale[j]));
        }
        if (one.empty()) one = table;
        check(table == one);
    }
}

}  // namespace

int main() {
    for (size_t n : {0, 1, 203})
        for (auto [K, L] : {std::pair<size_t, size_t>{1, 1}, {17, 1}, {17, 4}, {17, 17}, {40, 8}})
            rows_are_assigned(n, K, L);

    for (Posterior posterior : {Posterior::collapsed, Posterior::variational})
        for (bool often : {false, true})
            for (auto [K, L] : {std::pair<size_t, size_t>{1, 1}, {23, 1}, {23, 5}, {23, 23}, {70, 6}})
                for (float eps : {0.f, 1.5f}) {
                    DocumentOptions opt{};
                    opt.posterior = posterior, opt.select_often = often, opt.L = L, opt.eps = eps;
                    opt.tol = 0.05f, opt.restart_iter = 3;
                    opt.restarts = eps == 0 ? 2 : 0, opt.mean_change = eps > 0, opt.max_iter = 20;
                    opt.exclude = L != 5, opt.own_discount = often ? 1.f : 0.5f;
                    documents_are_solved(33, K, opt);
                }
    for (int max_iter : {0, 1}) {
        DocumentOptions opt{};
        opt.posterior = Posterior::collapsed, opt.exclude = true, opt.tol = 0.05f;
        opt.eps = 1e9f, opt.L = 3, opt.max_iter = max_iter, opt.select_often = true;
        for (size_t n : {0, 1, 17}) documents_are_solved(n, 20, opt);
    }
    for (double eta : {0.1, 1e-3, 1e-6})
        for (Posterior posterior : {Posterior::collapsed, Posterior::variational})
            tables_have_a_one_in_every_row(posterior, eta);
}
