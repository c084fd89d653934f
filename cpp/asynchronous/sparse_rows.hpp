// Rows with few entries, under clusters whose scores are sums over these entries.  docs/math.md, section G.1.
//
//     s_nk = c_k + sum_{v in row n} sum_j f_j(v, x_nv) W_kvj
//
// `Clusters` says which features f an entry has and how W follows from their sums (categorical_clusters.hpp,
// sparse_gaussian.hpp). Entries that are zero cost nothing. Scores and sums are in double, and shares in float:
// products of shares with whole numbers, and their sums, are then exact.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "asynchronous/cluster_blocks.hpp"
#include "base/parallel.hpp"
#include "base/views.hpp"

namespace topmix::asynchronous {

struct SparseCluster {
    std::vector<double> sum;  // N, then features [columns, F]
    std::vector<double> W;    // [columns, F]
    double constant = 0;
};

template <class Clusters>
class SparseRows {
  public:
    using Share = float;
    using Score = double;
    using Value = typename Clusters::Value;
    using Prior = Clusters;
    using Cluster = SparseCluster;
    using UpdateScratch = typename Clusters::UpdateScratch;
    static constexpr size_t kFeatures = Clusters::kFeatures;

    struct Scratch {
        std::vector<double> s, sum;
        UpdateScratch update{};
    };

    /// Rows begin to end of X, copied.
    SparseRows(const Clusters& prior, const Csr<Value>& X, size_t begin, size_t end)
        : prior_(&prior),
          indptr_(X.indptr.begin() + std::ptrdiff_t(begin), X.indptr.begin() + std::ptrdiff_t(end) + 1),
          index_(X.index.begin() + indptr_.front(), X.index.begin() + indptr_.back()),
          value_(X.value.begin() + indptr_.front(), X.value.begin() + indptr_.back()) {
        const int64_t first = indptr_.front();
        for (int64_t& at : indptr_) at -= first;
    }

    static size_t numbers(const Clusters& prior) { return 1 + kFeatures * prior.columns(); }

    /// A block has the sum of each cluster.
    static size_t width(const Clusters& prior) { return numbers(prior); }

    static Cluster unpacked(const Clusters& prior, const double* at) {
        return {{at, at + numbers(prior)}, std::vector<double>(kFeatures * prior.columns())};
    }

    static void pack(const Cluster& c, std::vector<double>& out) { out.insert(out.end(), c.sum.begin(), c.sum.end()); }

    static void refresh(const Clusters& prior, size_t k, Cluster& c, UpdateScratch& update) {
        prior.refresh(k, c, update);
    }

    size_t rows() const { return indptr_.size() - 1; }
    size_t bytes() const { return indptr_.size() * 8 + index_.size() * (sizeof(int32_t) + sizeof(Value)); }
    bool sums_again() const { return false; }
    Scratch scratch() const { return {{}, std::vector<double>(numbers(*prior_))}; }

    /// Word by word: an entry then reads consecutive numbers of the clusters held.
    void lay_out(std::span<const Cluster> clusters, const HeldClusters& held, std::span<const char> which,
                 int threads) {
        const size_t H = held.size(), F = kFeatures * prior_->columns();
        table_.resize(F * H);
        constant_.resize(H);
        for (size_t h = 0; h < H; ++h) constant_[h] = clusters[held[h]].constant;
        parallel_for(F, 256, threads, [&](size_t begin, size_t end, size_t) {
            for (size_t h = 0; h < H; ++h) {
                if (!which[h]) continue;
                const double* const W = clusters[held[h]].W.data();
                for (size_t f = begin; f < end; ++f) table_[f * H + h] = W[f];
            }
        });
    }

    void score(std::span<const size_t> rows, size_t H, Scratch& lane) const {
        lane.s.resize(rows.size() * H);
        for (size_t i = 0; i < rows.size(); ++i) {
            double* const s = &lane.s[i * H];
            std::ranges::copy(constant_, s);
            for (int64_t at = indptr_[rows[i]]; at < indptr_[rows[i] + 1]; ++at) {
                const auto f = features(at);
                const double* const w = &table_[size_t(index_[size_t(at)]) * kFeatures * H];
                for (size_t j = 0; j < kFeatures; ++j)
#pragma omp simd
                    for (size_t h = 0; h < H; ++h) s[h] += f[j] * w[j * H + h];
            }
        }
    }

    void begin(const Cluster&, Scratch& lane) const { std::ranges::fill(lane.sum, 0.0); }
    void add(size_t row, double weight, Scratch& lane) const {
        lane.sum[0] += weight;
        for (int64_t at = indptr_[row]; at < indptr_[row + 1]; ++at) {
            const auto f = features(at);
            double* const sum = &lane.sum[1 + size_t(index_[size_t(at)]) * kFeatures];
            for (size_t j = 0; j < kFeatures; ++j) sum[j] += weight * f[j];
        }
    }
    void end(Scratch&) const {}

  private:
    auto features(int64_t at) const { return prior_->features(size_t(index_[size_t(at)]), value_[size_t(at)]); }

    const Clusters* prior_;
    std::vector<int64_t> indptr_;
    std::vector<int32_t> index_;
    std::vector<Value> value_;
    std::vector<double> table_;     // [columns, F, held]
    std::vector<double> constant_;  // [held]
};

}  // namespace topmix::asynchronous
