// Local step of Gaussian mixtures, and where BLAS comes from.
#include "steps/gaussian.hpp"
#include "steps/moments.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <optional>
#include <string>

#include "bind/arrays.hpp"
#include "bind/quadratic.hpp"
#include "models/wishart.hpp"

namespace topmix {

namespace {

using Cube = nb::ndarray<double, nb::numpy, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

/// The address in one of SciPy's capsules, if it is of a function with int arguments and this many of them, on numbers
/// whose type ends so.
template <class Fn>
Fn* address(nb::capsule capsule, size_t pointers, const char* begins, const char* numbers) {
    const std::string signature = capsule.name() ? capsule.name() : "";
    require(size_t(std::ranges::count(signature, '*')) == pointers && signature.find(begins) == 5 &&
                signature.find(numbers) != std::string::npos,
            "SciPy's BLAS has another interface than topmix knows");
    return reinterpret_cast<Fn*>(capsule.data(capsule.name()));
}

void set_blas(nb::capsule sgemm, nb::capsule dgemm, nb::capsule ssyrk, nb::capsule dsyrk, nb::capsule dpotrf,
              nb::capsule dpotri) {
    const char *product = "(char *, char *, int *", *factor = "(char *, int *", *single = "_s *", *twice = "_d *";
    blas::gemm<float> = address<blas::Gemm<float>>(sgemm, 13, product, single);
    blas::gemm<double> = address<blas::Gemm<double>>(dgemm, 13, product, twice);
    blas::syrk<float> = address<blas::Syrk<float>>(ssyrk, 10, product, single);
    blas::syrk<double> = address<blas::Syrk<double>>(dsyrk, 10, product, twice);
    blas::potrf = address<blas::Factor>(dpotrf, 5, factor, twice);
    blas::potri = address<blas::Factor>(dpotri, 5, factor, twice);
}

template <class T>
void frame(Mat<const T> x, Vec<const double> origin, nb::ndarray<const double, nb::c_contig> A, Threads threads,
           Mat<T> z) {
    const size_t D = x.shape(1);
    require(origin.size() == D && z.shape(0) == x.shape(0) && z.shape(1) == D, "x, origin and z disagree");
    require(A.size() == D || A.size() == D * D, "A must be a scale [D] or a matrix [D, D]");
    const std::span<const double> by(A.data(), A.size());
    threads.n = busy_threads(threads, double(x.shape(0)) * double(A.size() + 2 * D));
    nb::gil_scoped_release nogil;
    to_frame<T>({view(x), D}, view(origin), by, threads, {view(z), D});
}

template <class T>
void assign(Mat<const T> z, Mat<const T> W, Vec<const T> constant, const std::string& kind, bool linear,
            Threads threads, Mat<int32_t> cluster, Mat<T> r, Vec<double> entropy, Vec<double> likelihood) {
    const size_t n = z.shape(0), K = constant.size(), L = cluster.shape(1);
    const Features features{quadratic(kind), linear, z.shape(1)};
    require(W.shape(0) == K && W.shape(1) == features.size(), "W must be [K, features]");
    const Assigned<T> out = assigned(n, K, cluster, r, entropy, likelihood);
    threads.n = busy_threads(threads, double(n) * double(K) * double(features.size() + kSelection));
    nb::gil_scoped_release nogil;
    const Scorer<T> score{features, view(W), view(constant)};
    assign_gaussian<T>({view(z), z.shape(1)}, score, L, threads, out);
}

template <class T>
void near(Mat<const T> z, Vec<const int32_t> was, Mat<const int32_t> neighbours, Mat<const T> W, Vec<const T> constant,
          const std::string& kind, bool linear, Threads threads, Mat<int32_t> cluster, Mat<T> r, Vec<double> entropy,
          Vec<double> likelihood) {
    const size_t n = z.shape(0), K = constant.size(), C = neighbours.shape(1), L = cluster.shape(1);
    const Features features{quadratic(kind), linear, z.shape(1)};
    require(W.shape(0) == K && W.shape(1) == features.size(), "W must be [K, features]");
    require(neighbours.shape(0) == K, "neighbours must be [K, L or more]");
    const Assigned<T> out = assigned(n, C, cluster, r, entropy, likelihood);
    require(was.size() == n, "need the last cluster of each row");
    require(all_below(view(neighbours), K), "a neighbour lies outside [0, K)");
    threads.n = busy_threads(threads, double(n) * double(C) * double(features.size() + kSelection));
    nb::gil_scoped_release nogil;
    assign_near<T>({view(z), z.shape(1)}, view(was), {view(neighbours), C}, features, {view(W), features.size()},
                   view(constant), L, threads, out);
}

template <class T>
void among(Mat<const T> z, Vec<const int32_t> was, Mat<const int32_t> candidates, Mat<const T> W, Vec<const T> constant,
           Threads threads, Mat<int32_t> cluster, Mat<T> r, Vec<double> entropy, Vec<double> likelihood) {
    const size_t n = z.shape(0), D = z.shape(1), K = constant.size(), C = candidates.shape(1), L = cluster.shape(1);
    require(W.shape(0) == K && W.shape(1) == D, "W must be [K, D]");
    require(candidates.shape(0) == n, "candidates must be [rows, L or more]");
    const Assigned<T> out = assigned(n, C, cluster, r, entropy, likelihood);
    require(was.size() == n, "need the last cluster of each row");
    require(all_below(view(candidates), K), "a candidate lies outside [0, K)");
    threads.n = busy_threads(threads, double(n) * double(C) * double(D + kSelection));
    nb::gil_scoped_release nogil;
    assign_among<T>({view(z), D}, view(was), {view(candidates), C}, {view(W), D}, view(constant), L, threads, out);
}

template <class T>
void moments(Mat<const T> z, Mat<const int32_t> cluster, Mat<const T> r, std::optional<Vec<const double>> weight,
             Mat<const T> centre, const std::string& kind, Threads threads, Vec<double> N, Mat<double> first,
             Mat<double> second) {
    const size_t n = z.shape(0), D = z.shape(1), K = centre.shape(0);
    const Quadratic q = quadratic(kind);
    require(cluster.shape(0) == n && r.shape(0) == n && r.shape(1) == cluster.shape(1), "z, cluster and r disagree");
    require(!weight || weight->size() == n, "need one weight a row");
    require(centre.shape(1) == D && N.size() == K && first.shape(0) == K && first.shape(1) == D,
            "centre, N and first disagree");
    require(second.shape(0) == K && second.shape(1) == quadratic_size(q, D), "second must be [K, size]");
    const std::span<const double> w = weight ? view(*weight) : std::span<const double>();
    threads.n = busy_threads(threads, double(r.size()) * double(quadratic_size(q, D) + 4 * D + kSelection));
    nb::gil_scoped_release nogil;
    add_moments<T>({view(z), D}, view(cluster), view(r), w, {view(centre), D}, q, threads,
                   {view(N), view(first), view(second)});
}

void precisions(Mat<const double> second, Vec<const double> N, Mat<const double> base, Mat<const double> reg,
                Vec<const double> beta, Mat<const double> m, Threads threads, Cube B, Cube inverse,
                Vec<double> log_det) {
    const size_t K = N.size(), D = m.shape(1);
    require(m.shape(0) == K && beta.size() == K && log_det.size() == K, "N, beta, m and log_det disagree");
    require(second.shape(0) == K && second.shape(1) == quadratic_size(Quadratic::products, D),
            "second must be [K, D (D + 1) / 2]");
    for (const auto& one : {base, reg}) require(one.shape(0) == D && one.shape(1) == D, "base and reg must be [D, D]");
    for (const auto& all : {B, inverse})
        require(all.shape(0) == K && all.shape(1) == D && all.shape(2) == D, "B and inverse must be [K, D, D]");
    threads.n = busy_threads(threads, double(K) * double(D * D) * double(D + 16));
    nb::gil_scoped_release nogil;
    update_precisions({{view(second), second.shape(1)}, view(N), view(base), view(reg), view(beta), {view(m), D}},
                      threads, view(B), view(inverse), view(log_det));
}

template <class T>
void add(nb::module_& m) {
    m.def("to_frame", &frame<T>, "x"_a.noconvert(), "origin"_a, "A"_a, "threads"_a, "z"_a.noconvert(),
          "z = (x - origin) A, where A is a matrix [D, D] or a scale [D].");
    m.def(
        "assign_gaussian", &assign<T>, "z"_a.noconvert(), "W"_a.noconvert(), "constant"_a.noconvert(), "quadratic"_a,
        "linear"_a, "threads"_a, "cluster"_a.noconvert(), "r"_a.noconvert(), "entropy"_a.noconvert(),
        "likelihood"_a.noconvert(),
        "Writes cluster [N, L], r [N, L], entropy [N] and likelihood [N] under the scores constant + features(z) W'.");
    m.def("assign_near", &near<T>, "z"_a.noconvert(), "was"_a, "neighbours"_a, "W"_a.noconvert(),
          "constant"_a.noconvert(), "quadratic"_a, "linear"_a, "threads"_a, "cluster"_a.noconvert(), "r"_a.noconvert(),
          "entropy"_a.noconvert(), "likelihood"_a.noconvert(),
          "As assign_gaussian, but row n is scored by the clusters neighbours[was[n]] only, which ascend.");
    m.def(
        "assign_among", &among<T>, "z"_a.noconvert(), "was"_a, "candidates"_a, "W"_a.noconvert(),
        "constant"_a.noconvert(), "threads"_a, "cluster"_a.noconvert(), "r"_a.noconvert(), "entropy"_a.noconvert(),
        "likelihood"_a.noconvert(),
        "As assign_gaussian under the scores constant + z W', but row n is scored by the clusters candidates[n] only, "
        "which ascend. `was` is the last cluster of each row: those of one are scored one after the other.");
    m.def("add_moments", &moments<T>, "z"_a.noconvert(), "cluster"_a, "r"_a.noconvert(), "weight"_a.none(),
          "centre"_a.noconvert(), "quadratic"_a, "threads"_a, "N"_a.noconvert(), "first"_a.noconvert(),
          "second"_a.noconvert(),
          "Adds sum w r, sum w r z and sum w r (quadratic part of z) of each cluster to N, first and second.");
}

}  // namespace

void register_gaussian(nb::module_& m) {
    m.def("set_blas", &set_blas, "sgemm"_a, "dgemm"_a, "ssyrk"_a, "dsyrk"_a, "dpotrf"_a, "dpotri"_a,
          "Takes the addresses of BLAS and LAPACK from the capsules that scipy.linalg.cython_blas and cython_lapack "
          "publish.");
    m.def("update_precisions", &precisions, "second"_a, "N"_a, "base"_a, "reg"_a, "beta"_a, "m"_a, "threads"_a,
          "B"_a.noconvert(), "inverse"_a.noconvert(), "log_det"_a.noconvert(),
          "B_k = base + S_k + N_k reg - beta_k m_k m_k', with S_k from its upper triangle, the inverse of B_k, and "
          "log |B_k|: NaN where B_k is not positive definite.");
    add<float>(m);
    add<double>(m);
}

}  // namespace topmix
