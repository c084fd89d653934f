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

Csr<float> checked(const SparseRowArrays<float>& rows, const CategoricalPrior& prior) {
    return checked_counts(rows, prior.columns());
}

Csr<double> checked(const SparseRowArrays<double>& rows, const SparseGaussianPrior& prior) {
    const Csr<double> X = rows.checked(prior.columns());
    require(are_finite(X.value), "values must be finite");
    return X;
}

template <class Data, class Prior>
void make_learner(MixtureLearner<Data>* self, const Prior& given, const SparseRowArrays<typename Data::Value>& rows,
                  const OptionalWeights& weight, size_t K, Mat<const int32_t> cluster, Mat<const float> r,
                  const DealArrays& how) {
    const auto X = checked(rows, given);
    const asynchronous::Deal deal = how.deal();
    check_deal(X.rows(), K, weight, cluster, r, deal);
    typename Data::Prior prior = given.of(K, sum_of_weights(weight, X.rows()));
    auto clusters = no_clusters<Data>(prior, K);
    nb::gil_scoped_release nogil;
    auto rows_of = [&](const typename Data::Prior& shared, size_t first, size_t last) {
        return Data(shared, X, first, last);
    };
    new (self) MixtureLearner<Data>(std::move(prior), std::move(clusters), deal,
                                    {view(weight), view(cluster), view(r), r.shape(1)}, rows_of);
}

template <class Data, class Prior>
void make_station(Station<Data>* self, const Prior& given, const SparseRowArrays<typename Data::Value>& rows,
                  const OptionalWeights& weight, const StationSettings& settings) {
    const auto X = checked(rows, given);
    auto weights = copied(weight, X.rows());
    nb::gil_scoped_release nogil;
    new (self) Station<Data>(given.of(settings.n_clusters, settings.all_rows), settings, std::move(weights),
                             [&](const typename Data::Prior& shared) { return Data(shared, X, 0, X.rows()); });
}

template <class Data, class Prior>
void add(nb::module_& m, const char* learner, const char* station, const char* of_learner, const char* of_station) {
    nb::class_<MixtureLearner<Data>> workers(m, learner, of_learner);
    workers.def("__init__", &make_learner<Data, Prior>, "prior"_a, "rows"_a, "weight"_a.none(), "n_clusters"_a,
                "cluster"_a, "r"_a.noconvert(), "deal"_a);
    MixtureBinding<Data>::add(workers);
    nb::class_<Station<Data>> nomadic(m, station, of_station);
    nomadic.def("__init__", &make_station<Data, Prior>, "prior"_a, "rows"_a, "weight"_a.none(), "settings"_a);
    NomadicBinding<Data>::add(nomadic);
}

}  // namespace

void register_asynchronous_sparse(nb::module_& m) {
    nb::class_<CategoricalPrior>(m, "CategoricalPrior", "What clusters of bags of words share.")
        .def(nb::init<bool, Vec<const double>, double>(), "bayes"_a, "eta"_a, "weight_prior"_a);
    nb::class_<SparseGaussianPrior>(m, "SparseGaussian",
                                    "What Gaussian clusters of sparse rows share, and their frame.")
        .def(nb::init<const NormalWishartPrior&, Vec<const double>, Vec<const double>>(), "prior"_a, "scale"_a,
             "zero"_a);
    nb::class_<SparseRowArrays<float>>(m, "CountRows", "Rows of counts, as they are given.")
        .def(nb::init<Vec<const int64_t>, Vec<const int32_t>, Vec<const float>>(), "indptr"_a, "index"_a, "value"_a);
    nb::class_<SparseRowArrays<double>>(m, "SparseRows", "Sparse rows, as they are given.")
        .def(nb::init<Vec<const int64_t>, Vec<const int32_t>, Vec<const double>>(), "indptr"_a, "index"_a, "value"_a);
    add<CountRows, CategoricalPrior>(m, "AsynchronousCategorical", "NomadicCategorical",
                                     "Workers that own rows of counts, visited by blocks of clusters.",
                                     "Rows of counts, visited by blocks of clusters that come and go.");
    add<SparseGaussianRows, SparseGaussianPrior>(
        m, "AsynchronousSparseGaussian", "NomadicSparseGaussian",
        "Workers that own sparse rows, visited by blocks of Gaussian clusters.",
        "Sparse rows, visited by blocks of Gaussian clusters that come and go.");
}

}  // namespace topmix
