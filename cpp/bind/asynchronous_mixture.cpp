// Clusters that move between workers, and the rows that stay: workers are threads of one process (AsynchronousMixture)
// or processes (NomadicMixture).
#include "asynchronous/mixture.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "asynchronous/gaussian_rows.hpp"
#include "asynchronous/sparse_rows.hpp"
#include "bind/quadratic.hpp"
#include "bind/sparse_rows.hpp"

namespace topmix {

namespace {

using asynchronous::AsynchronousMixture;
using asynchronous::BlockId;
using asynchronous::CategoricalRows;
using asynchronous::ClusterRows;
using asynchronous::GaussianRows;
using asynchronous::MixtureSettings;
using asynchronous::MixtureWorker;
using asynchronous::NomadicMixture;
using asynchronous::NormalWishart;
using asynchronous::SparseGaussianRows;

using OptionalWeights = std::optional<Vec<const double>>;

template <class T>
std::vector<T> copied(const Vec<const T>& x) {
    return {x.data(), x.data() + x.size()};
}

void make_prior(NormalWishart* self, const std::string& kind, bool linear, bool bayes, double beta,
                const Vec<const double>& m, double nu, const Vec<const double>& B, const Vec<const double>& reg,
                double weight_prior) {
    const size_t D = m.size();
    const Quadratic q = quadratic(kind);
    require(q != Quadratic::none, "tied clusters cannot be learned asynchronously: they share their covariance");
    require(D >= 1, "rows need a column");
    require(B.size() == quadratic_size(q, D) && reg.size() == B.size(), "B and reg must be packed second moments");
    require(are_positive<double>(std::array{beta, nu, weight_prior}),
            "beta, nu and the weights' prior must be positive");
    require(are_finite(view(m)) && are_finite(view(B)) && are_finite(view(reg)), "m, B and reg must be finite");
    new (self) NormalWishart{{q, linear, D}, bayes, beta, copied(m), nu, copied(B), copied(reg), weight_prior};
}

void make_dense(GaussianRows* self, const NormalWishart& prior, Mat<const double> z) {
    require(z.shape(1) == prior.D(), "the prior and z disagree on the dimensions");
    require(are_finite(view(z)), "z must be finite");
    new (self) GaussianRows(prior, {z.data(), z.data() + z.size()});
}

/// Rows in the frame are (x - origin) scale; `zero` is where the row of zeros is.
void make_sparse(SparseGaussianRows* self, const NormalWishart& prior, const Vec<const double>& scale,
                 const Vec<const double>& zero, const SparseRowArrays<double>& rows) {
    require(prior.features.kind == Quadratic::squares, "sparse rows need variances of each column");
    require(scale.size() == prior.D() && zero.size() == prior.D(), "scale and zero must have a number for each column");
    require(are_finite(view(scale)) && are_finite(view(zero)), "scale and zero must be finite");
    const Csr<double> X = rows.checked(prior.D());
    require(are_finite(X.value), "values must be finite");
    new (self) SparseGaussianRows(prior, view(scale), copied(zero), X);
}

void make_counts(CategoricalRows* self, bool bayes, const Vec<const double>& eta, double weight_prior,
                 const SparseRowArrays<float>& rows) {
    require(eta.size() > 0 && are_positive(view(eta)) && are_positive<double>({&weight_prior, 1}),
            "eta and the weights' prior must be positive");
    new (self) CategoricalRows(bayes, copied(eta), weight_prior, checked_counts(rows, eta.size()));
}

void make_settings(MixtureSettings* self, double all_rows, size_t n_clusters, size_t n_active, size_t blocks,
                   size_t rows_at_once, Threads threads) {
    require(are_counts<double>({&all_rows, 1}), "all_rows must be finite and not negative");
    require(1 <= n_active && n_active <= n_clusters && n_clusters <= size_t(INT32_MAX),
            "need 1 <= n_active <= n_clusters < 2^31");
    require(1 <= blocks && blocks <= n_clusters && 1 <= rows_at_once, "need 1 <= blocks <= n_clusters, and rows");
    new (self) MixtureSettings{all_rows, n_clusters, n_active, blocks, rows_at_once, threads};
}

/// The weights of n rows, copied.
std::vector<double> weights(const OptionalWeights& weight, size_t n) {
    if (!weight) return {};
    require(weight->size() == n, "need one weight a row");
    require(are_counts(view(*weight)), "weights must be finite and not negative");
    return copied(*weight);
}

/// Blocks that visit together.
void check_blocks(std::vector<BlockId> blocks, size_t count) {
    require(!blocks.empty() && all_below(std::span<const BlockId>(blocks), count), "there is no such block");
    std::ranges::sort(blocks);
    require(std::ranges::adjacent_find(blocks) == blocks.end(), "a block is there twice");
}

auto give_assignments(const asynchronous::RowShares& rows) {
    return std::make_tuple(give(std::vector(rows.ids().begin(), rows.ids().end()), rows.rows(), rows.L()),
                           give(std::vector(rows.shares().begin(), rows.shares().end()), rows.rows(), rows.L()));
}

// NomadicMixture

void make_nomadic(NomadicMixture* self, std::shared_ptr<const ClusterRows> rows, const OptionalWeights& weight,
                  const MixtureSettings& settings) {
    const std::array bounds{int64_t(0), int64_t(rows->rows())};
    auto own = weights(weight, rows->rows());
    new (self) NomadicMixture(std::move(rows), std::move(own), settings, bounds);
}

size_t clusters_of(const NomadicMixture& self, size_t b) {
    const asynchronous::Blocks& blocks = self.shared().blocks;
    require(b < blocks.count, "there is no such block");
    return blocks.end(b) - blocks.begin(b);
}

void put(NomadicMixture& self, size_t b, Mat<const double> rows) {
    require(rows.shape(0) == clusters_of(self, b) && rows.shape(1) == self.shared().rows->width(),
            "rows must be [clusters of the block, numbers of a cluster]");
    require(are_finite(view(rows)), "rows must be finite");
    self.put(b, view(rows));
}

Mat<double> take(NomadicMixture& self, size_t b) {
    const size_t clusters = clusters_of(self, b);
    return give(self.take(b), clusters, self.shared().rows->width());
}

/// A visit of several blocks together.
template <void (NomadicMixture::*how)(std::span<const BlockId>)>
void together(NomadicMixture& self, const std::vector<BlockId>& blocks) {
    check_blocks(blocks, self.shared().blocks.count);
    nb::gil_scoped_release nogil;
    (self.*how)(blocks);
}

// AsynchronousMixture

/// Workers are stopped before their memory is freed, and without the GIL, for which one of them may be waiting.
struct Learner : AsynchronousMixture {
    using AsynchronousMixture::AsynchronousMixture;
    ~Learner() {
        nb::gil_scoped_release nogil;
        try {
            stop();
        } catch (...) {  // a destructor must not throw
        }
    }
};

void make_learner(Learner* self, std::shared_ptr<const ClusterRows> rows, const OptionalWeights& weight,
                  const MixtureSettings& settings, Vec<const int64_t> bounds, size_t most, uint64_t seed,
                  Mat<const int32_t> cluster, Mat<const float> r, std::optional<Mat<const double>> centre) {
    const size_t n = rows->rows(), K = settings.n_clusters, L = settings.n_active, D = rows->sizes().centre;
    auto own = weights(weight, n);
    check_bounds(view(bounds), n);
    require(most >= 1, "a worker holds a block at least");
    require(cluster.shape(0) == n && r.shape(0) == n && cluster.shape(1) == L && r.shape(1) == L,
            "cluster and r must be [rows, L]");
    require(are_counts(view(r)), "shares must be finite and not negative");
    require(all_below(view(cluster), K), "a row is in a cluster that is not there");
    require(D == 0 ? !centre : centre && centre->shape(0) == K && centre->shape(1) == D,
            "centre must be [K, dimensions] for dense rows alone");
    require(!centre || are_finite(view(*centre)), "centre must be finite");
    nb::gil_scoped_release nogil;
    new (self)
        Learner(std::move(rows), std::move(own), settings, view(bounds), most, seed,
                asynchronous::FirstShares{view(cluster), view(r), centre ? view(*centre) : std::span<const double>()});
}

auto give_post(Learner& self, const std::vector<MixtureWorker::Post>& posts) {
    auto all = unlocked([&] { return AsynchronousMixture::add_up(posts); });
    const size_t K = self.shared().cluster.size(), numbers = all.sums.size() / K;
    return std::make_tuple(give(std::move(all.sums), K, numbers), all.entropy);
}

std::optional<std::tuple<Mat<double>, double>> next(Learner& self) {
    const auto posts = unlocked([&] { return self.workers().next(); });
    if (posts.empty()) return std::nullopt;
    return give_post(self, posts);
}

auto now(Learner& self) {
    return give_post(self, unlocked([&] {
                         self.stop();
                         return self.workers().now();
                     }));
}

auto assignments(Learner& self) {
    unlocked([&] { self.stop(); });
    return give_assignments(self.shared().shares);
}

void visit(Learner& self, size_t worker, const std::vector<BlockId>& blocks) {
    self.stop();
    require(worker < self.workers().size(), "there is no such worker");
    check_blocks(blocks, self.shared().blocks.count);
    self.workers()[worker].stop_early.store(false);
    self.workers()[worker].visit(blocks);
}

}  // namespace

void register_asynchronous_mixture(nb::module_& m) {
    using Nogil = nb::call_guard<nb::gil_scoped_release>;
    nb::class_<NormalWishart>(m, "NormalWishart", "What Gaussian clusters share: cpp/asynchronous/normal_wishart.hpp.")
        .def("__init__", &make_prior, "quadratic"_a, "linear"_a, "bayes"_a, "beta"_a, "m"_a, "nu"_a, "B"_a, "reg"_a,
             "weight_prior"_a);
    nb::class_<SparseRowArrays<float>>(m, "CountRows", "Rows of counts, as they are given.")
        .def(nb::init<Vec<const int64_t>, Vec<const int32_t>, Vec<const float>>(), "indptr"_a, "index"_a, "value"_a);
    nb::class_<SparseRowArrays<double>>(m, "SparseRows", "Sparse rows, as they are given.")
        .def(nb::init<Vec<const int64_t>, Vec<const int32_t>, Vec<const double>>(), "indptr"_a, "index"_a, "value"_a);
    nb::class_<ClusterRows>(m, "ClusterRows", "Rows that clusters visit, and what a cluster is to them.")
        .def_prop_ro("n_rows", &ClusterRows::rows);
    nb::class_<GaussianRows, ClusterRows>(m, "GaussianRows", "Dense rows of Gaussian clusters, in the frame.")
        .def("__init__", &make_dense, "prior"_a, "z"_a.noconvert());
    nb::class_<SparseGaussianRows, ClusterRows>(m, "SparseGaussianRows", "Sparse rows of Gaussian clusters.")
        .def("__init__", &make_sparse, "prior"_a, "scale"_a, "zero"_a, "rows"_a);
    nb::class_<CategoricalRows, ClusterRows>(m, "CategoricalRows", "Bags of words.")
        .def("__init__", &make_counts, "bayes"_a, "eta"_a, "weight_prior"_a, "rows"_a);
    nb::class_<MixtureSettings>(m, "MixtureSettings", "What rows need to know of the clusters that visit them.")
        .def("__init__", &make_settings, "all_rows"_a, "n_clusters"_a, "n_active"_a, "blocks"_a, "rows_at_once"_a,
             "threads"_a);

    nb::class_<NomadicMixture>(m, "NomadicMixture", "Rows of one process, visited by blocks that come and go.")
        .def("__init__", &make_nomadic, "rows"_a, "weight"_a.none(), "settings"_a)
        .def("put", &put, "block"_a, "rows"_a, "A block arrives: the numbers of each cluster, N first.")
        .def("take", &take, "block"_a, "A block leaves.")
        .def("forget", &NomadicMixture::forget, Nogil(), "Rows have no clusters any more.")
        .def("compare", &together<&NomadicMixture::compare>, "blocks"_a, "Rows keep the best clusters that came.")
        .def("settle", &NomadicMixture::settle, Nogil(), "All came: scores become shares.")
        .def("contribute", &together<&NomadicMixture::contribute>, "blocks"_a, "Rows add what they have to clusters.")
        .def("visit", &together<&NomadicMixture::visit>, "blocks"_a, "Rows are solved for clusters, which follow.")
        .def("entropy", &NomadicMixture::entropy, Nogil(), "Of the rows' shares.")
        .def(
            "assignments", [](const NomadicMixture& self) { return give_assignments(self.settled()); },
            "Clusters and shares of the rows, [rows, L] each.")
        .def_prop_ro("of_rows", &NomadicMixture::of_rows, "Bytes of what stays.");

    nb::class_<Learner>(m, "AsynchronousMixture", "Workers that own rows, visited by blocks of clusters.")
        .def("__init__", &make_learner, "rows"_a, "weight"_a.none(), "settings"_a, "bounds"_a, "most"_a, "seed"_a,
             "cluster"_a, "r"_a, "centre"_a.none() = nb::none())
        .def("start", &Learner::start, "passes"_a, Nogil(),
             "Starts the workers; they make this many passes, counted from the first.")
        .def("next", &next, "Waits for the next pass: what all rows add to clusters, and their entropy, or None.")
        .def("stop", &Learner::stop, Nogil(), "Stops the workers; they end their current visit early.")
        .def("now", &now, "Stops the workers; their statistics at this moment, as next() returns them.")
        .def("assignments", &assignments, "Stops the workers; clusters and shares of all rows, [rows, L] each.")
        .def("visit", &visit, "worker"_a, "blocks"_a, Nogil(),
             "Stops the workers; one of them works on these blocks, on the calling thread. It is not recorded.")
        .def(
            "audit",
            [](Learner& self) {
                self.stop();
                self.audit();
            },
            Nogil(), "Stops the workers; raises RuntimeError unless every block is there once and equals their sums.")
        .def_prop_ro("visits", [](Learner& self) { return self.workers().visits(); }, "Of blocks, by all workers.");
}

}  // namespace topmix
