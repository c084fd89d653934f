// Local step of mixtures in one visit to the rows.
#include "steps/visit.hpp"

#include <nanobind/stl/optional.h>

#include <optional>

#include "bind/arrays.hpp"
#include "bind/quadratic.hpp"

namespace topmix {

namespace {

template <class V>
auto some(const std::optional<V>& array) {
    return array ? view(*array) : decltype(view(*array))();
}

template <class T>
double visit(Mat<const T> x, std::optional<Vec<const int64_t>> rows, std::optional<Vec<const double>> origin,
             std::optional<Vec<const double>> scale, Mat<const T> W, Vec<const T> constant, const std::string& kind,
             bool linear, std::optional<Mat<const T>> centre, std::optional<Vec<const double>> weight, size_t L,
             T least, Threads threads, Vec<double> N, Mat<double> first, Mat<double> second) {
    const size_t D = x.shape(1), K = constant.size(), n = rows ? rows->size() : x.shape(0);
    const Features features{quadratic(kind), linear, D};
    require(features.kind != Quadratic::products, "products of entries are summed by add_moments");
    require(bool(origin) == bool(scale) && (!origin || (origin->size() == D && scale->size() == D)),
            "origin and scale must be [D], or both None");
    require(W.shape(0) == K && W.shape(1) == features.size(), "W must be [K, features]");
    require(bool(centre) || features.kind == Quadratic::none, "quadratic features need a centre");
    require(!centre || (centre->shape(0) == K && centre->shape(1) == D), "centre must be [K, D]");
    require(1 <= L && L <= K, "need 1 <= L <= K");
    require(!weight || weight->size() == n, "need one weight a row");
    require(N.size() == K && first.shape(0) == K && first.shape(1) == D, "N must be [K], first [K, D]");
    require(second.shape(0) == K && second.shape(1) == quadratic_size(features.kind, D), "second must be [K, size]");
    require(!rows || all_below(view(*rows), x.shape(0)), "a row lies outside x");
    if (n == 0) return 0;
    const VisitTask<T> task{{{view(x), D}, some(rows)},
                            features,
                            some(origin),
                            some(scale),
                            view(W),
                            view(constant),
                            some(centre),
                            some(weight),
                            L,
                            least};
    threads.n = busy_threads(threads, double(n) * double(K) * double(features.size() + kSelection));
    nb::gil_scoped_release nogil;
    return visit_rows<T>(task, threads, {view(N), view(first), view(second)});
}

template <class T>
void add(nb::module_& m) {
    m.def("visit_rows", &visit<T>, "x"_a.noconvert(), "rows"_a.none(), "origin"_a.none(), "scale"_a.none(),
          "W"_a.noconvert(), "constant"_a.noconvert(), "quadratic"_a, "linear"_a, "centre"_a.noconvert().none(),
          "weight"_a.none(), "L"_a, "least"_a, "threads"_a, "N"_a.noconvert(), "first"_a.noconvert(),
          "second"_a.noconvert(),
          "Rows of x, as z = (x - origin) scale, to their L best clusters under the scores constant + features(z) W': "
          "adds sum w r, sum w r z and sum w r (quadratic part of z) of each cluster to N, first and second, without "
          "shares below `least`, and returns the summed entropy.");
}

}  // namespace

void register_visit(nb::module_& m) {
    add<float>(m);
    add<double>(m);
}

}  // namespace topmix
