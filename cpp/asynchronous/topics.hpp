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

class AsynchronousTopics {
  public:
    /// Documents bounds[w] to bounds[w + 1] are worker w's. counts [V, K] are the topics to start from.
    AsynchronousTopics(const Csr<float>& X, size_t V, std::span<const int64_t> bounds, WordBlocks blocks, size_t K,
                       size_t C, Rest rest, Rows<const double> counts, std::span<const double> alpha,
                       std::span<const double> eta, size_t eta_words, size_t opening, size_t settle, uint64_t seed)
        : V_(V), shared_(std::move(blocks), K, C, rest, opening) {
        priors(alpha, eta, eta_words);
        std::vector<double> total(K, 0.0);
        for (size_t s = 0; s < shared_.blocks.slots(); ++s) {
            const auto from = counts[size_t(shared_.blocks.word[s])];
            std::copy(from.begin(), from.end(), shared_.S.begin() + std::ptrdiff_t(s * K));
        }
        for (size_t v = 0; v < V; ++v)  // words that no document has count here, as they do in a model
            for (size_t k = 0; k < K; ++k) total[k] += counts[v][k];
        shared_.total.add(total);

        const size_t T = bounds.size() - 1;
        std::vector<std::unique_ptr<TopicWorker>> workers(T);
        std::atomic<bool> stop{false};
        parallel_for(T, 1, int(T), [&](size_t w, size_t, size_t t) {
            auto asked = std::chrono::steady_clock::now();
            workers[w] = std::make_unique<TopicWorker>(shared_, X, size_t(bounds[w]), size_t(bounds[w + 1]));
            workers[w]->begin(settle, [&] {
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
        std::fill(shared_.S.begin(), shared_.S.end(), 0.0);
        for (auto& worker : workers) worker->contribute();
        workers_ =
            std::make_unique<WorkerPool<TopicWorker>>(shared_.blocks.size(), std::move(workers), seed, Routes::fixed);
    }

    /// eta [V or 1, K or 1]. Call it while no worker runs.
    void priors(std::span<const double> alpha, std::span<const double> eta, size_t eta_words) {
        shared_.alpha.assign(alpha.begin(), alpha.end());
        shared_.eta_data.assign(eta.begin(), eta.end());
        const size_t topics = eta.size() / eta_words;
        shared_.eta = {shared_.eta_data.data(), eta_words == 1 ? 0 : topics, size_t(topics > 1)};
        shared_.eta_total.assign(shared_.K, 0.0);
        for (size_t v = 0; v < (eta_words == 1 ? 1 : V_); ++v)
            for (size_t k = 0; k < shared_.K; ++k) shared_.eta_total[k] += shared_.eta(v, k);
        if (eta_words == 1)
            for (double& x : shared_.eta_total) x *= double(V_);
    }

    WorkerPool<TopicWorker>& workers() { return *workers_; }
    const SharedTopics& shared() const { return shared_; }
    size_t words() const { return V_; }

    TopicSnapshot add_up(const std::vector<TopicPost>& posts) const {
        TopicSnapshot out{std::vector<double>(V_ * shared_.K, 0.0), std::vector<double>(shared_.K, 0.0), 0, 0};
        for (size_t w = 0; w < posts.size(); ++w) {
            const TopicShard& shard = (*workers_)[w].shard();
            for (size_t r = 0; r < shard.slot.size(); ++r) {
                double* S = &out.S[size_t(shared_.blocks.word[size_t(shard.slot[r])]) * shared_.K];
                posts[w].R.each(r, shared_.K, [S](size_t k, double x) { S[k] += x; });
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
        for (size_t s = 0; s < shared_.blocks.slots(); ++s)
            for (size_t k = 0; k < K; ++k) {
                const double shared = shared_.S[s * K + k], held = now.S[size_t(shared_.blocks.word[s]) * K + k];
                if (!(std::abs(shared - held) <= tolerance)) throw std::logic_error("a row lost or doubled a visit");
                sum[k] += shared;
            }
        for (size_t k = 0; k < K; ++k)
            if (!(std::abs(sum[k] - total[k]) <= tolerance)) throw std::logic_error("the sums over words lost a delta");
    }

  private:
    size_t V_;
    SharedTopics shared_;
    std::unique_ptr<WorkerPool<TopicWorker>> workers_;  // last: its threads use what is shared
};

}  // namespace topmix::asynchronous
