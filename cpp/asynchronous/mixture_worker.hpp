// Asynchronous learning of mixtures: rows stay with their worker, clusters travel.  docs/math.md, section G.1.
//
// A worker that holds some clusters solves again for the part of each row's responsibilities that lies on them
// (row_shares.hpp). A row without mass on them is not scored: holding half of the clusters costs a quarter of the
// products. Rows are solved some at a time; what they give to the clusters held changes at once, and so do the
// clusters.
#pragma once
#include <algorithm>
#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "asynchronous/cluster_rows.hpp"
#include "asynchronous/row_shares.hpp"
#include "base/accumulate.hpp"
#include "base/parallel.hpp"

namespace topmix::asynchronous {

/// What the workers of one process reach together. A worker owns some of the rows, and the clusters that it holds.
struct SharedMixture {
    std::shared_ptr<const ClusterRows> rows;
    std::vector<double> weight;  // [rows] or nothing, where all weigh one
    RowShares shares;
    Blocks blocks;
    std::vector<Cluster> cluster;  // [K]; without a sum where it is elsewhere
    double weights;                // prior weight of all clusters, with all rows of all processes
    size_t rows_at_once;           // solved between two updates
    int threads;                   // of a visit; its bits do not depend on how many
    bool keeps_sums;               // whether workers keep what their own rows add to all clusters, to post it

    double weight_of(size_t n) const { return weight.empty() ? 1.0 : weight[n]; }
};

class MixtureWorker {
  public:
    /// What the worker's own rows add to clusters: those of all workers add up to the clusters'.
    struct Post {
        std::vector<double> sums;  // [K, numbers]
        double entropy = 0;
    };

    static constexpr size_t kRowsTogether = 256;  // whose scores are made together

    /// With rows first to last.
    MixtureWorker(SharedMixture& shared, size_t first, size_t last)
        : shared_(shared), first_(first), last_(last), held_(shared.blocks) {
        for (int t = 0; t < shared.threads; ++t) lane_.push_back({shared.rows->scratch(), {}, {}});
        if (shared.keeps_sums) own_.assign(shared.cluster.size(), std::vector<double>(shared.rows->sizes().sum));
    }

    /// Set by another thread: the current visit ends early and keeps what it has solved.
    std::atomic<bool> stop_early{false};

    void visit(std::span<const BlockId> blocks) {
        hold(blocks, true);
        for (size_t next = first_; next < last_ && !stop_early.load(std::memory_order_relaxed);) {
            batch_.clear();
            for (; next < last_ && batch_.size() < shared_.rows_at_once; ++next)
                if (shared_.shares.is_worth_solving(next, held_)) batch_.push_back(next);
            solve();
            apply(true);
            if (next < last_) lay_out();
        }
        held_.let_go();
    }

    /// Each row keeps the best L of the clusters that came since `RowShares::forget`.
    void compare(std::span<const BlockId> blocks) {
        hold(blocks, true);
        parallel_for(last_ - first_, kRowsTogether, shared_.threads, [&](size_t begin, size_t end, size_t t) {
            std::vector<size_t> rows(end - begin);
            for (size_t i = 0; i < rows.size(); ++i) rows[i] = first_ + begin + i;
            const auto scores = scored(rows, lane_[t]);
            for (size_t i = 0; i < rows.size(); ++i)
                for (size_t h = 0; h < held_.size(); ++h)
                    shared_.shares.offer(rows[i], int32_t(held_[h]), scores[i * held_.size() + h]);
        });
        held_.let_go();
    }

    /// Adds what the worker's rows give to the clusters of these blocks. Their coefficients stay as they are.
    void contribute(std::span<const BlockId> blocks) {
        hold(blocks, false);
        change_.clear();
        shared_.shares.for_each_held(first_, last_, held_,
                                     [this](size_t n, int32_t h, float share) { change_.push_back({h, n, share}); });
        apply(false);
        held_.let_go();
    }

    Post post() const {
        Post out;
        for (const auto& own : own_) out.sums.insert(out.sums.end(), own.begin(), own.end());
        for (size_t n = first_; n < last_; ++n) out.entropy += shared_.shares.entropy(n) * shared_.weight_of(n);
        return out;
    }

  private:
    /// Memory of one thread.
    struct Lane {
        ClusterRows::Scratch data;
        RowShares::Scratch row;
        std::vector<RowWeight> rows;
    };

    static void add(const std::vector<double>& from, std::vector<double>& to) {
        for (size_t i = 0; i < to.size(); ++i) to[i] += from[i];
    }

    /// The clusters of these blocks are here, to score rows or only to be added to.
    void hold(std::span<const BlockId> blocks, bool scores) {
        held_.take(blocks);
        for (Lane& lane : lane_) lane.row.hold(held_.size(), shared_.shares.L());
        changed_.assign(held_.size(), true);
        if (scores) lay_out();
    }

    void lay_out() { shared_.rows->lay_out(shared_.cluster, held_, changed_, shared_.threads, table_); }

    std::span<const double> scored(std::span<const size_t> rows, Lane& lane) {
        shared_.rows->score(rows, table_, lane.data);
        return lane.data.s;
    }

    void solve() {
        const size_t H = held_.size();
        part_.resize((batch_.size() + kRowsTogether - 1) / kRowsTogether);
        parallel_for(batch_.size(), kRowsTogether, shared_.threads, [&](size_t begin, size_t end, size_t t) {
            RowShares::Changes& out = part_[begin / kRowsTogether];
            out.clear();
            if (stop_early.load(std::memory_order_relaxed)) return;
            const auto scores = scored(std::span(batch_).subspan(begin, end - begin), lane_[t]);
            for (size_t i = begin; i < end; ++i)
                shared_.shares.solve(batch_[i], scores.subspan((i - begin) * H, H), held_, lane_[t].row, out);
        });
        change_.clear();
        for (const auto& part : part_) change_.insert(change_.end(), part.begin(), part.end());
    }

    /// What rows changed, to the clusters held and to the worker's own sums.
    void apply(bool refresh) {
        const size_t H = held_.size();
        std::vector<int32_t> slot(change_.size()), order(change_.size());
        std::vector<int64_t> starts(H + 1);
        for (size_t i = 0; i < slot.size(); ++i) slot[i] = change_[i].slot;
        group_by(std::span<const int32_t>(slot), H, shared_.threads, std::span(starts), std::span(order));
        parallel_for(H, 1, shared_.threads, [&](size_t begin, size_t end, size_t t) {
            for (size_t h = begin; h < end; ++h) {
                changed_[h] = starts[h] < starts[h + 1];
                if (!changed_[h]) continue;
                auto& [data, row, rows] = lane_[t];
                rows.clear();
                for (int64_t at = starts[h]; at < starts[h + 1]; ++at) {
                    const ShareChange& change = change_[size_t(order[size_t(at)])];
                    rows.push_back({change.row, double(change.share) * shared_.weight_of(change.row)});
                }
                Cluster& c = shared_.cluster[held_[h]];
                shared_.rows->sum(c, rows, data);
                add(data.sum, c.sum);
                if (c.sum[0] == 0) std::ranges::fill(c.sum, 0.0);  // without rows nothing stays that rounding left
                if (shared_.keeps_sums) add(data.sum, own_[held_[h]]);
                if (refresh) shared_.rows->refresh(held_[h], shared_.weights, c);
            }
        });
    }

    SharedMixture& shared_;
    const size_t first_, last_;
    std::vector<std::vector<double>> own_;  // [K] sums of the worker's rows, if they are kept
    HeldClusters held_;
    ClusterRows::Table table_;
    std::vector<Lane> lane_;     // [threads]
    std::vector<char> changed_;  // [held] in the last step
    std::vector<size_t> batch_;
    std::vector<RowShares::Changes> part_;
    RowShares::Changes change_;
};

}  // namespace topmix::asynchronous
