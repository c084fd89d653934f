// The clusters of each row and its shares in them, and how a row is solved for the clusters that a worker holds.
// docs/math.md, section G.1.
//
//     r_nk = M_n exp(s_nk) / sum_{j in S} exp(s_nj),      S: the best of K' that the row has room for (G.10)
//
// with the row's mass M_n = sum_{k in K'} r_nk on the clusters K' as it is. That is exact coordinate ascent, whatever
// K' is.
//
// Shares are whole multiples of 2^-24: sums of them are exact, so that mass is conserved to the bit.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "asynchronous/cluster_blocks.hpp"
#include "base/math.hpp"
#include "base/parallel.hpp"
#include "simd/top_l.hpp"

namespace topmix::asynchronous {

/// A row gives more to a cluster that is held, or less.
struct ShareChange {
    int32_t slot;
    size_t row;
    float share;
};

class RowShares {
  public:
    static constexpr double kGrid = double(std::numeric_limits<float>::epsilon()) / 2;
    static constexpr double kStill = 16 * kGrid;  // a row whose shares change by no more stays as it is
    static constexpr double kLeastMass = 1e-3;  // of a row, to be worth solving; all of it, where all clusters are held

    using Changes = std::vector<ShareChange>;

    /// Memory for solving rows one after the other.
    struct Scratch {
        std::vector<float> more;     // [held] what the row at hand gives, less what it gave; zero between rows
        std::vector<int32_t> slots;  // of those that it gives to, or gave
        std::vector<double> share;
        std::vector<int32_t> best;
        std::vector<std::pair<int32_t, float>> place;

        void hold(size_t H, size_t L) {
            more.assign(H, 0.f);
            best.resize(std::min(L, H));
            share.resize(std::min(L, H));
            place.resize(L);
        }
    };

    /// Every row in cluster 0, until it has others.
    RowShares(size_t rows, size_t L) : L_(L), rows_(rows), id_(rows * L), r_(rows * L) {
        for (size_t n = 0; n < rows_; ++n) r_[n * L_] = 1;
    }

    /// Clusters of the rows [rows, L], with shares that become multiples of the grid.
    void assign(std::span<const int32_t> cluster, std::span<const float> r) {
        std::ranges::copy(cluster, id_.begin());
        std::ranges::copy(r, r_.begin());
        for (size_t n = 0; n < rows_; ++n) to_grid(1.0, std::span(&r_[n * L_], L_));
    }

    size_t rows() const { return rows_; }
    size_t L() const { return L_; }
    std::span<const int32_t> ids() const { return id_; }
    std::span<const float> shares() const { return r_; }

    bool is_worth_solving(size_t n, const HeldClusters& held) const { return mass(n, held).first >= kLeastMass; }

    /// Eq. (G.10) for row n under the scores s [held], and what it changes.
    void solve(size_t n, std::span<const double> s, const HeldClusters& clusters, Scratch& lane, Changes& out) {
        float* const r = &r_[n * L_];
        int32_t* const id = &id_[n * L_];
        const auto [M, room] = mass(n, clusters);
        const size_t m = std::min(room, s.size());
        softmax_top_l(s, m, lane.best.data(), lane.share.data());
        to_grid(M, std::span(lane.share.data(), m));

        // More or less for each slot, and what stays elsewhere, whose places close ranks.
        size_t kept = 0;
        for (size_t l = 0; l < L_; ++l) {
            if (!(r[l] > 0)) continue;
            if (const int32_t h = clusters.slot(size_t(id[l])); h >= 0) {
                lane.more[size_t(h)] -= r[l], lane.slots.push_back(h);
            } else {
                lane.place[kept++] = {id[l], r[l]};
            }
        }
        for (size_t l = 0; l < m; ++l) {
            const float share = float(lane.share[l]);  // exact: it lies on the grid, as do differences
            float& more = lane.more[size_t(lane.best[l])];
            if (more == 0) lane.slots.push_back(lane.best[l]);
            more += share;
            if (share > 0) lane.place[kept++] = {int32_t(clusters[size_t(lane.best[l])]), share};
        }
        double moved = 0;
        for (const int32_t h : lane.slots) moved = std::max(moved, std::abs(double(lane.more[size_t(h)])));
        for (const int32_t h : lane.slots)
            if (const float more = std::exchange(lane.more[size_t(h)], 0.f); more != 0 && moved > kStill)
                out.push_back({h, n, more});
        lane.slots.clear();
        if (!(moved > kStill)) return;
        for (size_t l = 0; l < L_; ++l) {
            id[l] = l < kept ? lane.place[l].first : 0;
            r[l] = l < kept ? lane.place[l].second : 0.f;
        }
    }

    /// Calls tell(row, slot, share) for every share of these rows in a cluster that is held.
    template <class Tell>
    void for_each_held(size_t first, size_t last, const HeldClusters& held, Tell tell) const {
        for (size_t n = first; n < last; ++n)
            for (size_t i = n * L_; i < (n + 1) * L_; ++i)
                if (const int32_t h = r_[i] > 0 ? held.slot(size_t(id_[i])) : -1; h >= 0) tell(n, h, r_[i]);
    }

    /// Rows forget their clusters: `offer` finds them new ones, and `settle` makes shares of the scores.
    void forget() {
        compares_ = true;
        std::ranges::fill(id_, 0);
        score_.assign(r_.size(), -std::numeric_limits<double>::infinity());
    }

    /// Keeps the cluster if its score is among the row's best so far. Equal scores are in the order of clusters, so
    /// that it does not matter which came first.
    void offer(size_t n, int32_t k, double score) {
        double* const s = &score_[n * L_];
        int32_t* const id = &id_[n * L_];
        auto before = [&](size_t l) { return s[l] > score || (s[l] == score && id[l] < k); };
        if (before(L_ - 1)) return;
        size_t l = L_ - 1;
        for (; l > 0 && !before(l - 1); --l) s[l] = s[l - 1], id[l] = id[l - 1];
        s[l] = score, id[l] = k;
    }

    void settle(int threads) {
        parallel_for(rows_, 256, threads, [&](size_t begin, size_t end, size_t) {
            for (size_t n = begin; n < end; ++n) {
                float* const r = &r_[n * L_];
                const double* const s = &score_[n * L_];
                double sum = 0;
                if (!(s[0] > -std::numeric_limits<double>::infinity()))
                    throw std::logic_error("no cluster has a score for row " + std::to_string(n));
                for (size_t l = 0; l < L_; ++l) sum += double(r[l] = float(math::exp(double(s[l] - s[0]))));
                for (size_t l = 0; l < L_; ++l) r[l] = float(double(r[l]) / sum);
                to_grid(1.0, std::span(r, L_));
            }
        });
        score_ = {};
        compares_ = false;
    }

    /// Whether rows compare clusters: between `forget` and `settle`.
    bool compares() const { return compares_; }

    double entropy(size_t n) const {
        double H = 0;
        for (size_t l = 0; l < L_; ++l) {
            const double r = double(r_[n * L_ + l]);
            if (r > 0 && r < 1) H -= r * math::log(r);
        }
        return H;
    }

  private:
    /// The row's mass on the clusters held, and how many of them it has room for.
    std::pair<double, size_t> mass(size_t n, const HeldClusters& held) const {
        double outside = 0;
        size_t room = L_;
        for (size_t l = 0; l < L_; ++l) {
            const float r = r_[n * L_ + l];
            if (r > 0 && held.slot(size_t(id_[n * L_ + l])) < 0) outside += double(r), --room;
        }
        return {1.0 - outside, room};
    }

    /// Shares of the mass, given in parts that sum to one or nearly: rounded down to the grid, the rest to the largest.
    template <class U>
    static void to_grid(double mass, std::span<U> r) {
        double left = mass;
        size_t best = 0;
        for (size_t l = 0; l < r.size(); ++l) {
            if (r[l] > r[best]) best = l;
            const double share = std::floor(std::min(double(r[l]) * mass, left) / kGrid) * kGrid;
            left -= share;
            r[l] = U(share);
        }
        r[best] = U(double(r[best]) + left);
    }

    const size_t L_, rows_;
    std::vector<int32_t> id_;    // [rows, L] clusters of a row, those with a share first
    std::vector<float> r_;       // [rows, L] their shares; they sum to one, exactly
    std::vector<double> score_;  // [rows, L] while rows compare clusters
    bool compares_ = false;
};

}  // namespace topmix::asynchronous
