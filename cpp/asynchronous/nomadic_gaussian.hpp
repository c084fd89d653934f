// The rows of one process, which blocks of Gaussian clusters visit: a block comes with its moments, and leaves with
// them. The caller moves blocks and says which visit together; docs/math.md, section G.1.
//
// Nothing here has the size of all clusters. What stays is of the rows: themselves, and the L clusters of each.
#pragma once
#include <atomic>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "asynchronous/gaussian_worker.hpp"
#include "base/parallel.hpp"

namespace topmix::asynchronous {

template <class T>
class NomadicGaussian {
  public:
    NomadicGaussian(NormalWishart prior, size_t K, size_t L, size_t blocks, std::vector<T> z,
                    std::vector<double> weight, size_t rows_at_once, int threads)
        : shared_{std::move(prior), {K, blocks}, std::vector<Cluster<T>>(K)},
          threads_(threads),
          rows_(z.size() / shared_.prior.D()),
          worker_(shared_, L, rows_at_once, threads, std::move(z), std::move(weight), std::vector<int32_t>(rows_ * L),
                  first_shares(rows_, L), OwnMoments::made_for_a_visit),
          bytes_(rows_ * (shared_.prior.D() * sizeof(T) + L * (sizeof(T) + sizeof(int32_t)))) {}

    const Blocks& blocks() const { return shared_.blocks; }

    /// Numbers of a cluster in a block: N, the moments, and where rows are summed about.
    size_t width() const { return 1 + 2 * shared_.prior.D() + shared_.prior.Q(); }

    /// A block arrives: [its clusters, width].
    void put(size_t b, std::span<const double> rows) {
        const size_t D = shared_.prior.D(), Q = shared_.prior.Q();
        const double* at = rows.data();
        for (size_t k = shared_.blocks.begin(b); k < shared_.blocks.end(b); ++k) {
            Cluster<T>& c = shared_.cluster[k];
            if (!c.first.empty()) throw std::logic_error("block " + std::to_string(b) + " is here already");
            c.N = *at++;
            c.first.assign(at, at + D), at += D;
            c.second.assign(at, at + Q), at += Q;
            c.centre.assign(at, at + D), at += D;
            c.W.assign(shared_.prior.features.size(), T(0));
        }
    }

    /// It leaves, as it is after its visit.
    std::vector<double> take(size_t b) {
        require_here(b);
        std::vector<double> out;
        for (size_t k = shared_.blocks.begin(b); k < shared_.blocks.end(b); ++k) {
            const Cluster<T> c = std::exchange(shared_.cluster[k], {});
            out.push_back(c.N);
            out.insert(out.end(), c.first.begin(), c.first.end());
            out.insert(out.end(), c.second.begin(), c.second.end());
            out.insert(out.end(), c.centre.begin(), c.centre.end());
        }
        return out;
    }

    /// Rows look for clusters: first they forget those they have, then blocks come, then they settle. After that
    /// blocks without moments come, and rows add theirs.
    void forget() { worker_.forget(); }
    void settle() { worker_.settle(); }
    void compare(std::span<const BlockId> blocks) {
        refresh_all(blocks);
        worker_.compare(blocks);
    }
    void contribute(std::span<const BlockId> blocks) {
        for (const BlockId b : blocks) require_here(b);
        worker_.contribute(blocks);
    }

    /// Rows and clusters follow each other.
    void visit(std::span<const BlockId> blocks) {
        refresh_all(blocks);
        worker_.visit(blocks);
    }

    double entropy() const { return worker_.entropy(); }
    size_t of_rows() const { return bytes_; }

  private:
    static std::vector<T> first_shares(size_t rows, size_t L) {
        std::vector<T> r(rows * L, T(0));
        for (size_t n = 0; n < rows; ++n) r[n * L] = T(1);
        return r;
    }

    void require_here(size_t b) const {
        if (shared_.cluster[shared_.blocks.begin(b)].first.empty())
            throw std::logic_error("block " + std::to_string(b) + " is not here");
    }

    void refresh_all(std::span<const BlockId> blocks) {
        std::vector<size_t> clusters;
        for (const BlockId b : blocks) {
            require_here(b);
            for (size_t k = shared_.blocks.begin(b); k < shared_.blocks.end(b); ++k) clusters.push_back(k);
        }
        std::vector<UpdateScratch> scratch(size_t(std::max(threads_, 1)));
        parallel_for(clusters.size(), 1, threads_, [&](size_t begin, size_t end, size_t t) {
            for (size_t i = begin; i < end; ++i)
                refresh(shared_.prior, clusters[i], shared_.cluster[clusters[i]], scratch[t]);
        });
    }

    SharedClusters<T> shared_;
    int threads_;
    size_t rows_;
    GaussianWorker<T> worker_;
    size_t bytes_;
};

}  // namespace topmix::asynchronous
