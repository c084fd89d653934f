// Clusters of a mixture that move between the workers of one process.  docs/math.md, section G.1.
#pragma once
#include <cmath>
#include <memory>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "asynchronous/mixture_worker.hpp"
#include "asynchronous/worker_pool.hpp"
#include "base/parallel.hpp"

namespace topmix::asynchronous {

/// How workers share the rows and the clusters: rows bounds[w] to bounds[w + 1] are worker w's. A worker holds up to
/// `most` of `blocks` at a time, and waits a little for half as many.
struct Deal {
    std::span<const int64_t> bounds;
    size_t blocks, most, rows_at_once;
    int threads;
    uint64_t seed;
};

/// What rows weigh ([rows], or nothing where all weigh one), and their first assignment.
template <class T>
struct FirstShares {
    std::span<const double> weight;
    std::span<const int32_t> cluster;  // [rows, L]
    std::span<const T> r;              // [rows, L]
    size_t L;
};

template <class Data>
class AsynchronousMixture {
  public:
    using Worker = MixtureWorker<Data>;
    using Post = typename Worker::Post;
    using Cluster = typename Data::Cluster;

    /// rows_of(prior, begin, end) copies rows. Clusters, which come without rows, become what rows make of them.
    template <class RowsOf>
    AsynchronousMixture(typename Data::Prior prior, std::vector<Cluster> clusters, const Deal& deal,
                        const FirstShares<typename Data::Share>& first, RowsOf rows_of)
        : shared_{std::move(prior), {clusters.size(), deal.blocks}, std::move(clusters)} {
        const size_t workers = deal.bounds.size() - 1;
        std::vector<std::unique_ptr<Worker>> team(workers);
        parallel_for(workers, 1, int(workers), [&](size_t begin, size_t end, size_t) {
            for (size_t w = begin; w < end; ++w) {
                const auto from = deal.bounds[w], to = deal.bounds[w + 1];
                auto mine = [&](auto all, size_t each) {
                    return std::vector(all.begin() + from * std::ptrdiff_t(each),
                                       all.begin() + to * std::ptrdiff_t(each));
                };
                std::vector<double> own_weight;
                if (!first.weight.empty()) own_weight = mine(first.weight, 1);
                team[w] = std::make_unique<Worker>(
                    shared_, rows_of(shared_.prior, size_t(from), size_t(to)),
                    typename Worker::Shares(first.L, mine(first.cluster, first.L), mine(first.r, first.L)),
                    std::move(own_weight), deal.rows_at_once, deal.threads);
                team[w]->begin();
            }
        });
        typename Data::UpdateScratch update;
        for (const auto& worker : team)
            for (size_t k = 0; k < shared_.cluster.size(); ++k) add(worker->own(k), shared_.cluster[k].sum);
        for (size_t k = 0; k < shared_.cluster.size(); ++k) Data::refresh(shared_.prior, k, shared_.cluster[k], update);
        workers_ =
            std::make_unique<WorkerPool<Worker>>(deal.blocks, std::move(team), deal.seed, Routes::drawn_each_round,
                                                 HeldBlocks{deal.most, (deal.most + 1) / 2});
    }

    /// A visit may take long, so workers are told to end it early.
    ~AsynchronousMixture() {
        if (!workers_) return;
        stop_early(true);
        workers_.reset();
    }

    void start(size_t passes) {
        stop_early(false);
        workers_->start(passes);
    }

    void stop() {
        stop_early(true);
        workers_->stop();
    }

    WorkerPool<Worker>& workers() { return *workers_; }
    const SharedClusters<Data>& shared() const { return shared_; }

    static Post add_up(const std::vector<Post>& posts) {
        Post out = posts.front();
        for (size_t w = 1; w < posts.size(); ++w) {
            add(posts[w].sums, out.sums);
            out.entropy += posts[w].entropy;
        }
        return out;
    }

    /// Throws logic_error unless every block is there once and equals the workers' sums. Call it while no worker runs.
    void audit() {
        workers_->audit();
        const Post now = add_up(workers_->now());
        const size_t K = shared_.cluster.size(), numbers = now.sums.size() / K;
        double rows = 0;
        for (size_t k = 0; k < K; ++k) rows += now.sums[k * numbers];
        for (size_t k = 0; k < K; ++k)
            for (size_t i = 0; i < numbers; ++i) {
                const double held = now.sums[k * numbers + i];
                if (!(std::abs(shared_.cluster[k].sum[i] - held) <= 1e-9 * (1.0 + rows + std::abs(held))))
                    throw std::logic_error("a cluster lost or doubled a visit");
            }
    }

  private:
    static void add(std::span<const double> from, std::vector<double>& to) {
        for (size_t i = 0; i < to.size(); ++i) to[i] += from[i];
    }

    void stop_early(bool yes) {
        for (size_t w = 0; w < workers_->size(); ++w) (*workers_)[w].stop_early.store(yes);
    }

    SharedClusters<Data> shared_;
    std::unique_ptr<WorkerPool<Worker>> workers_;  // last: its threads use what is shared
};

}  // namespace topmix::asynchronous
