// Top-L selection and renormalisation over the rows of a matrix.
#include "simd/top_l.hpp"

#include <algorithm>

#include "base/parallel.hpp"
#include "bind/arrays.hpp"

namespace topmix {

namespace {

constexpr size_t grain = 64;

template <class T>
void check(const Mat<const T>& s, size_t L, const Mat<int32_t>& idx, const Mat<T>& r) {
    const size_t m = std::min(L, s.shape(1));
    require(L >= 1 && s.shape(1) >= 1, "need L >= 1 and at least one column");
    require(s.shape(1) <= size_t(INT32_MAX), "at most 2^31 - 1 columns");
    require(idx.shape(0) == s.shape(0) && r.shape(0) == s.shape(0), "idx and r need a row for each row of scores");
    require(idx.shape(1) == m && r.shape(1) == m, "idx and r need min(L, K) columns");
}

template <class T>
void top_l_rows(Mat<const T> scores, size_t L, Mat<int32_t> idx, Mat<T> r, bool log, Vec<double> entropy,
                Threads threads) {
    check(scores, L, idx, r);
    require(entropy.size() == scores.shape(0), "entropy needs an entry for each row of scores");
    const Rows<const T> S{view(scores), scores.shape(1)};
    const size_t m = idx.shape(1);
    const auto H = view(entropy);
    int32_t* const ids = idx.data();
    T* const weights = r.data();
    nb::gil_scoped_release nogil;
    parallel_for(S.rows(), grain, threads, [&](size_t begin, size_t end, size_t) {
        for (size_t n = begin; n < end; ++n)
            H[n] = log ? softmax_top_l(S[n], L, ids + n * m, weights + n * m)
                       : normalise_top_l(S[n], L, ids + n * m, weights + n * m);
    });
}

template <class T>
void select_rows(Mat<const T> scores, size_t L, Mat<int32_t> idx, Mat<T> val, Threads threads) {
    check(scores, L, idx, val);
    const Rows<const T> S{view(scores), scores.shape(1)};
    const size_t m = idx.shape(1);
    int32_t* const ids = idx.data();
    T* const values = val.data();
    nb::gil_scoped_release nogil;
    parallel_for(S.rows(), grain, threads, [&](size_t begin, size_t end, size_t) {
        for (size_t n = begin; n < end; ++n) select_top_l(S[n], L, ids + n * m, values + n * m);
    });
}

template <class T>
void add(nb::module_& m) {
    m.def("top_l_rows", &top_l_rows<T>, "scores"_a.noconvert(), "L"_a, "idx"_a.noconvert(), "r"_a.noconvert(), "log"_a,
          "entropy"_a.noconvert(), "threads"_a = 1,
          "Row n: the min(L, K) best clusters, ascending, their renormalised weights, and the entropy of those in "
          "nats.\n\n"
          "Scores are log weights if log, else non-negative weights. Of equal scores the lower index is kept; NaN "
          "counts as\n"
          "-inf; a row without any weight is uniform.");
    m.def("select_rows", &select_rows<T>, "scores"_a.noconvert(), "L"_a, "idx"_a.noconvert(), "val"_a.noconvert(),
          "threads"_a = 1, "Row n: the indices and values of the min(L, K) largest, ascending by index.");
}

}  // namespace

void register_top_l(nb::module_& m) {
    add<float>(m);
    add<double>(m);
}

}  // namespace topmix
