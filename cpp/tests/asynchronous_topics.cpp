// Blocks of words that move between workers: nothing is lost, whoever stops the workers and when.
#include "asynchronous/topics.hpp"

#include <numeric>

#include "tests/check.hpp"
#include "tests/random_shard.hpp"

using namespace topmix;
using asynchronous::AsynchronousTopics;
using asynchronous::Tail;

namespace {

struct Problem {
    RandomShard shard{53, 40, 17, 3};
    size_t K;
    std::vector<double> counts, alpha, eta{0.1};
    Problem(size_t topics) : K(topics), alpha(topics, 0.07) {
        for (const float x : positive(shard.words() * K, 5)) counts.push_back(double(x));
    }
    asynchronous::WordBlocks blocks(size_t B) const {
        asynchronous::WordBlocks out;
        out.word.resize(shard.words());
        std::iota(out.word.begin(), out.word.end(), 0);
        for (size_t b = 0; b <= B; ++b) out.starts.push_back(int64_t(b * shard.words() / B));
        return out;
    }
    std::unique_ptr<AsynchronousTopics> learner(size_t workers, size_t C, Tail tail, size_t warm_up,
                                                bool by_token = false) const {
        const size_t V = shard.words(), B = by_token ? V : std::min<size_t>(V, 11);
        std::vector<int64_t> bounds;
        for (size_t w = 0; w <= workers; ++w) bounds.push_back(int64_t(w * shard.rows().rows() / workers));
        return std::make_unique<AsynchronousTopics>(shard.rows(), bounds, blocks(B),
                                                    asynchronous::TopicsToStart{{counts, K}, alpha, eta, 1},
                                                    asynchronous::TopicSettings{K, C, tail, warm_up, by_token}, 1, 9);
    }
    double tokens() const { return std::accumulate(shard.value.begin(), shard.value.end(), 0.0); }
};

void words_that_follow_every_token() {
    const Problem problem(17);
    for (size_t workers : {1, 3})
        for (size_t C : {17, 4}) {
            const auto topics = problem.learner(workers, C, Tail::best, 1, true);
            topics->workers().start(3);
            for (size_t n = 0; n < 3; ++n) {
                const auto snapshot = topics->add_up(topics->workers().next());
                const double sum = std::accumulate(snapshot.S.begin(), snapshot.S.end(), 0.0);
                check(std::abs(sum - problem.tokens()) < 1e-9 * problem.tokens());
            }
            topics->workers().stop();
            topics->audit();
        }
}

/// Two processes in one: each has half of the documents, and blocks go to and fro.
void blocks_that_come_and_go() {
    using asynchronous::NomadicTopics;
    const Problem problem(21);
    const size_t K = problem.K, V = problem.shard.words(), B = 7, n = problem.shard.rows().rows();
    std::vector<double> total(K, 0.0), tokens;
    std::vector<std::vector<double>> S(B);
    const auto blocks = problem.blocks(B);
    std::vector<std::unique_ptr<NomadicTopics>> side;
    const auto X = problem.shard.rows();
    for (size_t p = 0; p < 2; ++p) {
        const int64_t from = int64_t(p * n / 2), to = int64_t((p + 1) * n / 2);
        const Csr<float> half{X.indptr.subspan(size_t(from), size_t(to - from + 1)), X.index, X.value};
        const std::vector<int64_t> bounds{0, (to - from) / 3, to - from};
        side.push_back(
            std::make_unique<NomadicTopics>(half, V, bounds, blocks, asynchronous::TopicSettings{K, 5, Tail::best}));
    }
    for (size_t v = 0; v < V; ++v)
        for (size_t k = 0; k < K; ++k) total[k] += problem.counts[v * K + k];
    const std::span<const double> counts(problem.counts);
    for (auto& one : side) one->begin(problem.alpha, problem.eta, 1, total);
    for (size_t b = 0; b < B; ++b) {
        const size_t at = size_t(blocks.starts[b]) * K, size = side[0]->shared().numbers_in(b);
        std::vector<double> fresh(size, 0.0);
        for (auto& one : side) {
            one->put(b, counts.subspan(at, size), fresh);
            for (size_t w = 0; w < one->workers().size(); ++w)
                one->begin_visit(w, b, NomadicTopics::Under::shares, true);
            fresh = one->take(b).second;
        }
        S[b] = fresh;
    }
    std::ranges::fill(total, 0.0);
    for (const auto& rows : S)
        for (size_t i = 0; i < rows.size(); ++i) total[i % K] += rows[i];
    for (auto& one : side) one->begin(problem.alpha, problem.eta, 1, total);
    for (size_t pass = 0; pass < 4; ++pass)
        for (size_t b = 0; b < B; ++b)
            for (auto& one : side) {
                one->put(b, S[b], {});
                for (size_t w = 0; w < one->workers().size(); ++w)
                    one->visit(w, b, pass == 0 ? NomadicTopics::Under::means : NomadicTopics::Under::logarithms);
                S[b] = one->take(b).first;
            }
    double sum = 0;
    std::vector<double> now(K, 0.0), own(K);
    for (const auto& rows : S)
        for (size_t i = 0; i < rows.size(); ++i) now[i % K] += rows[i], sum += rows[i];
    check(std::abs(sum - problem.tokens()) < 1e-9 * problem.tokens());
    for (auto& one : side) {
        check(one->of_documents() > 0);
        one->own(own);
        for (size_t k = 0; k < K; ++k) total[k] += own[k];
    }
    for (size_t k = 0; k < K; ++k) check(std::abs(total[k] - now[k]) < 1e-9 * (1 + now[k]));
}

void nothing_is_lost_or_doubled() {
    for (size_t K : {1, 5, 33}) {
        const Problem problem(K);
        for (size_t workers : {1, 2, 5})
            for (size_t C : {K, (K + 2) / 3, size_t(1)})  // counts of pairs are dense, or packed
                for (Tail tail : {Tail::mean, Tail::best}) {
                    const auto topics = problem.learner(workers, C, tail, 2);
                    for (size_t leg = 1; leg <= 3; ++leg) {
                        topics->workers().start(100 * leg);
                        for (size_t n = 0; n < leg; ++n) {
                            const auto snapshot = topics->add_up(topics->workers().next());
                            const double sum = std::accumulate(snapshot.S.begin(), snapshot.S.end(), 0.0);
                            check(std::abs(sum - problem.tokens()) < 1e-9 * problem.tokens());
                            check(std::isfinite(snapshot.entropy) && std::isfinite(snapshot.documents));
                            check(snapshot.entropy >= -1e-3);
                        }
                        topics->workers().stop();
                        topics->audit();
                    }
                    topics->priors(std::vector<double>(K, 0.5), std::vector<double>{0.3}, 1);
                    topics->workers().start(1000);
                    check(!topics->workers().next().empty());
                }  // and the last one is destroyed at work
    }
}

}  // namespace

int main() {
    words_that_follow_every_token();
    blocks_that_come_and_go();
    nothing_is_lost_or_doubled();
}
