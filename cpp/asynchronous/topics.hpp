// A fleet of workers on the documents of one corpus, and the blocks of words that visit them.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "asynchronous/topic_worker.hpp"
#include "asynchronous/worker_pool.hpp"
#include "base/parallel.hpp"

namespace topmix::nomad {

/// Statistics of all documents at one moment.
struct TopicSnapshot {
    std::vector<double> S;     // [V, K]
    std::vector<double> rise;  // as in TopicPost, and the rest too
    double entropy = 0, documents = 0;
};

class TopicFleet {
  public:
    /// Documents bounds[w] to bounds[w + 1] are worker w's. counts [V, K] are the topics to start from.
    TopicFleet(const Csr<float>& X, size_t V, std::span<const int64_t> bounds, WordBlocks blocks, size_t K, size_t C,
               Rest rest, Rows<const double> counts, std::span<const double> alpha, std::span<const double> eta,
               size_t eta_words, size_t opening, size_t settle, uint64_t seed)
        : V_(V), sea_(std::move(blocks), K, C, rest, opening) {
        priors(alpha, eta, eta_words);
        std::vector<double> total(K, 0.0);
        for (size_t s = 0; s < sea_.blocks.slots(); ++s) {
            const auto from = counts[size_t(sea_.blocks.word[s])];
            std::copy(from.begin(), from.end(), sea_.S.begin() + std::ptrdiff_t(s * K));
        }
        for (size_t v = 0; v < V; ++v)  // words that no document has count here, as they do in a model
            for (size_t k = 0; k < K; ++k) total[k] += counts[v][k];
        sea_.total.add(total);

        const size_t T = bounds.size() - 1;
        std::vector<std::unique_ptr<TopicWorker>> workers(T);
        std::atomic<bool> stop{false};
        parallel_for(T, 1, int(T), [&](size_t w, size_t, size_t t) {
            auto asked = std::chrono::steady_clock::now();
            workers[w] = std::make_unique<TopicWorker>(sea_, X, size_t(bounds[w]), size_t(bounds[w + 1]));
            workers[w]->begin(settle, [&] {
                const auto now = std::chrono::steady_clock::now();
                if (t != 0 || !check_interrupt || now - asked < std::chrono::milliseconds(100)) return stop.load();
                asked = now;
                stop.store(true);  // unless nothing is thrown
                check_interrupt();
                stop.store(false);
                return false;
            });
        });
        for (double& x : total) x = -x;
        sea_.total.add(total);
        std::fill(sea_.S.begin(), sea_.S.end(), 0.0);
        for (auto& worker : workers) worker->contribute();
        fleet_ = std::make_unique<Fleet<TopicWorker>>(sea_.blocks.size(), std::move(workers), seed, Routes::kept);
    }

    /// For when nobody works. eta [V or 1, K or 1].
    void priors(std::span<const double> alpha, std::span<const double> eta, size_t eta_words) {
        sea_.alpha.assign(alpha.begin(), alpha.end());
        sea_.eta_data.assign(eta.begin(), eta.end());
        const size_t topics = eta.size() / eta_words;
        sea_.eta = {sea_.eta_data.data(), eta_words == 1 ? 0 : topics, size_t(topics > 1)};
        sea_.eta_total.assign(sea_.K, 0.0);
        for (size_t v = 0; v < (eta_words == 1 ? 1 : V_); ++v)
            for (size_t k = 0; k < sea_.K; ++k) sea_.eta_total[k] += sea_.eta(v, k);
        if (eta_words == 1)
            for (double& x : sea_.eta_total) x *= double(V_);
    }

    Fleet<TopicWorker>& fleet() { return *fleet_; }
    const TopicSea& sea() const { return sea_; }
    size_t words() const { return V_; }

    TopicSnapshot add_up(const std::vector<TopicPost>& posts) const {
        TopicSnapshot out{std::vector<double>(V_ * sea_.K, 0.0), std::vector<double>(sea_.K, 0.0), 0, 0};
        for (size_t w = 0; w < posts.size(); ++w) {
            const TopicShard& shard = (*fleet_)[w].shard();
            for (size_t r = 0; r < shard.slot.size(); ++r) {
                double* S = &out.S[size_t(sea_.blocks.word[size_t(shard.slot[r])]) * sea_.K];
                posts[w].R.each(r, sea_.K, [S](size_t k, double x) { S[k] += x; });
            }
            for (size_t k = 0; k < sea_.K; ++k) out.rise[k] += posts[w].rise[k];
            out.entropy += posts[w].entropy;
            out.documents += posts[w].documents;
        }
        return out;
    }

    /// For when nobody works. Throws logic_error unless every block is there once and holds what the workers say.
    void audit() {
        fleet_->audit();
        const TopicSnapshot now = add_up(fleet_->now());
        const size_t K = sea_.K;
        std::vector<double> total(K), sum(K, 0.0);
        sea_.total.read(total);
        double all = 0;
        for (const double x : now.S) all += x;
        const double tolerance = 1e-9 * (1.0 + all);
        for (size_t s = 0; s < sea_.blocks.slots(); ++s)
            for (size_t k = 0; k < K; ++k) {
                const double travels = sea_.S[s * K + k], held = now.S[size_t(sea_.blocks.word[s]) * K + k];
                if (!(std::abs(travels - held) <= tolerance)) throw std::logic_error("a row lost or doubled a visit");
                sum[k] += travels;
            }
        for (size_t k = 0; k < K; ++k)
            if (!(std::abs(sum[k] - total[k]) <= tolerance)) throw std::logic_error("the sums over words lost a delta");
    }

  private:
    size_t V_;
    TopicSea sea_;
    std::unique_ptr<Fleet<TopicWorker>> fleet_;  // last: its threads use the sea
};

}  // namespace topmix::nomad
