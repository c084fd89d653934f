// Asynchronous learning of mixtures: rows stay with their worker, clusters travel.  docs/math.md, section G.1.
//
// A worker that holds some clusters solves again for the part of each row's responsibilities that lies on them
// (row_shares.hpp). A row without mass on them is not scored: holding half of the clusters costs a quarter of the
// products. Rows are solved some at a time; what they give to the clusters held changes at once, and so do the
// clusters.
//
// What rows are, `Data` knows (GaussianRows, SparseRows):
//     using Share, Score;                    numbers of shares and of scores
//     using Prior, Cluster;                  a Cluster has `sum`, what rows add to it: N first, then its statistics
//     using Scratch, UpdateScratch;          memory of a thread; a Scratch has `s`, `sum` and `update`
//     static size_t numbers(prior);          of a cluster's sum
//     static void refresh(prior, k, cluster, update);           from its sum to what scores need
//     size_t rows() const;
//     bool sums_again() const;               whether sums of rows that come and go are rounded
//     Scratch scratch() const;
//     void lay_out(clusters, held, which, threads);             scores will need these of the clusters held
//     void score(rows, H, scratch) const;                       into s [rows, H]
//     void begin(cluster, scratch) const;  void add(row, weight, scratch) const;  void end(scratch) const;    into sum
#pragma once
#include <algorithm>
#include <atomic>
#include <span>
#include <utility>
#include <vector>

#include "asynchronous/cluster_blocks.hpp"
#include "asynchronous/row_shares.hpp"
#include "base/accumulate.hpp"
#include "base/parallel.hpp"

namespace topmix::asynchronous {

/// Whether a worker keeps what its own rows add to all clusters, or works it out for those that visit it.
enum class OwnSums { kept, made_for_a_visit };

template <class Data>
class MixtureWorker {
  public:
    using T = typename Data::Share;
    using Score = typename Data::Score;
    using Cluster = typename Data::Cluster;
    using Shares = RowShares<T, Score>;

    /// What the worker's own rows add to clusters: those of all workers add up to the clusters'.
    struct Post {
        std::vector<double> sums;  // [K, numbers]
        double entropy = 0;
    };

    static constexpr size_t kRowsTogether = 256;  // whose scores are made together

    /// `weight` is what rows weigh ([rows], or nothing where all weigh one). `rows_at_once` are solved between two
    /// updates. A visit runs on `threads`; its bits do not depend on how many.
    MixtureWorker(SharedClusters<Data>& shared, Data data, Shares shares, std::vector<double> weight,
                  size_t rows_at_once, int threads, OwnSums own = OwnSums::kept)
        : shared_(shared),
          keeps_own_(own == OwnSums::kept),
          numbers_(Data::numbers(shared.prior)),
          rows_at_once_(rows_at_once),
          threads_(std::max(threads, 1)),
          data_(std::move(data)),
          sums_again_(data_.sums_again()),
          shares_(std::move(shares)),
          weight_(std::move(weight)),
          own_(shared.cluster.size()),
          held_(shared.blocks) {
        for (int t = 0; t < threads_; ++t) lane_.push_back({data_.scratch(), {}});
        if (keeps_own_) std::ranges::fill(own_, std::vector<double>(numbers_));
    }

    /// Set by another thread: the current visit ends early and keeps what it has solved.
    std::atomic<bool> stop_early{false};

    /// Works out what the worker's own rows add to clusters. The caller adds it to them.
    void begin() {
        held_.take_all();
        hold(false);
        sum_again([](size_t, Lane&) {});
        let_go();
    }

    void visit(std::span<const BlockId> blocks) {
        held_.take(blocks);
        hold(true);
        if (!keeps_own_ && sums_again_) {
            sum_again([](size_t, Lane&) {});
            std::ranges::fill(changed_, false);
        }
        for (size_t next = 0; next < data_.rows() && !stop_early.load(std::memory_order_relaxed);) {
            batch_.clear();
            for (; next < data_.rows() && batch_.size() < rows_at_once_; ++next)
                if (shares_.is_worth_solving(next, held_)) batch_.push_back(next);
            solve();
            if (next < data_.rows() || !sums_again_) apply();
        }
        if (sums_again_) {
            std::ranges::copy(changed_ever_, changed_.begin());
            sum_again([this](size_t k, Lane& lane) {
                add(lane.data.sum, shared_.cluster[k].sum);
                clear_if_empty(shared_.cluster[k].sum);
                Data::refresh(shared_.prior, k, shared_.cluster[k], lane.data.update);
            });
        }
        let_go();
    }

    /// Rows forget their clusters: `compare` finds them new ones, as blocks come.
    void forget() { shares_.forget(); }

    /// Each row keeps the best L of the clusters that came since `forget`.
    void compare(std::span<const BlockId> blocks) {
        held_.take(blocks);
        hold(true);
        const size_t H = held_.size();
        parallel_for(data_.rows(), kRowsTogether, threads_, [&](size_t begin, size_t end, size_t t) {
            std::vector<size_t> rows(end - begin);
            for (size_t i = 0; i < rows.size(); ++i) rows[i] = begin + i;
            data_.score(rows, H, lane_[t].data);
            for (size_t i = 0; i < rows.size(); ++i)
                for (size_t h = 0; h < H; ++h) shares_.offer(rows[i], int32_t(held_[h]), lane_[t].data.s[i * H + h]);
        });
        let_go();
    }

    /// All clusters have come: scores become shares.
    void settle() { shares_.settle(threads_); }

    /// Adds what the worker's rows give to the clusters of these blocks.
    void contribute(std::span<const BlockId> blocks) {
        held_.take(blocks);
        hold(false);
        sum_again([this](size_t k, Lane& lane) { add(lane.data.sum, shared_.cluster[k].sum); });
        let_go();
    }

    double entropy() const {
        double out = 0;
        for (size_t n = 0; n < shares_.rows(); ++n) out += shares_.entropy(n) * weight(n);
        return out;
    }

    Post post() const {
        Post out;
        for (const auto& own : own_) out.sums.insert(out.sums.end(), own.begin(), own.end());
        out.entropy = entropy();
        return out;
    }

    std::span<const double> own(size_t k) const { return own_[k]; }
    const Data& data() const { return data_; }
    const Shares& shares() const { return shares_; }

  private:
    using Change = ShareChange<T>;
    using Changes = std::vector<Change>;

    /// Memory of one thread.
    struct Lane {
        typename Data::Scratch data;
        typename Shares::Scratch row;
    };

    double weight(size_t n) const { return weight_.empty() ? 1.0 : weight_[n]; }

    static void add(const std::vector<double>& from, std::vector<double>& to) {
        for (size_t i = 0; i < to.size(); ++i) to[i] += from[i];
    }

    /// The clusters of `held_` are here, to score rows or only to be added to.
    void hold(bool scores) {
        const size_t H = held_.size();
        for (Lane& lane : lane_) lane.row.hold(H, shares_.L());
        if (!keeps_own_)
            for (size_t h = 0; h < H; ++h) own_[held_[h]].assign(numbers_, 0.0);
        changed_.assign(H, true);
        changed_ever_.assign(H, false);
        if (scores) data_.lay_out(shared_.cluster, held_, changed_, threads_);
    }

    void let_go() {
        if (!keeps_own_)
            for (size_t h = 0; h < held_.size(); ++h) own_[held_[h]] = {};
        held_.let_go();
    }

    void solve() {
        const size_t H = held_.size();
        part_.resize((batch_.size() + kRowsTogether - 1) / kRowsTogether);
        parallel_for(batch_.size(), kRowsTogether, threads_, [&](size_t begin, size_t end, size_t t) {
            Changes& out = part_[begin / kRowsTogether];
            out.clear();
            if (stop_early.load(std::memory_order_relaxed)) return;
            const std::span<const size_t> rows(&batch_[begin], end - begin);
            data_.score(rows, H, lane_[t].data);
            for (size_t i = 0; i < rows.size(); ++i)
                shares_.solve(rows[i], std::span<const Score>(&lane_[t].data.s[i * H], H), held_, lane_[t].row, out);
        });
        change_.clear();
        for (const Changes& part : part_) change_.insert(change_.end(), part.begin(), part.end());
        std::ranges::fill(changed_, false);
        for (const Change& change : change_) changed_[size_t(change.slot)] = changed_ever_[size_t(change.slot)] = true;
    }

    /// Is called once per cluster, with lane.data.sum. Not a template: one body of each loop serves all callers.
    using UseSum = Borrowed<size_t, Lane&>;

    /// Sums the changes of each held cluster that has changed, and calls use(h, lane) with the sum.
    void sum_changes(UseSum use) {
        const size_t H = held_.size();
        change_slot_.resize(change_.size());
        for (size_t i = 0; i < change_.size(); ++i) change_slot_[i] = change_[i].slot;
        starts_.resize(H + 1);
        order_.resize(change_.size());
        group_by(std::span<const int32_t>(change_slot_), H, threads_, std::span(starts_), std::span(order_));
        parallel_for(H, 1, threads_, [&](size_t begin, size_t end, size_t t) {
            for (size_t h = begin; h < end; ++h) {
                if (!changed_[h]) continue;
                auto& lane = lane_[t];
                data_.begin(shared_.cluster[held_[h]], lane.data);
                for (int64_t at = starts_[h]; at < starts_[h + 1]; ++at) {
                    const Change& change = change_[size_t(order_[size_t(at)])];
                    data_.add(change.row, double(change.share) * weight(change.row), lane.data);
                }
                data_.end(lane.data);
                use(h, lane);
            }
        });
    }

    /// Of a cluster without rows nothing stays that rounding left. Not while sums are still to be made again: the
    /// worker's own hold the same rounding, and only together do they cancel.
    static void clear_if_empty(std::vector<double>& sum) {
        if (sum[0] == 0) std::ranges::fill(sum, 0.0);
    }

    /// What the solved rows changed, to the clusters and to the worker's own sums.
    void apply() {
        sum_changes([this](size_t h, Lane& lane) {
            const size_t k = held_[h];
            add(lane.data.sum, shared_.cluster[k].sum);
            if (!sums_again_) clear_if_empty(shared_.cluster[k].sum);
            add(lane.data.sum, own_[k]);
            Data::refresh(shared_.prior, k, shared_.cluster[k], lane.data.update);
        });
        data_.lay_out(shared_.cluster, held_, changed_, threads_);
    }

    /// The worker's own sums of clusters that changed, from its rows: so that what rounding leaves in many small
    /// changes is gone after each visit. `use` gets the difference from what they were.
    void sum_again(UseSum use) {
        change_.clear();
        shares_.for_each_held(held_, [this](size_t n, int32_t h, T share) {
            if (changed_[size_t(h)]) change_.push_back({h, uint32_t(n), share});
        });
        sum_changes([this, &use](size_t h, Lane& lane) {
            const size_t k = held_[h];
            for (size_t i = 0; i < numbers_; ++i)  // own becomes fresh, and fresh the difference
                lane.data.sum[i] -= std::exchange(own_[k][i], lane.data.sum[i]);
            use(k, lane);
        });
    }

    SharedClusters<Data>& shared_;
    const bool keeps_own_;
    const size_t numbers_, rows_at_once_;
    const int threads_;
    Data data_;
    const bool sums_again_;
    Shares shares_;
    std::vector<double> weight_;            // [rows] or nothing
    std::vector<std::vector<double>> own_;  // [K] of the worker's rows; of those held, if others are not kept
    HeldClusters held_;
    std::vector<Lane> lane_;                    // [threads]
    std::vector<char> changed_, changed_ever_;  // [held] in the last step, in this visit
    std::vector<size_t> batch_;
    std::vector<Changes> part_;
    Changes change_;
    std::vector<int32_t> change_slot_, order_;
    std::vector<int64_t> starts_;
};

}  // namespace topmix::asynchronous
