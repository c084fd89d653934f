// Local step of admixtures: groups of rows that share proportions of clusters.
#include "steps/groups.hpp"

#include <nanobind/stl/optional.h>

#include <optional>
#include <string>

#include "bind/arrays.hpp"
#include "bind/quadratic.hpp"
#include "steps/gaussian.hpp"

namespace topmix {

namespace {

constexpr size_t kMostRows = size_t(std::numeric_limits<int32_t>::max());

template <class T>
void assign(Mat<const T> z, Vec<const int64_t> starts, Mat<const T> W, Mat<const T> constant, const std::string& kind,
            bool linear, Threads threads, Mat<int32_t> cluster, Mat<T> r, Vec<double> entropy, Vec<double> likelihood) {
    const size_t n = z.shape(0), G = constant.shape(0), K = constant.shape(1), L = cluster.shape(1);
    const Features features{quadratic(kind), linear, z.shape(1)};
    require(starts.size() == G + 1 && rises(view(starts), n),
            "starts must be [groups + 1] and rise from 0 to the rows");
    require(G <= kMostRows, "too many groups");
    require(W.shape(0) == K && W.shape(1) == features.size(), "W must be [K, features]");
    const Assigned<T> out = assigned(n, K, cluster, r, entropy, likelihood);
    threads.n = busy_threads(threads, double(n) * double(K) * double(features.size() + kSelection));
    nb::gil_scoped_release nogil;
    const std::vector<int32_t> group = group_of_rows(view(starts));
    const Scorer<T> score{features, view(W), view(constant), K, group};
    assign_gaussian<T>({view(z), z.shape(1)}, score, L, threads, out);
}

template <class T>
int64_t solve(Vec<const int64_t> starts, Mat<const int32_t> candidates, Mat<const T> share,
              std::optional<Vec<const double>> weight, Vec<const double> alpha, bool collapsed, T least, int max_iter,
              double tol, Threads threads, Mat<double> N, std::optional<Mat<double>> absent, Mat<int32_t> cluster,
              Mat<T> r, Vec<double> entropy) {
    const size_t n = share.shape(0), C = share.shape(1), G = N.shape(0), K = alpha.size(), L = cluster.shape(1);
    require(starts.size() == G + 1 && rises(view(starts), n),
            "starts must be [groups + 1] and rise from 0 to the rows");
    require(candidates.shape(0) == n && candidates.shape(1) == C, "candidates and share must be [rows, C]");
    require(all_below(view(candidates), K), "a candidate lies outside [0, K)");
    require(!weight || weight->size() == n, "need one weight a row");
    require(N.shape(1) == K && are_counts(std::span<const double>(view(N))), "N must be counts [groups, K]");
    require(!absent || (absent->shape(0) == G && absent->shape(1) == K), "absent must be [groups, K]");
    require(are_positive(view(alpha)), "alpha must be positive");
    require(1 <= L && L <= C, "need 1 <= L <= C");
    require(max_iter >= 1, "need an iteration");
    require(cluster.shape(0) == n && r.shape(0) == n && r.shape(1) == L, "cluster and r must be [rows, L]");
    require(entropy.size() == n, "entropy must be [rows]");
    const std::span<const double> w = weight ? view(*weight) : std::span<const double>();
    threads.n = busy_threads(threads, double(n) * double(C) * kSelection);
    nb::gil_scoped_release nogil;
    const GroupTask<T> task{
        view(starts), {view(candidates), C}, {view(share), C}, w, view(alpha), collapsed, L, least, max_iter, tol};
    if (absent) std::ranges::fill(view(*absent), 0.0);
    return solve_groups<T>(task, threads, {view(N), K}, {absent ? view(*absent) : std::span<double>(), K},
                           {view(cluster), view(r), view(entropy)});
}

template <class T>
void add(nb::module_& m) {
    m.def("assign_groups", &assign<T>, "z"_a.noconvert(), "starts"_a, "W"_a.noconvert(), "constant"_a.noconvert(),
          "quadratic"_a, "linear"_a, "threads"_a, "cluster"_a.noconvert(), "r"_a.noconvert(), "entropy"_a.noconvert(),
          "likelihood"_a.noconvert(),
          "As assign_gaussian, for groups of consecutive rows that begin at `starts`, with constants [groups, K].");
    m.def("solve_groups", &solve<T>, "starts"_a, "candidates"_a, "share"_a.noconvert(), "weight"_a.none(), "alpha"_a,
          "collapsed"_a, "least"_a, "max_iter"_a, "tol"_a, "threads"_a, "N"_a.noconvert(),
          "absent"_a.noconvert().none(), "cluster"_a.noconvert(), "r"_a.noconvert(), "entropy"_a.noconvert(),
          "The fixed point of groups of consecutive rows, which begin at `starts`: `share` [rows, C] of candidates is "
          "under the proportions that N [groups, K] and alpha imply. Writes N; the log of the probability that a group "
          "has no row in a cluster, where `absent` [groups, K] is given; and cluster [rows, L], r [rows, L] and "
          "entropy [rows] of the L best candidates. Returns the iterations of all groups.");
}

}  // namespace

void register_groups(nb::module_& m) {
    add<float>(m);
    add<double>(m);
}

}  // namespace topmix
