// Local step of mixtures of directions.
#include "local/directions.hpp"

#include <nanobind/stl/optional.h>

#include <optional>

#include "bind/arrays.hpp"

namespace topmix {

namespace {

template <class T>
double step(Mat<const T> x, std::optional<Vec<const int64_t>> rows, Mat<const T> W, Vec<const T> constant,
            std::optional<Vec<const double>> weight, size_t L, T least, Threads threads, Vec<double> N,
            Mat<double> resultant) {
    const size_t D = x.shape(1), K = constant.size(), n = rows ? rows->size() : x.shape(0);
    require(W.shape(0) == K && W.shape(1) == D, "W must be [K, D]");
    require(1 <= L && L <= K, "need 1 <= L <= K");
    require(!weight || weight->size() == n, "need one weight a row");
    require(N.size() == K && resultant.shape(0) == K && resultant.shape(1) == D, "N must be [K], resultant [K, D]");
    require(!rows || all_below(view(*rows), x.shape(0)), "a row lies outside x");
    if (n == 0) return 0;
    const std::span<const int64_t> chosen = rows ? view(*rows) : std::span<const int64_t>();
    const std::span<const double> w = weight ? view(*weight) : std::span<const double>();
    nb::gil_scoped_release nogil;
    return direction_step<T>({{{view(x), D}, chosen}, view(W), view(constant), w, L, least}, threads,
                             {view(N), view(resultant)});
}

template <class T>
void add(nb::module_& m) {
    m.def("direction_step", &step<T>, "x"_a.noconvert(), "rows"_a.none(), "W"_a.noconvert(), "constant"_a.noconvert(),
          "weight"_a.none(), "L"_a, "least"_a, "threads"_a, "N"_a.noconvert(), "resultant"_a.noconvert(),
          "Rows of x to their L best clusters under the scores constant + x W': adds sum w r and sum w r x of each "
          "cluster to N and resultant, without shares below `least`, and returns the summed entropy.");
}

}  // namespace

void register_directions(nb::module_& m) {
    add<float>(m);
    add<double>(m);
}

}  // namespace topmix
