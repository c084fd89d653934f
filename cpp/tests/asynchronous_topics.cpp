// Blocks of words that move between workers: nothing is lost, whoever stops the workers and when.
#include "asynchronous/topics.hpp"

#include <numeric>

#include "tests/check.hpp"
#include "tests/random_shard.hpp"

using namespace topmix;
using asynchronous::AsynchronousTopics;
using asynchronous::Rest;

namespace {

struct Problem {
    Shard shard{53, 40, 17, 3};
    size_t K;
    std::vector<double> counts, alpha, eta{0.1};
    Problem(size_t topics) : K(topics), alpha(topics, 0.07) {
        for (const float x : positive(shard.words() * K, 5)) counts.push_back(double(x));
    }
    std::unique_ptr<AsynchronousTopics> learner(size_t workers, size_t C, Rest rest, size_t opening) const {
        const size_t V = shard.words(), B = std::min<size_t>(V, 11);
        asynchronous::WordBlocks blocks;
        blocks.word.resize(V);
        std::iota(blocks.word.begin(), blocks.word.end(), 0);
        for (size_t b = 0; b <= B; ++b) blocks.starts.push_back(int64_t(b * V / B));
        std::vector<int64_t> bounds;
        for (size_t w = 0; w <= workers; ++w) bounds.push_back(int64_t(w * shard.rows().rows() / workers));
        return std::make_unique<AsynchronousTopics>(shard.rows(), V, bounds, std::move(blocks), K, C, rest,
                                                    Rows<const double>{counts, K}, alpha, eta, 1, opening, 1, 9);
    }
    double tokens() const { return std::accumulate(shard.value.begin(), shard.value.end(), 0.0); }
};

void nothing_is_lost_or_doubled() {
    for (size_t K : {1, 5, 33}) {
        const Problem problem(K);
        for (size_t workers : {1, 2, 5})
            for (size_t C : {K, (K + 2) / 3, size_t(1)})  // counts of pairs are dense, or packed
                for (Rest rest : {Rest::mean, Rest::best}) {
                    const auto topics = problem.learner(workers, C, rest, 2);
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

int main() { nothing_is_lost_or_doubled(); }
