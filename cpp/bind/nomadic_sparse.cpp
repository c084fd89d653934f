// Clusters that come and go, block by block, to the sparse rows of this process.
#include "bind/nomadic_mixture.hpp"
#include "bind/sparse_clusters.hpp"

namespace topmix {

extern template class asynchronous::MixtureWorker<CountRows>;  // in asynchronous_sparse.cpp: it takes long to compile
extern template class asynchronous::MixtureWorker<SparseGaussianRows>;

namespace {

template <class Data>
using Station = asynchronous::NomadicMixture<Data>;
template <class Data>
using Values = Vec<const typename Data::Value>;
using Weights = std::optional<Vec<const double>>;

template <class Data>
void begin(Station<Data>* self, typename Data::Prior&& prior, const Csr<typename Data::Value>& X, const Weights& weight,
           size_t n_clusters, size_t n_active, size_t blocks, size_t rows_at_once, int threads) {
    check_nomads(X.rows(), weight, n_clusters, n_active, blocks, rows_at_once);
    auto weights = copied(weight);
    nb::gil_scoped_release nogil;
    new (self) Station<Data>(std::move(prior), n_clusters, n_active, blocks, std::move(weights), rows_at_once, threads,
                             [&](const typename Data::Prior& shared) { return Data(shared, X, 0, X.rows()); });
}

void make_categorical(Station<CountRows>* self, bool bayes, Vec<const double> eta, double weight_prior, double all_rows,
                      Vec<const int64_t> indptr, Vec<const int32_t> index, Values<CountRows> value, Weights weight,
                      size_t n_clusters, size_t n_active, size_t blocks, size_t rows_at_once, int threads) {
    begin(self, categorical_clusters(bayes, eta, weight_prior, n_clusters, all_rows),
          csr(indptr, index, value, eta.size()), weight, n_clusters, n_active, blocks, rows_at_once, threads);
}

void make_gaussian(Station<SparseGaussianRows>* self, bool linear, bool bayes, double beta, Vec<const double> m,
                   double nu, Vec<const double> B, Vec<const double> reg, Vec<const double> scale,
                   Vec<const double> zero, double weight_prior, double all_rows, Vec<const int64_t> indptr,
                   Vec<const int32_t> index, Values<SparseGaussianRows> value, Weights weight, size_t n_clusters,
                   size_t n_active, size_t blocks, size_t rows_at_once, int threads) {
    auto prior = normal_wishart("squares", linear, bayes, beta, m, nu, B, reg, weight_prior, n_clusters, all_rows);
    begin(self, sparse_gaussian(std::move(prior), scale, zero), csr(indptr, index, value, m.size()), weight, n_clusters,
          n_active, blocks, rows_at_once, threads);
}

}  // namespace

void register_nomadic_sparse(nb::module_& m) {
    nb::class_<Station<CountRows>> counts(m, "NomadicCategorical",
                                          "Rows of counts, visited by blocks of clusters that come and go.");
    counts.def("__init__", &make_categorical, "bayes"_a, "eta"_a, "weight_prior"_a, "all_rows"_a, "indptr"_a, "index"_a,
               "value"_a, "weight"_a.none(), "n_clusters"_a, "n_active"_a, "blocks"_a, "rows_at_once"_a, "threads"_a);
    NomadicBinding<CountRows>::add(counts);

    nb::class_<Station<SparseGaussianRows>> gaussian(
        m, "NomadicSparseGaussian", "Sparse rows, visited by blocks of Gaussian clusters that come and go.");
    gaussian.def("__init__", &make_gaussian, "linear"_a, "bayes"_a, "beta"_a, "m"_a, "nu"_a, "B"_a, "reg"_a, "scale"_a,
                 "zero"_a, "weight_prior"_a, "all_rows"_a, "indptr"_a, "index"_a, "value"_a, "weight"_a.none(),
                 "n_clusters"_a, "n_active"_a, "blocks"_a, "rows_at_once"_a, "threads"_a);
    NomadicBinding<SparseGaussianRows>::add(gaussian);
}

}  // namespace topmix
