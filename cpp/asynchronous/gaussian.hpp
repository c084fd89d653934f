// Workers on the rows of one table, and the blocks of Gaussian clusters that visit them.
#pragma once
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "asynchronous/gaussian_worker.hpp"
#include "asynchronous/worker_pool.hpp"
#include "base/parallel.hpp"

namespace topmix::asynchronous {

template <class T>
class AsynchronousGaussian {
  public:
    using Worker = GaussianWorker<T>;
    using Post = typename Worker::Post;

    /// Rows bounds[w] to bounds[w + 1] are worker w's, with their first assignment (cluster, r) [rows, L]. Clusters are
    /// what those rows make of them; `centre` [K, D] is where they are expected. A worker holds up to `most` of
    /// `blocks` at a time, and waits a little for half as many.
    AsynchronousGaussian(NormalWishart prior, Rows<const T> z, std::span<const double> weight,
                         std::span<const int64_t> bounds, std::span<const int32_t> cluster, std::span<const T> r,
                         Rows<const T> centre, size_t blocks, size_t most, size_t rows_at_once, int threads,
                         uint64_t seed)
        : shared_{std::move(prior), {centre.rows(), blocks}, std::vector<Cluster<T>>(centre.rows())} {
        const size_t D = shared_.prior.D(), Q = shared_.prior.Q(), n = z.rows(), L = n ? r.size() / n : 1;
        for (size_t k = 0; k < shared_.cluster.size(); ++k) {
            Cluster<T>& c = shared_.cluster[k];
            c.first.assign(D, 0.0);
            c.second.assign(Q, 0.0);
            c.W.assign(shared_.prior.features.size(), T(0));
            c.centre.assign(centre[k].begin(), centre[k].end());
        }
        const size_t workers = bounds.size() - 1;
        std::vector<std::unique_ptr<Worker>> team(workers);
        parallel_for(workers, 1, int(workers), [&](size_t begin, size_t end, size_t) {
            for (size_t w = begin; w < end; ++w) {
                auto mine = [&](auto all, size_t each) {
                    const auto from = all.begin() + bounds[w] * std::ptrdiff_t(each);
                    return std::vector(from, from + (bounds[w + 1] - bounds[w]) * std::ptrdiff_t(each));
                };
                std::vector<double> own_weight;
                if (!weight.empty()) own_weight = mine(weight, 1);
                team[w] = std::make_unique<Worker>(shared_, L, rows_at_once, threads, mine(z.data, D),
                                                   std::move(own_weight), mine(cluster, L), mine(r, L));
                team[w]->begin();
            }
        });
        for (const auto& worker : team) {
            for (size_t k = 0; k < shared_.cluster.size(); ++k) {
                const Moments& own = worker->own(k);
                Cluster<T>& c = shared_.cluster[k];
                c.N += own.N;
                for (size_t d = 0; d < D; ++d) c.first[d] += own.first[d];
                for (size_t q = 0; q < Q; ++q) c.second[q] += own.second[q];
            }
        }
        UpdateScratch scratch;
        for (size_t k = 0; k < shared_.cluster.size(); ++k) refresh(shared_.prior, k, shared_.cluster[k], scratch);
        workers_ = std::make_unique<WorkerPool<Worker>>(blocks, std::move(team), seed, Routes::drawn_each_round,
                                                        HeldBlocks{most, (most + 1) / 2});
    }

    /// A visit may take long, so workers are told to end it early.
    ~AsynchronousGaussian() {
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
    const SharedClusters<T>& shared() const { return shared_; }

    Post add_up(const std::vector<Post>& posts) const {
        Post out = posts.front();
        for (size_t w = 1; w < posts.size(); ++w) {
            add(posts[w].N, out.N);
            add(posts[w].first, out.first);
            add(posts[w].second, out.second);
            out.entropy += posts[w].entropy;
        }
        return out;
    }

    /// Throws logic_error unless every block is there once and equals the workers' sums. Call it while no worker runs.
    void audit() {
        workers_->audit();
        const Post now = add_up(workers_->now());
        const size_t D = shared_.prior.D(), Q = shared_.prior.Q();
        double rows = 0;
        for (const double N : now.N) rows += N;
        auto near = [&](double shared, double held) {
            if (!(std::abs(shared - held) <= 1e-9 * (1.0 + rows + std::abs(held))))
                throw std::logic_error("a cluster lost or doubled a visit");
        };
        for (size_t k = 0; k < shared_.cluster.size(); ++k) {
            const Cluster<T>& c = shared_.cluster[k];
            near(c.N, now.N[k]);
            for (size_t d = 0; d < D; ++d) near(c.first[d], now.first[k * D + d]);
            for (size_t q = 0; q < Q; ++q) near(c.second[q], now.second[k * Q + q]);
        }
    }

  private:
    static void add(const std::vector<double>& from, std::vector<double>& to) {
        for (size_t i = 0; i < to.size(); ++i) to[i] += from[i];
    }

    void stop_early(bool yes) {
        for (size_t w = 0; w < workers_->size(); ++w) (*workers_)[w].stop_early.store(yes);
    }

    SharedClusters<T> shared_;
    std::unique_ptr<WorkerPool<Worker>> workers_;  // last: its threads use what is shared
};

}  // namespace topmix::asynchronous
