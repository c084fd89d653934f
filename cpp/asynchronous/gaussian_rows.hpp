// Dense rows under Gaussian clusters: scores are products of matrices, and sums are moments.  docs/math.md, section G.
#pragma once
#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "asynchronous/cluster_blocks.hpp"
#include "asynchronous/normal_wishart.hpp"
#include "base/blas.hpp"
#include "local/gaussian.hpp"
#include "local/moments.hpp"

namespace topmix::asynchronous {

template <class T>
class GaussianRows {
  public:
    using Share = T;
    using Score = T;
    using Prior = NormalWishart;
    using Cluster = asynchronous::Cluster<T>;
    using UpdateScratch = asynchronous::UpdateScratch;

    struct Scratch {
        std::vector<T> f, s;
        MomentSum<T> moments;
        std::vector<double> sum;
        UpdateScratch update{};
    };

    /// The rows in the frame, z [rows, D].
    GaussianRows(const NormalWishart& prior, std::vector<T> z)
        : prior_(&prior), D_(prior.D()), z_(std::move(z)), parts_(prior.features.parts()) {}

    static size_t numbers(const NormalWishart& prior) { return 1 + prior.D() + prior.Q(); }

    /// A block has the sum of each cluster and its centre.
    static size_t width(const NormalWishart& prior) { return numbers(prior) + prior.D(); }

    static Cluster unpacked(const NormalWishart& prior, const double* at) {
        const double* const centre = at + numbers(prior);
        return {{at, centre}, std::vector<T>(prior.features.size()), T(0), std::vector<T>(centre, centre + prior.D())};
    }

    static void pack(const Cluster& c, std::vector<double>& out) {
        out.insert(out.end(), c.sum.begin(), c.sum.end());
        out.insert(out.end(), c.centre.begin(), c.centre.end());
    }

    static void refresh(const NormalWishart& prior, size_t k, Cluster& c, UpdateScratch& update) {
        asynchronous::refresh(prior, k, c, update);
    }

    size_t rows() const { return z_.size() / D_; }
    size_t bytes() const { return z_.size() * sizeof(T); }
    bool sums_again() const { return prior_->features.kind == Quadratic::products; }  // others are summed in double

    Scratch scratch() const {
        return {{}, {}, MomentSum<T>(prior_->features.kind, D_), std::vector<double>(numbers(*prior_))};
    }

    void lay_out(std::span<const Cluster> clusters, const HeldClusters& held, std::span<const char> which, int) {
        const size_t F = prior_->features.size();
        table_.resize(held.size() * F);
        constant_.resize(held.size());
        for (size_t h = 0; h < held.size(); ++h) {
            if (!which[h]) continue;
            const Cluster& c = clusters[held[h]];
            std::ranges::copy(c.W, table_.begin() + std::ptrdiff_t(h * F));
            constant_[h] = c.constant;
        }
    }

    void score(std::span<const size_t> rows, size_t H, Scratch& lane) const {
        const Features& features = prior_->features;
        const size_t F = features.size();
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

    void begin(const Cluster& c, Scratch& lane) const { lane.moments.begin(c.centre.data()); }
    void add(size_t row, double weight, Scratch& lane) const { lane.moments.add(&z_[row * D_], weight); }
    void end(Scratch& lane) const {
        std::ranges::fill(lane.sum, 0.0);
        lane.moments.add_to(lane.sum[0], &lane.sum[1], lane.sum.data() + 1 + D_);
    }

  private:
    const NormalWishart* prior_;
    size_t D_;
    std::vector<T> z_;           // [rows, D] in the frame
    std::vector<size_t> parts_;  // of features
    std::vector<T> table_;       // [held, features]
    std::vector<T> constant_;    // [held]
};

}  // namespace topmix::asynchronous
