// Gaussian clusters that come and go, block by block, to the dense rows of this process.
#include <nanobind/stl/string.h>

#include <string>

#include "asynchronous/gaussian_rows.hpp"
#include "bind/nomadic_mixture.hpp"
#include "bind/normal_wishart.hpp"

namespace topmix {

// in asynchronous_gaussian.cpp: they take long to compile
extern template class asynchronous::MixtureWorker<asynchronous::GaussianRows<float>>;
extern template class asynchronous::MixtureWorker<asynchronous::GaussianRows<double>>;

namespace {

template <class T>
using Station = asynchronous::NomadicMixture<asynchronous::GaussianRows<T>>;

template <class T>
void make(Station<T>* self, const std::string& kind, bool linear, bool bayes, double beta, Vec<const double> m,
          double nu, Vec<const double> B, Vec<const double> reg, double weight_prior, double all_rows, Mat<const T> z,
          std::optional<Vec<const double>> weight, size_t n_clusters, size_t n_active, size_t blocks,
          size_t rows_at_once, int threads) {
    require(m.size() == z.shape(1), "m and z disagree on the dimensions");
    check_nomads(z.shape(0), weight, n_clusters, n_active, blocks, rows_at_once);
    auto prior = normal_wishart(kind, linear, bayes, beta, m, nu, B, reg, weight_prior, n_clusters, all_rows);
    auto weights = copied(weight);
    nb::gil_scoped_release nogil;
    new (self) Station<T>(std::move(prior), n_clusters, n_active, blocks, std::move(weights), rows_at_once, threads,
                          [&](const asynchronous::NormalWishart& shared) {
                              return asynchronous::GaussianRows<T>(shared, {z.data(), z.data() + z.size()});
                          });
}

template <class T>
void add(nb::module_& m, const char* name) {
    nb::class_<Station<T>> c(m, name, "Rows of one process, visited by blocks of Gaussian clusters that come and go.");
    c.def("__init__", &make<T>, "quadratic"_a, "linear"_a, "bayes"_a, "beta"_a, "m"_a, "nu"_a, "B"_a, "reg"_a,
          "weight_prior"_a, "all_rows"_a, "z"_a.noconvert(), "weight"_a.none(), "n_clusters"_a, "n_active"_a,
          "blocks"_a, "rows_at_once"_a, "threads"_a);
    NomadicBinding<asynchronous::GaussianRows<T>>::add(c);
}

}  // namespace

void register_nomadic_gaussian(nb::module_& m) {
    add<float>(m, "NomadicGaussian32");
    add<double>(m, "NomadicGaussian64");
}

}  // namespace topmix
