// Workers on the documents of one corpus, and the blocks of words that visit them.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "asynchronous/topic_worker.hpp"
#include "asynchronous/worker_pool.hpp"
#include "base/parallel.hpp"

namespace topmix::asynchronous {

/// Statistics of all documents at one moment: the sum of the workers' posts.
struct TopicSnapshot {
    std::vector<double> S;     // [V, K]
    std::vector<double> rise;  // as in TopicPost, and the rest too
    double entropy = 0, documents = 0;
};

/// How workers proceed.
struct TopicPlan {
    size_t n_active;  // topics that an entry keeps
    Tail tail;
    size_t warm_up;  // passes of each worker under means
    size_t settle;   // passes of documents under the topics that they start from, before those move
    uint64_t seed;   // of the order in which blocks travel: the same in all rounds, or a new one if by_token
    bool by_token;   // blocks are single words, whose row follows every token
};

/// The topics to start from, and the priors.
struct TopicsToStart {
    Rows<const double> counts;      // [V, K]
    std::span<const double> alpha;  // [K]
    std::span<const double> eta;    // [V or 1, K or 1]
    size_t eta_words;               // V or 1
};

class AsynchronousTopics {
  public:
    /// Documents bounds[w] to bounds[w + 1] are worker w's.
    AsynchronousTopics(const Csr<float>& X, std::span<const int64_t> bounds, WordBlocks blocks,
                       const TopicsToStart& start, const TopicPlan& plan)
        : V_(start.counts.rows()),
          shared_(std::move(blocks), start.counts.cols, plan.n_active, plan.tail, plan.warm_up, plan.by_token) {
        const size_t V = V_, K = shared_.K;
        const Rows<const double> counts = start.counts;
        priors(start.alpha, start.eta, start.eta_words);
        std::vector<double> total(K, 0.0);
        each_slot([&](size_t b, size_t s) {
            if (shared_.S[b].empty()) shared_.S[b].assign(shared_.numbers_in(b), 0.0);
            std::ranges::copy(counts[size_t(shared_.blocks.word[s])], shared_.row(b, s));
        });
        for (size_t v = 0; v < V; ++v)  // words that no document has count here, as they do in a model
            for (size_t k = 0; k < K; ++k) total[k] += counts[v][k];
        shared_.total.add(total);

        const size_t T = bounds.size() - 1;
        std::vector<std::unique_ptr<TopicWorker>> workers(T);
        std::atomic<bool> stop{false};
        parallel_for(T, 1, int(T), [&](size_t w, size_t, size_t t) {
            auto asked = std::chrono::steady_clock::now();
            workers[w] = std::make_unique<TopicWorker>(shared_, X, size_t(bounds[w]), size_t(bounds[w + 1]));
            workers[w]->begin(plan.settle, [&] {
                const auto now = std::chrono::steady_clock::now();
                if (t != 0 || !check_interrupt || now - asked < std::chrono::milliseconds(100)) return stop.load();
                asked = now;
                stop.store(true);  // for the other threads, if this throws
                check_interrupt();
                stop.store(false);
                return false;
            });
        });
        for (double& x : total) x = -x;
        shared_.total.add(total);
        for (auto& rows : shared_.S) std::ranges::fill(rows, 0.0);
        for (auto& worker : workers) worker->contribute();
        workers_ = std::make_unique<WorkerPool<TopicWorker>>(shared_.blocks.size(), std::move(workers), plan.seed,
                                                             plan.by_token ? Routes::drawn_each_round : Routes::fixed);
    }

    /// eta [V or 1, K or 1]. Call it while no worker runs.
    void priors(std::span<const double> alpha, std::span<const double> eta, size_t eta_words) {
        shared_.priors(V_, alpha, eta, eta_words);
    }

    WorkerPool<TopicWorker>& workers() { return *workers_; }
    const SharedTopics& shared() const { return shared_; }
    size_t words() const { return V_; }

    TopicSnapshot add_up(const std::vector<TopicPost>& posts) const {
        TopicSnapshot out{std::vector<double>(V_ * shared_.K, 0.0), std::vector<double>(shared_.K, 0.0), 0, 0};
        std::vector<float> row;
        for (size_t w = 0; w < posts.size(); ++w) {
            const TopicShard& shard = (*workers_)[w].shard();
            for (size_t r = 0; r < shard.slot.size(); ++r) {
                double* S = &out.S[size_t(shared_.blocks.word[size_t(shard.slot[r])]) * shared_.K];
                posts[w].R.each(r, row, [S](size_t k, double x) { S[k] += x; });
            }
            for (size_t k = 0; k < shared_.K; ++k) out.rise[k] += posts[w].rise[k];
            out.entropy += posts[w].entropy;
            out.documents += posts[w].documents;
        }
        return out;
    }

    /// Throws logic_error unless every block is there once and equals the workers' sums. Call it while no worker runs.
    void audit() {
        workers_->audit();
        const TopicSnapshot now = add_up(workers_->now());
        const size_t K = shared_.K;
        std::vector<double> total(K), sum(K, 0.0);
        shared_.total.read(total);
        double all = 0;
        for (const double x : now.S) all += x;
        const double tolerance = 1e-9 * (1.0 + all);
        each_slot([&](size_t b, size_t s) {
            for (size_t k = 0; k < K; ++k) {
                const double shared = shared_.row(b, s)[k], held = now.S[size_t(shared_.blocks.word[s]) * K + k];
                if (!(std::abs(shared - held) <= tolerance)) throw std::logic_error("a row lost or doubled a visit");
                sum[k] += shared;
            }
        });
        for (size_t k = 0; k < K; ++k)
            if (!(std::abs(sum[k] - total[k]) <= tolerance)) throw std::logic_error("the sums over words lost a delta");
    }

  private:
    template <class Fn>
    void each_slot(Fn&& fn) const {
        for (size_t b = 0; b < shared_.blocks.size(); ++b)
            for (int64_t s = shared_.blocks.starts[b]; s < shared_.blocks.starts[b + 1]; ++s) fn(b, size_t(s));
    }

    size_t V_;
    SharedTopics shared_;
    std::unique_ptr<WorkerPool<TopicWorker>> workers_;  // last: its threads use what is shared
};

}  // namespace topmix::asynchronous
