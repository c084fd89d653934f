// The rows of one process, which blocks of clusters visit: a block comes with the sums of its clusters, and leaves with
// them. The caller moves blocks and says which visit together; docs/math.md, section G.1.
//
// Nothing here has the size of all clusters. What stays is of the rows: themselves, and the L clusters of each.
#pragma once
#include <algorithm>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "asynchronous/mixture_worker.hpp"
#include "base/parallel.hpp"

namespace topmix::asynchronous {

/// What the rows of one process need to know of the clusters that visit them.
struct StationSettings {
    double all_rows;              // what the rows of all processes weigh
    size_t n_clusters, n_active;  // K and L
    size_t blocks, rows_at_once;
    int threads;
};

template <class Data>
class NomadicMixture {
  public:
    using Worker = MixtureWorker<Data>;

    /// rows_of(prior) makes the rows.
    template <class RowsOf>
    NomadicMixture(typename Data::Prior prior, const StationSettings& settings, std::vector<double> weight,
                   RowsOf rows_of)
        : shared_{std::move(prior),
                  {settings.n_clusters, settings.blocks},
                  std::vector<typename Data::Cluster>(settings.n_clusters)},
          threads_(std::max(settings.threads, 1)),
          worker_(made(rows_of(shared_.prior), settings, std::move(weight))),
          bytes_(worker_.data().bytes() +
                 worker_.data().rows() * settings.n_active * (sizeof(typename Data::Share) + sizeof(int32_t))) {}

    const Blocks& blocks() const { return shared_.blocks; }

    /// Numbers of a cluster in a block.
    size_t width() const { return Data::width(shared_.prior); }

    /// A block arrives: [its clusters, width].
    void put(size_t b, std::span<const double> rows) {
        for (size_t k = shared_.blocks.begin(b), i = 0; k < shared_.blocks.end(b); ++k, ++i) {
            if (!shared_.cluster[k].sum.empty())
                throw std::logic_error("block " + std::to_string(b) + " is here already");
            shared_.cluster[k] = Data::unpacked(shared_.prior, &rows[i * width()]);
        }
    }

    /// It leaves, as it is after its visit.
    std::vector<double> take(size_t b) {
        require_here(b);
        std::vector<double> out;
        for (size_t k = shared_.blocks.begin(b); k < shared_.blocks.end(b); ++k)
            Data::pack(std::exchange(shared_.cluster[k], {}), out);
        return out;
    }

    /// Rows look for clusters: first they forget those they have, then blocks come, then they settle. After that
    /// blocks without rows come, and rows add theirs.
    void forget() { worker_.forget(); }
    void settle() {
        require_order(true);
        worker_.settle();
    }
    void compare(std::span<const BlockId> blocks) {
        require_order(true);
        refresh_all(blocks);
        worker_.compare(blocks);
    }
    void contribute(std::span<const BlockId> blocks) {
        require_order(false);
        for (const BlockId b : blocks) require_here(b);
        worker_.contribute(blocks);
    }

    /// Rows and clusters follow each other.
    void visit(std::span<const BlockId> blocks) {
        require_order(false);
        refresh_all(blocks);
        worker_.visit(blocks);
    }

    double entropy() const {
        require_order(false);
        return worker_.entropy();
    }
    const typename Worker::Shares& shares() const {
        require_order(false);
        return worker_.shares();
    }
    size_t of_rows() const { return bytes_; }

  private:
    Worker made(Data data, const StationSettings& settings, std::vector<double> weight) {
        auto shares = Worker::Shares::nowhere(data.rows(), settings.n_active);
        return Worker(shared_, std::move(data), std::move(shares), std::move(weight), settings.rows_at_once, threads_,
                      OwnSums::made_for_a_visit);
    }

    void require_order(bool compares) const {
        if (worker_.shares().compares() != compares)
            throw std::logic_error(compares ? "rows compare clusters after forget() alone"
                                            : "rows have no clusters between forget() and settle()");
    }

    void require_here(size_t b) const {
        if (shared_.cluster[shared_.blocks.begin(b)].sum.empty())
            throw std::logic_error("block " + std::to_string(b) + " is not here");
    }

    void refresh_all(std::span<const BlockId> blocks) {
        std::vector<size_t> clusters;
        for (const BlockId b : blocks) {
            require_here(b);
            for (size_t k = shared_.blocks.begin(b); k < shared_.blocks.end(b); ++k) clusters.push_back(k);
        }
        std::vector<typename Data::UpdateScratch> scratch(static_cast<size_t>(threads_));
        parallel_for(clusters.size(), 1, threads_, [&](size_t begin, size_t end, size_t t) {
            for (size_t i = begin; i < end; ++i)
                Data::refresh(shared_.prior, clusters[i], shared_.cluster[clusters[i]], scratch[t]);
        });
    }

    SharedClusters<Data> shared_;
    int threads_;
    Worker worker_;
    size_t bytes_;
};

}  // namespace topmix::asynchronous
