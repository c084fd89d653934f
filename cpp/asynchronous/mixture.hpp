// Clusters of a mixture that move between workers, and the rows that stay.  docs/math.md, section G.1.
//
// The rows of one process are visited by blocks of clusters: a block comes with the sums of its clusters, and leaves
// with them (NomadicMixture). Where it comes from is the caller's business, who says which blocks visit together. Or
// all blocks are here, and move between threads by themselves (AsynchronousMixture).
#pragma once
#include <cmath>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "asynchronous/mixture_worker.hpp"
#include "asynchronous/worker_pool.hpp"
#include "base/parallel.hpp"

namespace topmix::asynchronous {

/// What the rows of one process need to know of the clusters that visit them.
struct MixtureSettings {
    double all_rows;              // what the rows of all processes weigh
    size_t n_clusters, n_active;  // K and L
    size_t blocks, rows_at_once;
    int threads;  // of a visit
};

class NomadicMixture {
  public:
    /// Rows bounds[w] to bounds[w + 1] are worker w's. Nothing that stays here has the size of all clusters, unless
    /// workers keep their sums.
    NomadicMixture(std::shared_ptr<const ClusterRows> rows, std::vector<double> weight, const MixtureSettings& how,
                   std::span<const int64_t> bounds, bool keeps_sums = false)
        : shared_{rows,
                  std::move(weight),
                  {rows->rows(), how.n_active},
                  {how.n_clusters, how.blocks},
                  std::vector<Cluster>(how.n_clusters),
                  double(how.n_clusters) * rows->weight_prior() + how.all_rows,
                  how.rows_at_once,
                  std::max(how.threads, 1),
                  keeps_sums} {
        for (size_t w = 0; w + 1 < bounds.size(); ++w)
            workers_.push_back(std::make_unique<MixtureWorker>(shared_, size_t(bounds[w]), size_t(bounds[w + 1])));
    }

    NomadicMixture(const NomadicMixture&) = delete;

    const SharedMixture& shared() const { return shared_; }
    RowShares& shares() { return shared_.shares; }
    std::vector<std::unique_ptr<MixtureWorker>>& workers() { return workers_; }

    /// A block arrives: [its clusters, width].
    void put(size_t b, std::span<const double> rows) {
        const size_t width = shared_.rows->width();
        for (size_t k = shared_.blocks.begin(b), i = 0; k < shared_.blocks.end(b); ++k, ++i) {
            if (!shared_.cluster[k].sum.empty())
                throw std::logic_error("block " + std::to_string(b) + " is here already");
            shared_.cluster[k] = shared_.rows->unpacked(&rows[i * width]);
        }
    }

    /// It leaves, as it is after its visit.
    std::vector<double> take(size_t b) {
        require_here(b);
        std::vector<double> out;
        for (size_t k = shared_.blocks.begin(b); k < shared_.blocks.end(b); ++k)
            ClusterRows::pack(std::exchange(shared_.cluster[k], {}), out);
        return out;
    }

    /// Rows look for clusters: first they forget those they have, then blocks come, then they settle. After that
    /// blocks without rows come, and rows add theirs.
    void forget() { shared_.shares.forget(); }
    void settle() {
        require_order(true);
        shared_.shares.settle(shared_.threads);
    }
    void compare(std::span<const BlockId> blocks) {
        require_order(true);
        refresh(blocks);
        for (auto& worker : workers_) worker->compare(blocks);
    }
    void contribute(std::span<const BlockId> blocks) {
        require_order(false);
        for (const BlockId b : blocks) require_here(b);
        for (auto& worker : workers_) worker->contribute(blocks);
    }

    /// Rows and clusters follow each other.
    void visit(std::span<const BlockId> blocks) {
        require_order(false);
        refresh(blocks);
        for (auto& worker : workers_) worker->visit(blocks);
    }

    double entropy() const {
        require_order(false);
        double out = 0;
        for (const auto& worker : workers_) out += worker->post().entropy;
        return out;
    }
    /// Clusters and shares of the rows.
    const RowShares& settled() const {
        require_order(false);
        return shared_.shares;
    }
    /// Bytes of what stays.
    size_t of_rows() const {
        return shared_.rows->bytes() + shared_.rows->rows() * shared_.shares.L() * (sizeof(float) + sizeof(int32_t));
    }

    /// The coefficients of clusters, from their sums.
    void refresh(std::span<const BlockId> blocks) {
        for (const BlockId b : blocks) require_here(b);
        parallel_for(blocks.size(), 1, shared_.threads, [&](size_t begin, size_t end, size_t) {
            for (size_t i = begin; i < end; ++i)
                for (size_t k = shared_.blocks.begin(blocks[i]); k < shared_.blocks.end(blocks[i]); ++k)
                    shared_.rows->refresh(k, shared_.weights, shared_.cluster[k]);
        });
    }

  private:
    void require_order(bool compares) const {
        if (shared_.shares.compares() != compares)
            throw std::logic_error(compares ? "rows compare clusters after forget() alone"
                                            : "rows have no clusters between forget() and settle()");
    }

    void require_here(size_t b) const {
        if (shared_.cluster[shared_.blocks.begin(b)].sum.empty())
            throw std::logic_error("block " + std::to_string(b) + " is not here");
    }

    SharedMixture shared_;
    std::vector<std::unique_ptr<MixtureWorker>> workers_;
};

/// Where rows start: the clusters and shares of each [rows, L], and where clusters are [K, D], if they need it.
struct FirstShares {
    std::span<const int32_t> cluster;
    std::span<const float> r;
    std::span<const double> centre;
};

class AsynchronousMixture {
  public:
    using Post = MixtureWorker::Post;

    /// A worker holds up to `most` blocks at a time, and waits a little for half as many.
    AsynchronousMixture(std::shared_ptr<const ClusterRows> rows, std::vector<double> weight, const MixtureSettings& how,
                        std::span<const int64_t> bounds, size_t most, uint64_t seed, const FirstShares& first)
        : rows_(std::move(rows), std::move(weight), how, bounds, true),
          workers_(how.blocks, rows_.workers(), seed, Routes::drawn_each_round, {most, (most + 1) / 2}) {
        rows_.shares().assign(first.cluster, first.r);
        const Blocks& blocks = shared().blocks;
        const ClusterSizes& sizes = shared().rows->sizes();
        for (size_t b = 0; b < blocks.count; ++b) {
            std::vector<double> empty;
            for (size_t k = blocks.begin(b); k < blocks.end(b); ++k) {
                empty.insert(empty.end(), sizes.sum, 0.0);
                for (size_t d = 0; d < sizes.centre; ++d) empty.push_back(first.centre[k * sizes.centre + d]);
            }
            rows_.put(b, empty);
        }
        rows_.contribute(blocks.all());
        rows_.refresh(blocks.all());
    }
    ~AsynchronousMixture() { stop_early(true); }

    void start(size_t passes) {
        stop_early(false);
        workers_.start(passes);
    }

    /// A visit may take long, so workers are told to end it early.
    void stop() {
        stop_early(true);
        workers_.stop();
    }

    WorkerPool<MixtureWorker>& workers() { return workers_; }
    const SharedMixture& shared() const { return rows_.shared(); }

    static Post add_up(const std::vector<Post>& posts) {
        Post out = posts.front();
        for (size_t w = 1; w < posts.size(); ++w) {
            for (size_t i = 0; i < out.sums.size(); ++i) out.sums[i] += posts[w].sums[i];
            out.entropy += posts[w].entropy;
        }
        return out;
    }

    /// Throws logic_error unless every block is there once and equals the workers' sums. Call it while no worker runs.
    void audit() {
        workers_.routes().audit();
        const Post now = add_up(workers_.now());
        const auto& clusters = shared().cluster;
        const size_t numbers = shared().rows->sizes().sum;
        double rows = 0;
        for (const Cluster& c : clusters) rows += c.sum[0];
        for (size_t k = 0; k < clusters.size(); ++k)
            for (size_t i = 0; i < numbers; ++i) {
                const double held = now.sums[k * numbers + i];
                if (!(std::abs(clusters[k].sum[i] - held) <= 1e-9 * (1.0 + rows + std::abs(held))))
                    throw std::logic_error("a cluster lost or doubled a visit");
            }
    }

  private:
    void stop_early(bool yes) {
        for (auto& worker : rows_.workers()) worker->stop_early.store(yes);
    }

    NomadicMixture rows_;
    WorkerPool<MixtureWorker> workers_;  // last: its threads use the rows
};

}  // namespace topmix::asynchronous
