// Runs one kernel once on fixed generated data, for instructions.sh to count its instructions under callgrind.
//
//     instructions            lists the kernels
//     instructions <kernel>   runs one; only what happens inside `measured` is counted
//
// Instructions are not seconds. But their number does not depend on what else the machine does, so that a change that
// slows a kernel down by a few per cent shows.
#include <cstdio>
#include <cstring>
#include <functional>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "chains/combinatorial.hpp"
#include "chains/gibbs.hpp"
#include "chains/refine.hpp"
#include "data/tokenize.hpp"
#include "models/topic_bound.hpp"
#include "models/topic_rows.hpp"
#include "models/topic_table.hpp"
#include "models/word_stats.hpp"
#include "simd/top_l.hpp"
#include "steps/cvb0.hpp"
#include "steps/gaussian.hpp"
#include "steps/moments.hpp"
#include "steps/scvb0.hpp"
#include "steps/topics.hpp"
#include "tests/check.hpp"
#include "tests/plain_blas.hpp"
#include "tests/random_shard.hpp"

using namespace topmix;

/// Callgrind counts from where this function is entered until it returns.
extern "C" [[gnu::noipa]] void measured(const std::function<void()>& kernel) { kernel(); }

namespace {

constexpr size_t kTopics = 100, kWords = 3000;

void topics(Posterior posterior, bool cold) {
    const RandomShard shard(600, kWords, 80, 1);
    const std::vector<float> table = positive(shard.words() * kTopics, 2), alpha(kTopics, 0.1f);
    DocumentOptions opt{};
    opt.exclude = true, opt.tol = 0.05f;
    opt.posterior = posterior, opt.L = 8, opt.eps = 0.5f, opt.max_iter = 30;
    opt.own_discount = posterior == Posterior::collapsed ? 0.5f : 0.f;
    TopicScratch scratch;
    auto run = [&](const Start& start, const LastVisit* last) {
        return topics_step(shard.view(), {table, kTopics}, Priors{alpha}, opt, start, last, true, 1, scratch);
    };
    if (cold) return measured([&] { run({}, nullptr); });
    const TopicResult first = run({}, nullptr);
    const std::vector<double> log_scale(shard.words(), -1), norm(kTopics, 50);
    const LastVisit last{first.docs.indptr, first.docs.topic, first.docs.count, log_scale, norm, 0.01};
    const Start start{first.docs.indptr, first.docs.topic, first.docs.count, {}};
    measured([&] { run(start, posterior == Posterior::collapsed ? &last : nullptr); });
}

/// Counts of which one in eight is not zero.
std::vector<double> word_counts() {
    std::vector<double> raw(kWords * kTopics);
    Rng rng(3, 0, 0);
    for (double& x : raw) x = rng.below(8) ? 0.0 : 20 * rng.uniform();
    return raw;
}

void table(Posterior posterior) {
    const std::vector<double> raw = word_counts(), norm(kTopics, 5000.0);
    const double eta = 0.1;
    std::vector<int32_t> cols(kWords);
    std::iota(cols.begin(), cols.end(), 0);
    std::vector<float> out(kWords * kTopics);
    std::vector<double> scale(kWords);
    measured(
        [&] { topic_table(posterior, {raw, kTopics}, 1.0, {&eta, 0, 0}, {}, norm, cols, 1, {out, kTopics}, scale); });
}

void bound(Posterior posterior) {
    const std::vector<double> raw = word_counts();
    const double eta = 0.1;
    std::vector<double> norm(kTopics);
    measured([&] { topic_bound(posterior, {std::span(raw), kTopics}, 1.0, {&eta, 0, 0}, 1, norm); });
}

void rows_of_topics() {
    const std::vector<double> raw = word_counts();
    const double eta = 0.1;
    std::vector<double> out(kWords * kTopics);
    measured([&] { topic_rows({std::span(raw), kTopics}, 1.0, {&eta, 0, 0}, true, 1, {out, kWords}); });
}

void sums_by_word() {
    const RandomShard shard(3000, kWords, 80, 4);
    constexpr size_t L = 8;
    Rng rng(5, 0, 0);
    std::vector<TopicId> topic(shard.index.size() * L);
    for (TopicId& k : topic) k = TopicId(rng.below(kTopics));
    std::vector<double> total(kWords * kTopics);
    measured([&] {
        const WordStats S = sum_by_word(shard.local.starts, shard.local.order, kTopics, 1, [&](int32_t i, Row& row) {
            for (size_t l = 0; l < L; ++l) row.add(topic[size_t(i) * L + l], 0.125);
        });
        add_word_stats(shard.local.cols, S.indptr, S.topic, S.value, 1.0, 1, {total, kTopics});
    });
}

template <class T>
void gaussian() {
    constexpr size_t n = 2000, D = 12, K = 20, L = 4;
    const Features features{Quadratic::products, true, D};
    Rng rng(6, 0, 0);
    auto numbers = [&](size_t size) {
        std::vector<T> out(size);
        for (T& x : out) x = T(2 * rng.uniform() - 1);
        return out;
    };
    const std::vector<T> z = numbers(n * D), W = numbers(K * features.size()), c = numbers(K), centre = numbers(K * D);
    std::vector<int32_t> cluster(n * L);
    std::vector<T> r(n * L);
    std::vector<double> H(n), likelihood(n), N(K), first(K * D), second(K * quadratic_size(Quadratic::products, D));
    measured([&] {
        assign_gaussian<T>({z, D}, Scorer<T>{features, W, c}, L, 1, {cluster, r, H, likelihood});
        add_moments<T>({z, D}, cluster, r, {}, {centre, D}, Quadratic::products, 1, {N, first, second});
    });
}

/// Documents whose tokens have random topics.
struct Chain {
    RandomShard shard{600, kWords, 80, 7};
    size_t V = shard.words();
    std::vector<int64_t> first{0}, total = std::vector<int64_t>(kTopics);
    std::vector<TopicId> z;
    std::vector<int32_t> word = std::vector<int32_t>(V * kTopics);

    Chain() {
        Rng rng(8, 0, 0);
        for (size_t d = 0; d + 1 < shard.indptr.size(); ++d) {
            const uint32_t favourite = rng.below(kTopics);  // half of a document's tokens are in one topic
            for (int64_t u = shard.indptr[d]; u < shard.indptr[d + 1]; ++u)
                for (float left = shard.value[size_t(u)]; left > 0; --left)
                    z.push_back(TopicId(rng.below(2) ? favourite : rng.below(kTopics)));
            first.push_back(int64_t(z.size()));
        }
        count_tokens(tokens(), 1, counts());
    }
    Tokens tokens() { return {shard.rows(), first, z}; }
    TopicCounts counts() { return {word, total}; }
};

void gibbs() {
    Chain chain;
    const double eta = 0.1;
    const std::vector<double> eta_totals(kTopics, eta * double(chain.V));
    const std::vector<float> alpha(kTopics, 0.1f);
    const std::vector<int64_t> bounds{0, 600};
    const WordOrder order(chain.tokens().X, chain.V, bounds, 1);
    measured([&] {
        const TopicNumbers numbers(topic_norms(chain.total, eta_totals));
        const TopicWeights topics{alpha, numbers.inverse, numbers.larger, float(eta)};
        const CountedWords words({chain.word, kTopics}, {&eta, 0, 0}, numbers.inverse, alpha);
        sample_documents<uint16_t>(order, 0, chain.z, topics, words, {7, 1, 0}, 1, chain.counts());
    });
}

void hard(HardStep step) {
    Chain chain;
    std::vector<float> D(chain.V * padded(kTopics));
    distances({chain.word, kTopics}, chain.total, 0.1, 1, {D, padded(kTopics)});
    measured([&] { assign_documents(chain.tokens(), step, {D, padded(kTopics)}, kTopics, 5.0, 1); });
}

void refinement() {
    Chain chain;
    std::vector<float> scratch(chain.V * padded(kTopics));
    std::vector<int32_t> order(600);
    std::iota(order.begin(), order.end(), 0);
    measured([&] { refine(chain.tokens(), order, 5.0, 1, chain.counts(), {scratch, padded(kTopics)}); });
}

void scvb0() {
    const RandomShard shard(200, kWords, 80, 9);
    const std::vector<float> e = positive(shard.words() * kTopics, 10), alpha(kTopics, 0.1f);
    const Scvb0Options opt{1, 10, 0.9, 1, 8, 0};
    TopicScratch scratch;
    measured([&] { scvb0_step(shard.view(), {e, kTopics}, Priors{alpha}, opt, 1, 1, scratch, {}); });
}

void cvb0() {
    const RandomShard shard(200, kWords, 80, 11);
    const std::vector<float> e = positive(shard.words() * kTopics, 12), alpha(kTopics, 0.1f);
    const std::vector<double> log_scale(shard.words(), -4.0), norm(kTopics, 40.0);
    Gammas first, second;
    auto run = [&](GammasView last, Gammas& next) {
        cvb0_step(shard.view(), {{e, kTopics}, log_scale, norm}, Priors{alpha}, Cvb0Options{8, 1, 0.02f}, last, 1,
                  next);
    };
    measured([&] {
        run({}, first);
        run({first.topic, first.r}, second);
    });
}

void selection() {
    constexpr size_t K = 400, rows = 2000;
    const std::vector<float> s = positive(K * rows, 13);
    int32_t idx[64];
    float r[64];
    measured([&] {
        for (size_t n = 0; n < rows; ++n)
            for (size_t L : {1, 4, 16, 40}) softmax_top_l(std::span(&s[n * K], K), L, idx, r);
    });
}

void tokenizer() {
    TokenRule rule;
    for (char c = 'a'; c <= 'z'; ++c) rule.chars[size_t(c)] = true;
    Rng rng(14, 0, 0);
    std::vector<std::string> texts(200);
    for (std::string& text : texts)
        for (size_t word = 0; word < 200; ++word) {
            const uint32_t which = rng.below(60) * rng.below(60);  // small products are frequent words
            for (uint32_t rest = which + 7, n = 0; n < 2 + which % 7; ++n, rest = rest * 31 + 11)
                text += char((n == 0 && which % 5 == 0 ? 'A' : 'a') + rest % 26);
            text += which % 11 ? " " : ", ";
        }
    const std::vector<std::string> stop{"the", "and", "of"};
    std::vector<TextDocument> documents;
    for (const std::string& text : texts) documents.push_back({text, {}, true});
    measured([&] {
        TermCounter counter(TermCutter(rule, stop, 1, 2), {}, false);
        counter.count(documents, 1);
    });
}

const std::pair<const char*, void (*)()> kKernels[] = {
    {"topics_collapsed_cold", [] { topics(Posterior::collapsed, true); }},
    {"topics_collapsed_warm", [] { topics(Posterior::collapsed, false); }},
    {"topics_variational_cold", [] { topics(Posterior::variational, true); }},
    {"topics_variational_warm", [] { topics(Posterior::variational, false); }},
    {"topic_table_collapsed", [] { table(Posterior::collapsed); }},
    {"topic_table_variational", [] { table(Posterior::variational); }},
    {"topic_bound_collapsed", [] { bound(Posterior::collapsed); }},
    {"topic_bound_variational", [] { bound(Posterior::variational); }},
    {"topic_rows", rows_of_topics},
    {"sum_by_word", sums_by_word},
    {"gaussian_float", gaussian<float>},
    {"gaussian_double", gaussian<double>},
    {"gibbs_sample", gibbs},
    {"hard_assign_basic", [] { hard(HardStep::basic); }},
    {"hard_assign_word", [] { hard(HardStep::word); }},
    {"refine", refinement},
    {"scvb0", scvb0},
    {"cvb0", cvb0},
    {"top_l", selection},
    {"tokenizer", tokenizer},
};

}  // namespace

int main(int argc, char** argv) {
    blas::set_plain_blas();
    for (const auto& [name, run] : kKernels) {
        if (argc < 2) std::puts(name);
        if (argc > 1 && std::strcmp(argv[1], name) == 0) {
            run();
            return 0;
        }
    }
    check(argc < 2, "there is no such kernel");
}
