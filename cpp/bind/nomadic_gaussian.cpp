// Gaussian clusters that come and go, block by block, to the rows of this process.
#include "asynchronous/nomadic_gaussian.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>

#include "bind/arrays.hpp"
#include "bind/normal_wishart.hpp"

namespace topmix {

extern template class asynchronous::GaussianWorker<float>;  // in asynchronous_gaussian.cpp: it takes long to compile
extern template class asynchronous::GaussianWorker<double>;

namespace {

using asynchronous::BlockId;
using asynchronous::NomadicGaussian;
using BlockIds = std::vector<BlockId>;

template <class T>
void make(NomadicGaussian<T>* self, const std::string& kind, bool linear, bool bayes, double beta, Vec<const double> m,
          double nu, Vec<const double> B, Vec<const double> reg, double weight_prior, double all_rows, Mat<const T> z,
          std::optional<Vec<const double>> weight, size_t n_clusters, size_t n_active, size_t blocks,
          size_t rows_at_once, int threads) {
    require(m.size() == z.shape(1), "m and z disagree on the dimensions");
    require(1 <= n_active && n_active <= n_clusters, "need 1 <= n_active <= n_clusters");
    require(!weight || weight->size() == z.shape(0), "need one weight a row");
    require(1 <= blocks && blocks <= n_clusters && 1 <= rows_at_once, "need 1 <= blocks <= n_clusters, and rows");
    auto prior = normal_wishart(kind, linear, bayes, beta, m, nu, B, reg, weight_prior, n_clusters, all_rows);
    std::vector<double> weights;
    if (weight) weights.assign(weight->data(), weight->data() + weight->size());
    std::vector<T> rows(z.data(), z.data() + z.size());
    nb::gil_scoped_release nogil;
    new (self) NomadicGaussian<T>(std::move(prior), n_clusters, n_active, blocks, std::move(rows), std::move(weights),
                                  rows_at_once, threads);
}

template <class T>
void check_block(const NomadicGaussian<T>& self, size_t b) {
    require(b < self.blocks().count, "there is no such block");
}

template <class T>
size_t clusters_of(const NomadicGaussian<T>& self, size_t b) {
    return self.blocks().end(b) - self.blocks().begin(b);
}

/// A visit of several blocks together.
template <class T, void (NomadicGaussian<T>::*how)(std::span<const BlockId>)>
void together(NomadicGaussian<T>& self, const BlockIds& blocks) {
    for (const BlockId b : blocks) check_block(self, b);
    nb::gil_scoped_release nogil;
    (self.*how)(blocks);
}

template <class T>
void add(nb::module_& m, const char* name) {
    using Rows = NomadicGaussian<T>;
    nb::class_<Rows>(m, name, "Rows of one process, visited by blocks of Gaussian clusters that come and go.")
        .def("__init__", &make<T>, "quadratic"_a, "linear"_a, "bayes"_a, "beta"_a, "m"_a, "nu"_a, "B"_a, "reg"_a,
             "weight_prior"_a, "all_rows"_a, "z"_a.noconvert(), "weight"_a.none(), "n_clusters"_a, "n_active"_a,
             "blocks"_a, "rows_at_once"_a, "threads"_a)
        .def(
            "put",
            [](Rows& self, size_t b, Mat<const double> rows) {
                check_block(self, b);
                require(rows.shape(0) == clusters_of(self, b) && rows.shape(1) == self.width(),
                        "rows must be [clusters of the block, numbers of a cluster]");
                self.put(b, view(rows));
            },
            "block"_a, "rows"_a, "A block arrives: of each cluster N, both moments and its centre.")
        .def(
            "take",
            [](Rows& self, size_t b) {
                check_block(self, b);
                return give(self.take(b), clusters_of(self, b), self.width());
            },
            "block"_a, "A block leaves.")
        .def("forget", &Rows::forget, nb::call_guard<nb::gil_scoped_release>(), "Rows have no clusters any more.")
        .def("compare", &together<T, &Rows::compare>, "blocks"_a, "Rows keep the best clusters of those that came.")
        .def("settle", &Rows::settle, nb::call_guard<nb::gil_scoped_release>(), "All came: scores become shares.")
        .def("contribute", &together<T, &Rows::contribute>, "blocks"_a, "Rows add their moments to these clusters.")
        .def("visit", &together<T, &Rows::visit>, "blocks"_a, "Rows are solved for these clusters, and they follow.")
        .def("entropy", &Rows::entropy, nb::call_guard<nb::gil_scoped_release>(), "Of the rows' shares.")
        .def_prop_ro("of_rows", &Rows::of_rows, "Bytes of what stays.");
}

}  // namespace

void register_nomadic_gaussian(nb::module_& m) {
    add<float>(m, "NomadicGaussian32");
    add<double>(m, "NomadicGaussian64");
}

}  // namespace topmix
