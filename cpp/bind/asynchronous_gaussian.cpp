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
void make_learner(Learner<T>* self, const std::string& kind, bool linear, bool bayes, double beta, Vec<const double> m,
                  double nu, Vec<const double> B, Vec<const double> reg, double weight_prior, Mat<const T> z,
                  OptionalWeights weight, Vec<const int64_t> bounds, Mat<const int32_t> cluster, Mat<const T> r,
                  Mat<const T> centre, size_t blocks, size_t most, size_t rows_at_once, int threads, uint64_t seed) {
    using Data = asynchronous::GaussianRows<T>;
    const size_t n = z.shape(0), D = z.shape(1), K = centre.shape(0);
    require(m.size() == D && centre.shape(1) == D, "m, centre and z disagree on the dimensions");
    const asynchronous::Deal deal{view(bounds), blocks, most, rows_at_once, threads, seed};
    check_deal(n, K, weight, cluster, r, deal);
    asynchronous::NormalWishart prior =
        normal_wishart(kind, linear, bayes, beta, m, nu, B, reg, weight_prior, K, sum_of_weights(weight, n));
    auto clusters = no_clusters<Data>(prior, K);
    for (size_t k = 0; k < K; ++k) clusters[k].centre.assign(centre.data() + k * D, centre.data() + (k + 1) * D);
    nb::gil_scoped_release nogil;
    auto rows_of = [&](const asynchronous::NormalWishart& shared, size_t begin, size_t end) {
        return Data(shared, std::vector<T>(z.data() + begin * D, z.data() + end * D));
    };
    new (self) Learner<T>(std::move(prior), std::move(clusters), r.shape(1), deal, view(weight), view(cluster), view(r),
                          rows_of);
}

template <class T>
void add_learner(nb::module_& m, const char* name) {
    nb::class_<Learner<T>> c(m, name, "Workers that own rows, visited by blocks of Gaussian clusters.");
    c.def("__init__", &make_learner<T>, "quadratic"_a, "linear"_a, "bayes"_a, "beta"_a, "m"_a, "nu"_a, "B"_a, "reg"_a,
          "weight_prior"_a, "z"_a.noconvert(), "weight"_a.none(), "bounds"_a, "cluster"_a, "r"_a.noconvert(),
          "centre"_a.noconvert(), "blocks"_a, "most"_a, "rows_at_once"_a, "threads"_a, "seed"_a);
    MixtureBinding<asynchronous::GaussianRows<T>>::add(c);
}

template <class T>
void make_station(Station<T>* self, const std::string& kind, bool linear, bool bayes, double beta, Vec<const double> m,
                  double nu, Vec<const double> B, Vec<const double> reg, double weight_prior, double all_rows,
                  Mat<const T> z, OptionalWeights weight, size_t n_clusters, size_t n_active, size_t blocks,
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
void add_station(nb::module_& m, const char* name) {
    nb::class_<Station<T>> c(m, name, "Rows of one process, visited by blocks of Gaussian clusters that come and go.");
    c.def("__init__", &make_station<T>, "quadratic"_a, "linear"_a, "bayes"_a, "beta"_a, "m"_a, "nu"_a, "B"_a, "reg"_a,
          "weight_prior"_a, "all_rows"_a, "z"_a.noconvert(), "weight"_a.none(), "n_clusters"_a, "n_active"_a,
          "blocks"_a, "rows_at_once"_a, "threads"_a);
    NomadicBinding<asynchronous::GaussianRows<T>>::add(c);
}

}  // namespace

void register_asynchronous_gaussian(nb::module_& m) {
    add_learner<float>(m, "AsynchronousGaussian32");
    add_learner<double>(m, "AsynchronousGaussian64");
    add_station<float>(m, "NomadicGaussian32");
    add_station<double>(m, "NomadicGaussian64");
}

}  // namespace topmix
