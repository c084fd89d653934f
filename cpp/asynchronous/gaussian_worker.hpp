// Asynchronous learning of Gaussian mixtures: rows stay with their worker, clusters travel.  docs/math.md, section G.1.
//
// A worker that holds the clusters K' solves again for the part of each row's responsibilities that lies on them, with
// its mass M_n = sum_{k in K'} r_nk as it is:
//
//     r_nk = M_n exp(s_nk) / sum_{j in S} exp(s_nj),      S: the best of K' that the row has room for (G.10)
//
// That is exact coordinate ascent, whatever K' is. A row without mass on K' is not scored: holding half of the clusters
// costs a quarter of the products. Rows are solved some at a time; what they give
// to the clusters held changes at once, and so do the clusters.
//
// Shares are whole multiples of 2^-24 (2^-53 in double): sums of them are exact, so that mass is conserved to the bit.
#pragma once
#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "asynchronous/normal_wishart.hpp"
#include "asynchronous/transport.hpp"
#include "base/accumulate.hpp"
#include "local/gaussian.hpp"
#include "local/moments.hpp"
#include "simd/top_l.hpp"

namespace topmix::asynchronous {

/// Clusters of a block: consecutive ones, at least two if there are two, since one alone can take nothing from another.
struct Blocks {
    size_t clusters, count;
    size_t begin(size_t b) const { return b * clusters / count; }
    size_t end(size_t b) const { return begin(b + 1); }
};

template <class T>
struct SharedClusters {
    NormalWishart prior;
    Blocks blocks;
    std::vector<Cluster<T>> cluster;  // [K]; the worker that holds its block owns it
};

/// What rows add to a cluster.
struct Moments {
    double N = 0;
    std::vector<double> first, second;  // [D], [Q]
};

/// Whether a worker keeps the moments of its own rows in all clusters, or works them out for those that visit it.
enum class OwnMoments { kept, made_for_a_visit };

template <class T>
class GaussianWorker {
  public:
    /// Statistics of the worker's own rows: those of all workers add up to the clusters'.
    struct Post {
        std::vector<double> N, first, second;  // [K], [K, D], [K, Q]
        double entropy = 0;
    };

    static constexpr double kGrid = double(std::numeric_limits<T>::epsilon()) / 2;
    static constexpr double kStill = 16 * kGrid;  // a row whose shares change by no more stays as it is
    static constexpr double kLeastMass = 1e-3;  // of a row, to be worth solving; all of it, where all clusters are held

    /// The rows' z [n, D] with what they weigh ([n], or nothing where all weigh one), and their first assignment
    /// [n, L], whose shares become multiples of the grid. `rows_at_once` are solved between two updates.
    /// A visit runs on `threads`; its bits do not depend on how many.
    GaussianWorker(SharedClusters<T>& shared, size_t L, size_t rows_at_once, int threads, std::vector<T> z,
                   std::vector<double> weight, std::vector<int32_t> cluster, std::vector<T> r,
                   OwnMoments own = OwnMoments::kept)
        : shared_(shared),
          keeps_own_(own == OwnMoments::kept),
          D_(shared.prior.D()),
          Q_(shared.prior.Q()),
          L_(L),
          rows_at_once_(rows_at_once),
          threads_(std::max(threads, 1)),
          rows_(z.size() / D_),
          z_(std::move(z)),
          weight_(std::move(weight)),
          id_(std::move(cluster)),
          r_(std::move(r)),
          slot_(shared.cluster.size(), -1),
          parts_(shared.prior.features.parts()) {
        for (int t = 0; t < threads_; ++t) lane_.emplace_back(shared.prior.features.kind, D_, Q_, L_);
        own_.resize(shared.cluster.size());
        if (keeps_own_) std::ranges::fill(own_, no_moments());
        for (size_t n = 0; n < rows_; ++n) to_grid(1.0, std::span(&r_[n * L_], L_));
    }

    /// Set by another thread: the current visit ends early and keeps what it has solved.
    std::atomic<bool> stop_early{false};

    /// Computes the statistics of the worker's own rows. The caller adds them to the clusters.
    void begin() {
        hold_all();
        std::ranges::fill(changed_, true);
        sum_again([](size_t, ThreadScratch&) {});
        let_go();
    }

    void visit(std::span<const BlockId> blocks) {
        hold(blocks);
        if (!keeps_own_ && sums_again_) {
            std::ranges::fill(changed_, true);
            sum_again([](size_t, ThreadScratch&) {});
            std::ranges::fill(changed_, false);
        }
        for (size_t next = 0; next < rows_ && !stop_early.load(std::memory_order_relaxed);) {
            batch_.clear();
            for (; next < rows_ && batch_.size() < rows_at_once_; ++next)
                if (mass(next).first >= kLeastMass) batch_.push_back(next);
            solve();
            if (next < rows_ || !sums_again_) apply();
        }
        if (sums_again_)
            sum_again([this](size_t k, ThreadScratch& lane) {
                add(lane, shared_.cluster[k]);
                clear_if_empty(shared_.cluster[k]);
                refresh(shared_.prior, k, shared_.cluster[k], lane.scratch);
            });
        let_go();
    }

    /// Rows forget their clusters: `compare` finds them new ones, as blocks come.
    void forget() {
        std::ranges::fill(id_, 0);
        std::ranges::fill(r_, -std::numeric_limits<T>::infinity());
    }

    /// Each row keeps the best L of the clusters that came since `forget`, with their scores.
    void compare(std::span<const BlockId> blocks) {
        hold(blocks);
        const size_t H = held_.size();
        parallel_for(rows_, kBlockRows, threads_, [&](size_t begin, size_t end, size_t t) {
            std::vector<size_t> rows(end - begin);
            for (size_t i = 0; i < rows.size(); ++i) rows[i] = begin + i;
            score(rows, lane_[t]);
            for (size_t i = 0; i < rows.size(); ++i)
                for (size_t h = 0; h < H; ++h) offer(rows[i], int32_t(held_[h]), lane_[t].s[i * H + h]);
        });
        let_go();
    }

    /// All clusters have come: scores become shares.
    void settle() {
        parallel_for(rows_, kBlockRows, threads_, [&](size_t begin, size_t end, size_t) {
            for (size_t n = begin; n < end; ++n) {
                T* const r = &r_[n * L_];
                const T best = r[0];
                double sum = 0;
                for (size_t l = 0; l < L_; ++l) sum += double(r[l] = T(math::exp(double(r[l] - best))));
                for (size_t l = 0; l < L_; ++l) r[l] = T(double(r[l]) / sum);
                to_grid(1.0, std::span(r, L_));
            }
        });
    }

    /// Adds what the worker's rows give to the clusters of these blocks.
    void contribute(std::span<const BlockId> blocks) {
        hold(blocks);
        std::ranges::fill(changed_, true);
        sum_again([this](size_t k, ThreadScratch& lane) { add(lane, shared_.cluster[k]); });
        let_go();
    }

    double entropy() const {
        double out = 0;
        for (size_t n = 0; n < rows_; ++n) {
            double H = 0;
            for (size_t l = 0; l < L_; ++l) {
                const double r = double(r_[n * L_ + l]);
                if (r > 0 && r < 1) H -= r * math::log(r);
            }
            out += H * weight(n);
        }
        return out;
    }

    Post post() const {
        Post out;
        for (const Moments& own : own_) {
            out.N.push_back(own.N);
            out.first.insert(out.first.end(), own.first.begin(), own.first.end());
            out.second.insert(out.second.end(), own.second.begin(), own.second.end());
        }
        out.entropy = entropy();
        return out;
    }

    const Moments& own(size_t k) const { return own_[k]; }
    size_t rows() const { return rows_; }
    std::span<const int32_t> ids() const { return id_; }
    std::span<const T> shares() const { return r_; }

  private:
    struct Change {
        int32_t slot;
        uint32_t row;
        T share;
    };
    using Changes = std::vector<Change>;

    /// Memory of one thread.
    struct ThreadScratch {
        ThreadScratch(Quadratic kind, size_t D, size_t Q, size_t L) : sum(kind, D), first(D), second(Q), place(L) {}
        std::vector<T> f, s, share, before;  // before [held]: shares of the row at hand; zero between rows
        std::vector<int32_t> best;
        MomentSum<T> sum;
        double N = 0;
        std::vector<double> first, second;
        std::vector<std::pair<int32_t, T>> place;
        UpdateScratch scratch;
    };

    double weight(size_t n) const { return weight_.empty() ? 1.0 : weight_[n]; }

    Moments no_moments() const { return {0.0, std::vector<double>(D_), std::vector<double>(Q_)}; }

    /// Keeps the cluster if its score is among the row's best so far. Equal scores are in the order of clusters, so
    /// that it does not matter which came first.
    void offer(size_t n, int32_t k, T score) {
        T* const s = &r_[n * L_];
        int32_t* const id = &id_[n * L_];
        auto before = [&](size_t l) { return s[l] > score || (s[l] == score && id[l] < k); };
        if (before(L_ - 1)) return;
        size_t l = L_ - 1;
        for (; l > 0 && !before(l - 1); --l) s[l] = s[l - 1], id[l] = id[l - 1];
        s[l] = score, id[l] = k;
    }

    void hold_all() {
        held_.resize(shared_.cluster.size());
        for (size_t k = 0; k < held_.size(); ++k) held_[k] = k;
        hold();
    }

    void hold(std::span<const BlockId> blocks) {
        held_.clear();
        for (const BlockId b : blocks)
            for (size_t k = shared_.blocks.begin(b); k < shared_.blocks.end(b); ++k) held_.push_back(k);
        std::ranges::sort(held_);
        hold();
    }

    void hold() {
        const size_t H = held_.size(), F = shared_.prior.features.size();
        table_.resize(H * F);
        constant_.resize(H);
        for (ThreadScratch& lane : lane_) {
            lane.before.assign(H, T(0));
            lane.best.resize(std::min(L_, H));
            lane.share.resize(std::min(L_, H));
        }
        changed_.assign(H, false);
        for (size_t h = 0; h < H; ++h) {
            slot_[held_[h]] = int32_t(h), lay_out(h);
            if (!keeps_own_) own_[held_[h]] = no_moments();
        }
    }

    void lay_out(size_t h) {
        const Cluster<T>& c = shared_.cluster[held_[h]];
        std::ranges::copy(c.W, table_.begin() + std::ptrdiff_t(h * c.W.size()));
        constant_[h] = c.constant;
    }

    void let_go() {
        for (const size_t k : held_) {
            slot_[k] = -1;
            if (!keeps_own_) own_[k] = {};
        }
    }

    /// The row's mass on the clusters held, and how many of them it has room for.
    std::pair<double, size_t> mass(size_t n) const {
        double outside = 0;
        size_t room = L_;
        for (size_t l = 0; l < L_; ++l) {
            const T r = r_[n * L_ + l];
            if (r > 0 && slot_[size_t(id_[n * L_ + l])] < 0) outside += double(r), --room;
        }
        return {1.0 - outside, room};
    }

    /// Shares of the mass, given in parts that sum to one or nearly: rounded down to the grid, the rest to the largest.
    static void to_grid(double mass, std::span<T> r) {
        double left = mass;
        size_t best = 0;
        for (size_t l = 0; l < r.size(); ++l) {
            if (r[l] > r[best]) best = l;
            const double share = std::floor(std::min(double(r[l]) * mass, left) / kGrid) * kGrid;
            left -= share;
            r[l] = T(share);
        }
        r[best] = T(double(r[best]) + left);
    }

    void solve() {
        const size_t H = held_.size();
        part_.resize((batch_.size() + kBlockRows - 1) / kBlockRows);
        parallel_for(batch_.size(), kBlockRows, threads_, [&](size_t begin, size_t end, size_t t) {
            Changes& out = part_[begin / kBlockRows];
            out.clear();
            if (stop_early.load(std::memory_order_relaxed)) return;
            const std::span<const size_t> rows(&batch_[begin], end - begin);
            score(rows, lane_[t]);
            for (size_t i = 0; i < rows.size(); ++i)
                solve_row(rows[i], std::span<const T>(&lane_[t].s[i * H], H), lane_[t], out);
        });
        change_.clear();
        for (const Changes& part : part_)
            for (const Change& change : part) {
                change_.push_back(change);
                changed_[size_t(change.slot)] = true;
            }
    }

    /// Scores of these rows under the clusters held, into s [rows, held].
    void score(std::span<const size_t> rows, ThreadScratch& lane) const {
        const Features& features = shared_.prior.features;
        const size_t H = held_.size(), F = features.size();
        std::vector<T>&f = lane.f, &s = lane.s;
        s.resize(rows.size() * H);
        for (size_t i = 0; i < rows.size(); ++i) std::ranges::copy(constant_, s.begin() + std::ptrdiff_t(i * H));
        for (size_t first = 0; first + 1 < parts_.size();) {
            size_t last = first + 1;
            while (last + 1 < parts_.size() && parts_[last + 1] - parts_[first] <= kBlockFeatures) ++last;
            const size_t at = parts_[first], width = parts_[last] - at;
            f.resize(std::max(f.size(), rows.size() * width));
            for (size_t i = 0; i < rows.size(); ++i)
                for (size_t p = first; p < last; ++p)
                    features.write(&z_[rows[i] * D_], p, &f[i * width + parts_[p] - at]);
            blas::add_product_transposed(rows.size(), width, H, f.data(), &table_[at], F, s.data());
            first = last;
        }
    }

    /// Eq. (G.10), and what it changes.
    void solve_row(size_t n, std::span<const T> s, ThreadScratch& lane, Changes& out) {
        T* const r = &r_[n * L_];
        int32_t* const id = &id_[n * L_];
        const auto [M, room] = mass(n);
        const size_t m = std::min(room, s.size());
        softmax_top_l(s, m, lane.best.data(), lane.share.data());
        to_grid(M, std::span(lane.share.data(), m));

        auto held = [&](size_t l) { return r[l] > 0 ? slot_[size_t(id[l])] : -1; };
        double moved = 0;
        for (size_t l = 0; l < L_; ++l)
            if (held(l) >= 0) lane.before[size_t(held(l))] = r[l];
        for (size_t l = 0; l < m; ++l)
            moved = std::max(moved, std::abs(double(lane.share[l]) - double(lane.before[size_t(lane.best[l])])));
        size_t kept = 0;
        for (size_t l = 0; l < L_; ++l) {  // those held leave: the others close ranks
            if (!(r[l] > 0)) continue;
            if (held(l) < 0) {
                lane.place[kept++] = {id[l], r[l]};
            } else if (!std::binary_search(lane.best.begin(), lane.best.begin() + std::ptrdiff_t(m), held(l))) {
                moved = std::max(moved, double(r[l]));
            }
        }
        if (moved > kStill) {
            for (size_t l = 0; l < m; ++l) {
                T& before = lane.before[size_t(lane.best[l])];
                if (lane.share[l] != before) out.push_back({lane.best[l], uint32_t(n), lane.share[l] - before});
                before = 0;
                if (lane.share[l] > 0) lane.place[kept++] = {int32_t(held_[size_t(lane.best[l])]), lane.share[l]};
            }
            for (size_t l = 0; l < L_; ++l)
                if (held(l) >= 0 && lane.before[size_t(held(l))] > 0)
                    out.push_back({held(l), uint32_t(n), -std::exchange(lane.before[size_t(held(l))], T(0))});
            for (size_t l = 0; l < L_; ++l) {
                id[l] = l < kept ? lane.place[l].first : 0;
                r[l] = l < kept ? lane.place[l].second : T(0);
            }
        } else {
            for (size_t l = 0; l < L_; ++l)
                if (held(l) >= 0) lane.before[size_t(held(l))] = 0;
        }
    }

    /// Sums the changes of each held cluster for which wants(h) is true, and calls tell(h, scratch) with the moments.
    template <class Wants, class Tell>
    void sum_changes(Wants wants, Tell tell) {
        const size_t H = held_.size();
        change_slot_.resize(change_.size());
        for (size_t i = 0; i < change_.size(); ++i) change_slot_[i] = change_[i].slot;
        starts_.resize(H + 1);
        order_.resize(change_.size());
        group_by(std::span<const int32_t>(change_slot_), H, threads_, std::span(starts_), std::span(order_));
        parallel_for(H, 1, threads_, [&](size_t begin, size_t end, size_t t) {
            for (size_t h = begin; h < end; ++h) {
                if (!wants(h)) continue;
                ThreadScratch& lane = lane_[t];
                lane.sum.begin(shared_.cluster[held_[h]].centre.data());
                for (int64_t at = starts_[h]; at < starts_[h + 1]; ++at) {
                    const Change& change = change_[size_t(order_[size_t(at)])];
                    lane.sum.add(&z_[change.row * D_], double(change.share) * weight(change.row));
                }
                lane.N = 0;
                std::ranges::fill(lane.first, 0.0);
                std::ranges::fill(lane.second, 0.0);
                lane.sum.add_to(lane.N, lane.first.data(), lane.second.data());
                tell(h, lane);
            }
        });
    }

    void add(const ThreadScratch& lane, Cluster<T>& c) const {
        c.N += lane.N;
        for (size_t d = 0; d < D_; ++d) c.first[d] += lane.first[d];
        for (size_t q = 0; q < Q_; ++q) c.second[q] += lane.second[q];
    }

    /// Of a cluster without rows nothing stays that rounding left. Not while sums in T are still to be made again: the
    /// worker's own hold the same rounding, and only together do they cancel.
    static void clear_if_empty(Cluster<T>& c) {
        if (c.N != 0) return;
        std::ranges::fill(c.first, 0.0);
        std::ranges::fill(c.second, 0.0);
    }

    /// What the solved rows changed, to the clusters and to the worker's own statistics.
    void apply() {
        sum_changes([this](size_t h) { return starts_[h] < starts_[h + 1]; },
                    [this](size_t h, ThreadScratch& lane) {
                        const size_t k = held_[h];
                        add(lane, shared_.cluster[k]);
                        if (!sums_again_) clear_if_empty(shared_.cluster[k]);
                        own_[k].N += lane.N;
                        for (size_t d = 0; d < D_; ++d) own_[k].first[d] += lane.first[d];
                        for (size_t q = 0; q < Q_; ++q) own_[k].second[q] += lane.second[q];
                        refresh(shared_.prior, k, shared_.cluster[k], lane.scratch);
                        lay_out(h);
                    });
    }

    /// The worker's own statistics of clusters that changed, from its rows: so that what rounding leaves in many small
    /// changes is gone after each visit. `tell` hears by how much they differ from what they were.
    template <class Tell>
    void sum_again(Tell tell) {
        change_.clear();
        for (size_t n = 0; n < rows_; ++n)
            for (size_t l = 0; l < L_; ++l) {
                const size_t i = n * L_ + l;
                const int32_t h = r_[i] > 0 ? slot_[size_t(id_[i])] : -1;
                if (h >= 0 && changed_[size_t(h)]) change_.push_back({h, uint32_t(n), r_[i]});
            }
        sum_changes([this](size_t h) { return bool(changed_[h]); },
                    [this, &tell](size_t h, ThreadScratch& lane) {
                        const size_t k = held_[h];
                        swap_own(lane.N, own_[k].N);
                        for (size_t d = 0; d < D_; ++d) swap_own(lane.first[d], own_[k].first[d]);
                        for (size_t q = 0; q < Q_; ++q) swap_own(lane.second[q], own_[k].second[q]);
                        tell(k, lane);
                    });
    }

    /// own becomes fresh, and fresh the difference.
    static void swap_own(double& fresh, double& own) { fresh -= std::exchange(own, fresh); }

    SharedClusters<T>& shared_;
    const bool keeps_own_;
    const size_t D_, Q_, L_, rows_at_once_;
    const int threads_;
    const bool sums_again_ =
        shared_.prior.features.kind == Quadratic::products;  // the only sums in T; others are in double
    const size_t rows_;
    std::vector<T> z_;                 // [rows, D] in the frame
    std::vector<double> weight_;       // [rows] or nothing
    std::vector<int32_t> id_;          // [rows, L] clusters of a row, those with a share first
    std::vector<T> r_;                 // [rows, L] their shares; they sum to one, exactly
    std::vector<Moments> own_;         // [K] of the worker's rows; of those held, if others are not kept
    std::vector<size_t> held_;         // clusters, ascending
    std::vector<int32_t> slot_;        // [K] where among those held; -1: elsewhere
    std::vector<size_t> parts_;        // of features
    std::vector<ThreadScratch> lane_;  // [threads]
    std::vector<T> table_;             // [held, features]
    std::vector<T> constant_;          // [held]
    std::vector<char> changed_;        // [held]
    std::vector<size_t> batch_;
    std::vector<Changes> part_;
    Changes change_;
    std::vector<int32_t> change_slot_, order_;
    std::vector<int64_t> starts_;
};

}  // namespace topmix::asynchronous
