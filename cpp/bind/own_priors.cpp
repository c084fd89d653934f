// Priors of documents from covariates, and what documents say of them.
#include "steps/own_priors.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <cmath>
#include <optional>
#include <string>
#include <tuple>

#include "bind/arrays.hpp"
#include "bind/topic_arrays.hpp"

namespace topmix {

namespace {

template <class T>
void bind_own_alpha(Mat<const double> x, Mat<const double> coefficients, double low, double high, Threads threads,
                    Mat<T> out) {
    const size_t n = x.shape(0), P = x.shape(1), K = coefficients.shape(0);
    check_topic_count(K);
    require(coefficients.shape(1) == P && out.shape(0) == n && out.shape(1) == K,
            "x [n, P], coefficients [K, P] and out [n, K] disagree");
    require(low <= high && std::isfinite(low) && std::isfinite(high), "low and high must be finite, and in order");
    nb::gil_scoped_release nogil;
    own_alpha<T>({view(x), P}, {view(coefficients), P}, low, high, threads, {view(out), K});
}

auto bind_own_stats(bool collapsed, const DocArrays& docs, Vec<const double> lengths, const PriorArrays& own,
                    Threads threads, std::optional<Mat<const double>> x, std::optional<Mat<double>> M,
                    std::optional<Mat<double>> Q) {
    const size_t K = own.alpha.shape(1), n = own.row.size();
    check_topic_count(K);
    check_topics(docs, n, K, "the documents' topics do not fit their priors");
    require(are_counts(view(own.alpha)), "own priors must be finite and not negative");
    require(all_below(view(own.row), own.alpha.shape(0)), "a document's prior lies outside of them");
    require(lengths.size() == n && are_counts(view(lengths)), "every document needs a length, finite and not negative");
    require(x.has_value() == M.has_value() && (x || !Q), "x and M come together, and Q with them");
    const size_t P = x ? x->shape(1) : 0;
    if (x) {
        require(P >= 1 && x->shape(0) == own.alpha.shape(0), "x needs a row for each prior");
        require(M->shape(0) == K && M->shape(1) == P, "M must be [K, P]");
        require(!Q || (Q->shape(0) == K * P && Q->shape(1) == P), "Q must be [K * P, P]");
    }
    const auto& [indptr, topic, count] = docs;
    OwnDocuments given{view(indptr), view(topic), view(count), view(lengths), {view(own.alpha), K}, view(own.row)};
    std::span<double> first, second;
    if (x) given.x = {view(*x), P}, first = view(*M);
    if (Q) second = view(*Q);
    const auto sums = unlocked([&] {
        std::ranges::fill(first, 0.0), std::ranges::fill(second, 0.0);
        return own_stats(collapsed ? Posterior::collapsed : Posterior::variational, given, threads, first, second);
    });
    return std::make_tuple(sums.G, sums.A, sums.T);
}

}  // namespace

void register_own_priors(nb::module_& m) {
    const char* about = "Fills out [n, K] with exp(x . coefficients), its logarithm from low to high.";
    m.def("own_alpha", &bind_own_alpha<float>, "x"_a, "coefficients"_a, "low"_a, "high"_a, "threads"_a,
          "out"_a.noconvert(), about);
    m.def("own_alpha", &bind_own_alpha<double>, "x"_a, "coefficients"_a, "low"_a, "high"_a, "threads"_a,
          "out"_a.noconvert(), about);
    m.def("own_stats", &bind_own_stats, "collapsed"_a, "docs"_a, "lengths"_a, "own"_a, "threads"_a, "x"_a = nb::none(),
          "M"_a.noconvert() = nb::none(), "Q"_a.noconvert() = nb::none(),
          "Sums (G, A, T) over documents with priors of their own. With the rows x [priors, P] of a design, fills M"
          " [K, P] with what its coefficients are learned from, and Q [K * P, P] with its derivative.");
}

}  // namespace topmix
