// Gaussian clusters that move between workers, and the dense rows that stay: workers are threads of one process
// (Asynchronous...) or processes (Nomadic...). Both in one file: what they share takes long to compile.
#include <nanobind/stl/string.h>

#include <string>

#include "asynchronous/gaussian_rows.hpp"
#include "bind/asynchronous_mixture.hpp"
#include "bind/nomadic_mixture.hpp"
#include "bind/normal_wishart.hpp"

namespace topmix {

namespace {

template <class T>
using Learner = MixtureLearner<asynchronous::GaussianRows<T>>;
template <class T>
using Station = asynchronous::NomadicMixture<asynchronous::GaussianRows<T>>;

template <class T>
void check_rows(const NormalWishartPrior& prior, const Mat<const T>& z) {
    require(z.shape(1) == prior.prior.D(), "the prior and z disagree on the dimensions");
    require(are_finite(view(z)), "z must be finite");
}

template <class T>
void make_learner(Learner<T>* self, const NormalWishartPrior& given, Mat<const T> z, const OptionalWeights& weight,
                  Mat<const int32_t> cluster, Mat<const T> r, Mat<const T> centre, const DealArrays& how) {
    using Data = asynchronous::GaussianRows<T>;
    const size_t n = z.shape(0), D = z.shape(1), K = centre.shape(0);
    check_rows(given, z);
    require(centre.shape(1) == D, "centre and z disagree on the dimensions");
    require(are_finite(view(centre)), "centre must be finite");
    const asynchronous::Deal deal = how.deal();
    check_deal(n, K, weight, cluster, r, deal);
    asynchronous::NormalWishart prior = given.of(K, sum_of_weights(weight, n));
    auto clusters = no_clusters<Data>(prior, K);
    for (size_t k = 0; k < K; ++k) clusters[k].centre.assign(centre.data() + k * D, centre.data() + (k + 1) * D);
    nb::gil_scoped_release nogil;
    auto rows_of = [&](const asynchronous::NormalWishart& shared, size_t begin, size_t end) {
        return Data(shared, std::vector<T>(z.data() + begin * D, z.data() + end * D));
    };
    new (self) Learner<T>(std::move(prior), std::move(clusters), deal,
                          {view(weight), view(cluster), view(r), r.shape(1)}, rows_of);
}

template <class T>
void add_learner(nb::module_& m, const char* name) {
    nb::class_<Learner<T>> c(m, name, "Workers that own rows, visited by blocks of Gaussian clusters.");
    c.def("__init__", &make_learner<T>, "prior"_a, "z"_a.noconvert(), "weight"_a.none(), "cluster"_a, "r"_a.noconvert(),
          "centre"_a.noconvert(), "deal"_a);
    MixtureBinding<asynchronous::GaussianRows<T>>::add(c);
}

template <class T>
void make_station(Station<T>* self, const NormalWishartPrior& given, Mat<const T> z, const OptionalWeights& weight,
                  const StationSettings& settings) {
    check_rows(given, z);
    auto weights = copied(weight, z.shape(0));
    nb::gil_scoped_release nogil;
    new (self) Station<T>(given.of(settings.n_clusters, settings.all_rows), settings, std::move(weights),
                          [&](const asynchronous::NormalWishart& shared) {
                              return asynchronous::GaussianRows<T>(shared, {z.data(), z.data() + z.size()});
                          });
}

template <class T>
void add_station(nb::module_& m, const char* name) {
    nb::class_<Station<T>> c(m, name, "Rows of one process, visited by blocks of Gaussian clusters that come and go.");
    c.def("__init__", &make_station<T>, "prior"_a, "z"_a.noconvert(), "weight"_a.none(), "settings"_a);
    NomadicBinding<asynchronous::GaussianRows<T>>::add(c);
}

}  // namespace

void register_asynchronous_gaussian(nb::module_& m) {
    nb::class_<NormalWishartPrior>(m, "NormalWishart",
                                   "What Gaussian clusters share: cpp/asynchronous/normal_wishart.hpp.")
        .def(nb::init<std::string, bool, bool, double, Vec<const double>, double, Vec<const double>, Vec<const double>,
                      double>(),
             "quadratic"_a, "linear"_a, "bayes"_a, "beta"_a, "m"_a, "nu"_a, "B"_a, "reg"_a, "weight_prior"_a);
    nb::class_<DealArrays>(m, "Deal", "How the workers of one process share rows and clusters.")
        .def(
            "__init__",
            [](DealArrays* self, Vec<const int64_t> bounds, size_t blocks, size_t most, size_t rows_at_once,
               Threads threads,
               uint64_t seed) { new (self) DealArrays{std::move(bounds), blocks, most, rows_at_once, threads, seed}; },
            "bounds"_a, "blocks"_a, "most"_a, "rows_at_once"_a, "threads"_a, "seed"_a);
    nb::class_<StationSettings>(m, "StationSettings", "What rows need to know of the clusters that visit them.")
        .def(
            "__init__",
            [](StationSettings* self, double all_rows, size_t n_clusters, size_t n_active, size_t blocks,
               size_t rows_at_once, Threads threads) {
                require(are_counts<double>({&all_rows, 1}), "all_rows must be finite and not negative");
                require(1 <= n_active && n_active <= n_clusters && n_clusters <= size_t(INT32_MAX),
                        "need 1 <= n_active <= n_clusters < 2^31");
                require(1 <= blocks && blocks <= n_clusters && 1 <= rows_at_once,
                        "need 1 <= blocks <= n_clusters, and rows");
                new (self) StationSettings{all_rows, n_clusters, n_active, blocks, rows_at_once, threads};
            },
            "all_rows"_a, "n_clusters"_a, "n_active"_a, "blocks"_a, "rows_at_once"_a, "threads"_a);
    add_learner<float>(m, "AsynchronousGaussian32");
    add_learner<double>(m, "AsynchronousGaussian64");
    add_station<float>(m, "NomadicGaussian32");
    add_station<double>(m, "NomadicGaussian64");
}

}  // namespace topmix
