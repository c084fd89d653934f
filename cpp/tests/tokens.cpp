// Models with one topic a token, on small random documents: counts are those of the tokens, nobody writes out of
// bounds, and the bits are the same for any number of threads. What is drawn, tests/test_gibbs.py and
// test_combinatorial.py know.
#include <cmath>
#include <numeric>
#include <vector>

#include "chains/combinatorial.hpp"
#include "chains/gibbs.hpp"
#include "chains/gibbs_sequential.hpp"
#include "chains/refine.hpp"
#include "steps/sample.hpp"
#include "tests/check.hpp"
#include "tests/random_shard.hpp"

using namespace topmix;

namespace {

struct Model {
    RandomShard shard;
    size_t V, K;
    std::vector<int64_t> first;
    std::vector<TopicId> z;
    std::vector<int32_t> word;
    std::vector<int64_t> total;

    Model(size_t n, size_t K_) : shard(n, 151, 25, 3), V(shard.words()), K(K_), word(V * K), total(K) {
        first.push_back(0);
        for (size_t d = 0; d < n; ++d) {
            int64_t tokens = 0;
            for (int64_t u = shard.indptr[d]; u < shard.indptr[d + 1]; ++u) tokens += int64_t(shard.value[size_t(u)]);
            first.push_back(first.back() + tokens);
        }
        Rng rng(1, 0, 0);
        for (int64_t i = 0; i < first.back(); ++i) z.push_back(TopicId(rng.below(uint32_t(K))));
        count_tokens(tokens(), 2, counts());
    }

    Tokens tokens() { return {shard.rows(), first, z}; }
    TopicCounts counts() { return {word, total}; }

    void counts_are_those_of_tokens() {
        const auto w = word;
        const auto t = total;
        count_tokens(tokens(), 1, counts());
        check(w == word && t == total);
        check(std::accumulate(total.begin(), total.end(), int64_t(0)) == first.back());
    }
};

void blocks_are_sampled(size_t n, size_t K) {
    const double eta = 0.1;
    auto run = [&](int threads) {
        Model m(n, K);
        const std::vector<double> eta_totals(K, eta * double(m.V + 1));
        const std::vector<float> alpha(K, 0.1f);
        const std::vector<int64_t> bounds{0, int64_t(n) / 3, int64_t(n)};
        const WordOrder order(m.tokens().X, m.V, bounds, threads);
        double sum = 0;
        for (uint32_t sweep = 1; sweep <= 3; ++sweep)
            for (size_t block = 0; block < 2; ++block) {
                const TopicNumbers numbers(topic_norms(m.total, eta_totals));
                const TopicWeights topics{alpha, numbers.inverse, numbers.larger, float(eta)};
                const CountedWords words({m.word, K}, {&eta, 0, 0}, numbers.inverse, alpha);
                const auto sample = sweep == 2 ? &sample_documents<float> : &sample_documents<uint16_t>;
                sum += sample(order, block, m.z, topics, words, {7, sweep, 0}, threads, m.counts());
                m.counts_are_those_of_tokens();
            }
        check(std::isfinite(sum));
        return std::pair(m.z, sum);
    };
    const auto one = run(1);
    for (int threads : {2, 7}) check(run(threads) == one);

    Model m(n, K);
    const std::vector<double> eta_totals(K, eta * double(m.V + 1));
    const double documents =
        gibbs_sequential(m.tokens(), std::vector<float>(K, 0.1f), {&eta, 0, 0}, eta_totals, 7, 1, m.counts());
    m.counts_are_those_of_tokens();
    const double words = log_probability_of_words({m.word, K}, m.total, {&eta, 0, 0}, eta_totals, 2);
    check(std::isfinite(documents + words));
}

/// By tables: given the documents' topics, which may name one more often than there are topics, then given all others.
/// Where no topic weighs anything a token still gets one.
void shards_are_sampled(size_t n, size_t K, float weight) {
    auto run = [&](int threads) {
        Model m(n, K);
        const std::vector<float> alpha(K, 0.1f), by_word(m.V, 2.f), table(m.V * K, weight);
        const TopicNumbers numbers(std::vector<double>(K, 40.0));
        const TopicWeights topics{alpha, numbers.inverse, numbers.larger, 0.1f};
        const TableWords words({table, K}, by_word, alpha);
        const std::vector<int64_t> bounds{0, int64_t(n)};
        const WordOrder order(m.tokens().X, m.V, bounds, threads);
        const size_t many = 3 * K + 9;
        std::vector<int64_t> indptr(n + 1);
        for (size_t d = 0; d < n; ++d) indptr[d + 1] = indptr[d] + int64_t(many);
        const std::vector<TopicId> topic(n * many, TopicId(K - 1));
        const std::vector<float> count(n * many, 1.f);
        const GivenTopics given{indptr, topic, count};
        std::vector<std::vector<TopicId>> drawn;
        for (uint32_t sweep = 0; sweep < 2; ++sweep) {
            const TopicResult out =
                sample_step(order, m.z, topics, words, sweep == 0 ? &given : nullptr, {7, sweep, 0}, threads);
            double tokens = 0;
            for (const double x : out.S.totals) tokens += x;
            check(tokens == double(m.z.size()));
            for (const TopicId k : m.z) check(k < K);
            drawn.push_back(m.z);
        }
        return drawn;
    };
    const auto one = run(1);
    for (int threads : {2, 7}) check(run(threads) == one);
}

void hard_topics_fall(size_t n, size_t K, double penalty) {
    auto run = [&](int threads) {
        Model m(n, K);
        std::vector<float> D(m.V * padded(K));
        std::vector<int32_t> order(n);
        std::iota(order.rbegin(), order.rend(), 0);
        auto objective = [&] {
            const DocTopics docs = document_topics(m.tokens(), K, threads);
            check(docs.topic.size() == topics_in_use(m.tokens(), K, threads));
            return distance_of_tokens({m.word, K}, m.total, threads) + penalty * double(docs.topic.size());
        };
        double last = objective();
        for (HardStep step : {HardStep::basic, HardStep::word, HardStep::word}) {
            distances({m.word, K}, m.total, 0, threads, {D, padded(K)});
            assign_documents(m.tokens(), step, {D, padded(K)}, K, penalty, threads);
            count_tokens(m.tokens(), threads, m.counts());
            const double placed = objective();
            check(placed <= last + 1e-6 * (1 + std::abs(last)));
            last = placed + refine(m.tokens(), order, penalty, threads, m.counts(), {D, padded(K)});
            check(std::abs(objective() - last) <= 1e-6 * (1 + std::abs(last)));
            m.counts_are_those_of_tokens();
        }
        distances({m.word, K}, m.total, 0.1, threads, {D, padded(K)});
        assign_documents(m.tokens(), HardStep::place, {D, padded(K)}, K, penalty, threads);
        return m.z;
    };
    const auto one = run(1);
    for (int threads : {2, 7}) check(run(threads) == one);
}

}  // namespace

int main() {
    for (size_t n : {0, 1, 43})
        for (size_t K : {1, 2, 17, 70, 130}) {
            blocks_are_sampled(n, K);
            for (float weight : {0.25f, 0.f, NAN}) shards_are_sampled(n, K, weight);
            for (double penalty : {0.0, 3.0}) hard_topics_fall(n, K, penalty);
        }
}
