// SCVB0 and CVB0 on small random shards: every token is somewhere, averages sum to lengths, nobody writes out of
// bounds, and the bits are the same for any number of threads. What the numbers should be, tests/test_scvb0.py and
// test_cvb0.py know.
#include <cmath>
#include <vector>

#include "steps/cvb0.hpp"
#include "steps/scvb0.hpp"
#include "tests/check.hpp"
#include "tests/random_shard.hpp"

using namespace topmix;

namespace {

bool same(const TopicResult& a, const TopicResult& b) {
    return a.S.indptr == b.S.indptr && a.S.topic == b.S.topic && a.S.value == b.S.value && a.S.totals == b.S.totals &&
           a.docs.indptr == b.docs.indptr && a.docs.topic == b.docs.topic && a.docs.count == b.docs.count &&
           a.entropy == b.entropy && a.iterations == b.iterations;
}

double tokens(const RandomShard& shard, size_t d) {
    double sum = 0;
    for (int64_t i = shard.indptr[d]; i < shard.indptr[d + 1]; ++i) sum += double(shard.value[size_t(i)]);
    return sum;
}

void every_token_is_somewhere(const RandomShard& shard, const TopicResult& out, size_t K) {
    check(std::isfinite(out.entropy) && out.entropy >= 0);
    double all = 0, S = 0;
    for (size_t d = 0; d + 1 < shard.indptr.size(); ++d) {
        double topics = 0;
        for (int64_t i = out.docs.indptr[d]; i < out.docs.indptr[d + 1]; ++i) {
            check(out.docs.topic[size_t(i)] < K && out.docs.count[size_t(i)] > 0);
            topics += double(out.docs.count[size_t(i)]);
        }
        check(std::abs(tokens(shard, d) - topics) <= 1e-4 * topics);
        all += topics;
    }
    for (double x : out.S.totals) S += x;
    check(std::abs(all - S) <= 1e-4 * all);
}

void averages_sum_to_lengths(size_t n, size_t K, const Scvb0Options& opt) {
    const RandomShard shard(n, 151, 25, 21);
    const std::vector<float> table = positive(shard.words() * K, 22), alpha(K, 0.1f);
    TopicScratch scratch;
    auto run = [&](int threads, std::span<float> averages) {
        return scvb0_step(shard.view(), {table, K}, Priors{alpha}, opt, 3, threads, scratch, averages);
    };
    std::vector<float> N(n * K, 0.f);
    const TopicResult one = run(1, N);
    every_token_is_somewhere(shard, one, K);
    for (size_t d = 0; d < n; ++d) {
        double sum = 0;
        for (size_t k = 0; k < K; ++k) sum += double(N[d * K + k]);
        check(std::abs(sum - tokens(shard, d)) <= 1e-4 * sum);
    }
    for (int threads : {2, 7}) check(same(run(threads, {}), one));
}

void gammas_go_on(size_t n, size_t K, const Cvb0Options& opt) {
    const RandomShard shard(n, 151, 25, 31);
    const size_t V = shard.words();
    std::vector<float> table = positive(V * K, 32);
    const std::vector<float> alpha(K, 0.1f);
    const std::vector<double> log_scale(V, std::log(0.01)), norm(K, 40.0);  // counts of up to 0.4 a word and topic
    auto run = [&](int threads, GammasView last, Gammas& next) {
        return cvb0_step(shard.view(), {{table, K}, log_scale, norm}, Priors{alpha}, opt, last, threads, next);
    };
    Gammas first, second, again;
    const TopicResult one = run(1, {}, first);
    every_token_is_somewhere(shard, one, K);
    const TopicResult two = run(1, {first.topic, first.r}, second);
    every_token_is_somewhere(shard, two, K);
    for (int threads : {2, 7}) {
        check(same(run(threads, {}, again), one) && again.topic == first.topic && again.r == first.r);
        check(same(run(threads, {first.topic, first.r}, again), two) && again.topic == second.topic &&
              again.r == second.r);
    }
}

}  // namespace

int main() {
    for (size_t n : {0, 1, 33})
        for (auto [K, L] : {std::pair<size_t, size_t>{1, 1}, {23, 1}, {23, 5}, {23, 23}, {70, 6}}) {
            for (int burn_in : {0, 2})
                for (double scale : {1.0, 50.0}) {  // the second takes steps of one at first
                    averages_sum_to_lengths(n, K, {scale, 10, 0.9, burn_in, L, 5});
                }
            for (int burn_in : {0, 2}) gammas_go_on(n, K, {L, burn_in, 0.02f});
        }
}
