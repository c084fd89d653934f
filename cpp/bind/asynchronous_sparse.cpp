// Clusters of sparse rows that move between workers: bags of words, and Gaussian clusters with variances of each
// column. Workers are threads of one process (Asynchronous...) or processes (Nomadic...); see
// asynchronous_gaussian.cpp.
#include "asynchronous/categorical_clusters.hpp"
#include "asynchronous/sparse_gaussian.hpp"
#include "bind/asynchronous_mixture.hpp"
#include "bind/nomadic_mixture.hpp"
#include "bind/sparse_clusters.hpp"

namespace topmix {

namespace {

template <class Data>
using Station = asynchronous::NomadicMixture<Data>;
template <class Data>
using Values = Vec<const typename Data::Value>;

template <class Data>
void begin(MixtureLearner<Data>* self, typename Data::Prior&& prior, const Csr<typename Data::Value>& X, size_t K,
           const OptionalWeights& weight, const Mat<const int32_t>& cluster, const Mat<const float>& r,
           const asynchronous::Deal& deal) {
    check_deal(X.rows(), K, weight, cluster, r, deal);
    auto clusters = no_clusters<Data>(prior, K);
    nb::gil_scoped_release nogil;
    auto rows_of = [&](const typename Data::Prior& shared, size_t first, size_t last) {
        return Data(shared, X, first, last);
    };
    new (self) MixtureLearner<Data>(std::move(prior), std::move(clusters), r.shape(1), deal, view(weight),
                                    view(cluster), view(r), rows_of);
}

void make_categorical(MixtureLearner<CountRows>* self, bool bayes, Vec<const double> eta, double weight_prior,
                      Vec<const int64_t> indptr, Vec<const int32_t> index, Values<CountRows> value,
                      OptionalWeights weight, size_t n_clusters, Vec<const int64_t> bounds, Mat<const int32_t> cluster,
                      Mat<const float> r, size_t blocks, size_t most, size_t rows_at_once, int threads, uint64_t seed) {
    const auto X = csr(indptr, index, value, eta.size());
    begin(self, categorical_clusters(bayes, eta, weight_prior, n_clusters, sum_of_weights(weight, X.rows())), X,
          n_clusters, weight, cluster, r, {view(bounds), blocks, most, rows_at_once, threads, seed});
}

void make_gaussian(MixtureLearner<SparseGaussianRows>* self, bool linear, bool bayes, double beta, Vec<const double> m,
                   double nu, Vec<const double> B, Vec<const double> reg, Vec<const double> scale,
                   Vec<const double> zero, double weight_prior, Vec<const int64_t> indptr, Vec<const int32_t> index,
                   Values<SparseGaussianRows> value, OptionalWeights weight, size_t n_clusters,
                   Vec<const int64_t> bounds, Mat<const int32_t> cluster, Mat<const float> r, size_t blocks,
                   size_t most, size_t rows_at_once, int threads, uint64_t seed) {
    const auto X = csr(indptr, index, value, m.size());
    auto prior = normal_wishart("squares", linear, bayes, beta, m, nu, B, reg, weight_prior, n_clusters,
                                sum_of_weights(weight, X.rows()));
    begin(self, sparse_gaussian(std::move(prior), scale, zero), X, n_clusters, weight, cluster, r,
          {view(bounds), blocks, most, rows_at_once, threads, seed});
}

template <class Data>
void begin(Station<Data>* self, typename Data::Prior&& prior, const Csr<typename Data::Value>& X,
           const OptionalWeights& weight, size_t n_clusters, size_t n_active, size_t blocks, size_t rows_at_once,
           int threads) {
    check_nomads(X.rows(), weight, n_clusters, n_active, blocks, rows_at_once);
    auto weights = copied(weight);
    nb::gil_scoped_release nogil;
    new (self) Station<Data>(std::move(prior), n_clusters, n_active, blocks, std::move(weights), rows_at_once, threads,
                             [&](const typename Data::Prior& shared) { return Data(shared, X, 0, X.rows()); });
}

void make_nomadic_categorical(Station<CountRows>* self, bool bayes, Vec<const double> eta, double weight_prior,
                              double all_rows, Vec<const int64_t> indptr, Vec<const int32_t> index,
                              Values<CountRows> value, OptionalWeights weight, size_t n_clusters, size_t n_active,
                              size_t blocks, size_t rows_at_once, int threads) {
    begin(self, categorical_clusters(bayes, eta, weight_prior, n_clusters, all_rows),
          csr(indptr, index, value, eta.size()), weight, n_clusters, n_active, blocks, rows_at_once, threads);
}

void make_nomadic_gaussian(Station<SparseGaussianRows>* self, bool linear, bool bayes, double beta, Vec<const double> m,
                           double nu, Vec<const double> B, Vec<const double> reg, Vec<const double> scale,
                           Vec<const double> zero, double weight_prior, double all_rows, Vec<const int64_t> indptr,
                           Vec<const int32_t> index, Values<SparseGaussianRows> value, OptionalWeights weight,
                           size_t n_clusters, size_t n_active, size_t blocks, size_t rows_at_once, int threads) {
    auto prior = normal_wishart("squares", linear, bayes, beta, m, nu, B, reg, weight_prior, n_clusters, all_rows);
    begin(self, sparse_gaussian(std::move(prior), scale, zero), csr(indptr, index, value, m.size()), weight, n_clusters,
          n_active, blocks, rows_at_once, threads);
}

}  // namespace

void register_asynchronous_sparse(nb::module_& m) {
    nb::class_<MixtureLearner<CountRows>> counts(m, "AsynchronousCategorical",
                                                 "Workers that own rows of counts, visited by blocks of clusters.");
    counts.def("__init__", &make_categorical, "bayes"_a, "eta"_a, "weight_prior"_a, "indptr"_a, "index"_a, "value"_a,
               "weight"_a.none(), "n_clusters"_a, "bounds"_a, "cluster"_a, "r"_a.noconvert(), "blocks"_a, "most"_a,
               "rows_at_once"_a, "threads"_a, "seed"_a);
    MixtureBinding<CountRows>::add(counts);

    nb::class_<MixtureLearner<SparseGaussianRows>> gaussian(
        m, "AsynchronousSparseGaussian", "Workers that own sparse rows, visited by blocks of Gaussian clusters.");
    gaussian.def("__init__", &make_gaussian, "linear"_a, "bayes"_a, "beta"_a, "m"_a, "nu"_a, "B"_a, "reg"_a, "scale"_a,
                 "zero"_a, "weight_prior"_a, "indptr"_a, "index"_a, "value"_a, "weight"_a.none(), "n_clusters"_a,
                 "bounds"_a, "cluster"_a, "r"_a.noconvert(), "blocks"_a, "most"_a, "rows_at_once"_a, "threads"_a,
                 "seed"_a);
    MixtureBinding<SparseGaussianRows>::add(gaussian);

    nb::class_<Station<CountRows>> nomadic_counts(m, "NomadicCategorical",
                                                  "Rows of counts, visited by blocks of clusters that come and go.");
    nomadic_counts.def("__init__", &make_nomadic_categorical, "bayes"_a, "eta"_a, "weight_prior"_a, "all_rows"_a,
                       "indptr"_a, "index"_a, "value"_a, "weight"_a.none(), "n_clusters"_a, "n_active"_a, "blocks"_a,
                       "rows_at_once"_a, "threads"_a);
    NomadicBinding<CountRows>::add(nomadic_counts);

    nb::class_<Station<SparseGaussianRows>> nomadic_gaussian(
        m, "NomadicSparseGaussian", "Sparse rows, visited by blocks of Gaussian clusters that come and go.");
    nomadic_gaussian.def("__init__", &make_nomadic_gaussian, "linear"_a, "bayes"_a, "beta"_a, "m"_a, "nu"_a, "B"_a,
                         "reg"_a, "scale"_a, "zero"_a, "weight_prior"_a, "all_rows"_a, "indptr"_a, "index"_a, "value"_a,
                         "weight"_a.none(), "n_clusters"_a, "n_active"_a, "blocks"_a, "rows_at_once"_a, "threads"_a);
    NomadicBinding<SparseGaussianRows>::add(nomadic_gaussian);
}

}  // namespace topmix
