// Asynchronous learning of Gaussian mixtures: workers run on threads of their own while Python reads their posts.
#include "asynchronous/gaussian.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>
#include <string>

#include "bind/arrays.hpp"
#include "bind/normal_wishart.hpp"

namespace topmix {

template class asynchronous::GaussianWorker<float>;
template class asynchronous::GaussianWorker<double>;

namespace {

/// Workers are stopped before their memory is freed, and without the GIL, for which one of them may be waiting.
template <class T>
struct Learner : asynchronous::AsynchronousGaussian<T> {
    using asynchronous::AsynchronousGaussian<T>::AsynchronousGaussian;
    ~Learner() {
        nb::gil_scoped_release nogil;
        try {
            this->stop();
        } catch (...) {  // a destructor must not throw
        }
    }
};

using PostArrays = std::tuple<Vec<double>, Mat<double>, Mat<double>, double>;

template <class T>
PostArrays give_post(typename Learner<T>::Post&& post) {
    const size_t K = post.N.size(), D = post.first.size() / K, Q = post.second.size() / K;
    return {give(std::move(post.N)), give(std::move(post.first), K, D), give(std::move(post.second), K, Q),
            post.entropy};
}

template <class T>
void make(Learner<T>* self, const std::string& kind, bool linear, bool bayes, double beta, Vec<const double> m,
          double nu, Vec<const double> B, Vec<const double> reg, double weight_prior, Mat<const T> z,
          std::optional<Vec<const double>> weight, Vec<const int64_t> bounds, Mat<const int32_t> cluster,
          Mat<const T> r, Mat<const T> centre, size_t blocks, size_t most, size_t rows_at_once, int threads,
          uint64_t seed) {
    const size_t n = z.shape(0), D = z.shape(1), K = centre.shape(0), L = r.shape(1);
    require(m.size() == D && centre.shape(1) == D, "m, centre and z disagree on the dimensions");
    require(cluster.shape(0) == n && r.shape(0) == n && cluster.shape(1) == L, "cluster and r must be [rows, L]");
    require(1 <= K && 1 <= L && L <= K, "need 1 <= L <= K");
    require(!weight || weight->size() == n, "need one weight a row");
    require(1 <= blocks && blocks <= K && 1 <= most && 1 <= rows_at_once, "need 1 <= blocks <= K, most and rows");
    const auto at = view(bounds);
    require(at.size() >= 2 && at.front() == 0 && at.back() == int64_t(n) && std::ranges::is_sorted(at),
            "bounds must rise from 0 to the number of rows");
    for (const int32_t k : view(cluster)) require(k >= 0 && size_t(k) < K, "a row is in a cluster that is not there");
    const std::span<const double> w = weight ? view(*weight) : std::span<const double>();
    double rows = weight ? 0.0 : double(n);
    for (const double x : w) rows += x;
    asynchronous::NormalWishart prior = normal_wishart(kind, linear, bayes, beta, m, nu, B, reg, weight_prior, K, rows);
    nb::gil_scoped_release nogil;
    new (self) Learner<T>(std::move(prior), {view(z), D}, w, at, view(cluster), view(r), {view(centre), D}, blocks,
                          most, rows_at_once, threads, seed);
}

template <class T>
std::optional<PostArrays> next(Learner<T>& self) {
    typename Learner<T>::Post out;
    {
        nb::gil_scoped_release nogil;
        const auto posts = self.workers().next();
        if (posts.empty()) return std::nullopt;
        out = self.add_up(posts);
    }
    return give_post<T>(std::move(out));
}

template <class T>
PostArrays now(Learner<T>& self) {
    typename Learner<T>::Post out;
    {
        nb::gil_scoped_release nogil;
        self.stop();
        out = self.add_up(self.workers().now());
    }
    return give_post<T>(std::move(out));
}

/// Clusters of the rows and their shares, worker by worker.
template <class T>
std::tuple<Mat<int32_t>, Mat<T>> assignments(Learner<T>& self) {
    std::vector<int32_t> ids;
    std::vector<T> shares;
    size_t rows = 0;
    {
        nb::gil_scoped_release nogil;
        self.stop();
        for (size_t w = 0; w < self.workers().size(); ++w) {
            const auto& worker = self.workers()[w];
            ids.insert(ids.end(), worker.ids().begin(), worker.ids().end());
            shares.insert(shares.end(), worker.shares().begin(), worker.shares().end());
            rows += worker.rows();
        }
    }
    const size_t L = rows ? ids.size() / rows : 1;
    return {give(std::move(ids), rows, L), give(std::move(shares), rows, L)};
}

template <class T>
void add(nb::module_& m, const char* name) {
    nb::class_<Learner<T>>(m, name, "Workers that own rows, visited by blocks of Gaussian clusters.")
        .def("__init__", &make<T>, "quadratic"_a, "linear"_a, "bayes"_a, "beta"_a, "m"_a, "nu"_a, "B"_a, "reg"_a,
             "weight_prior"_a, "z"_a.noconvert(), "weight"_a.none(), "bounds"_a, "cluster"_a, "r"_a.noconvert(),
             "centre"_a.noconvert(), "blocks"_a, "most"_a, "rows_at_once"_a, "threads"_a, "seed"_a)
        .def("start", &Learner<T>::start, "passes"_a, nb::call_guard<nb::gil_scoped_release>(),
             "Starts the workers; they make this many passes, counted from the first.")
        .def("next", &next<T>, "Waits for the next pass: N, first, second and the entropy of all rows, or None.")
        .def("stop", &Learner<T>::stop, nb::call_guard<nb::gil_scoped_release>(),
             "Stops the workers; they end their current visit early.")
        .def("now", &now<T>, "Stops the workers; their statistics at this moment, as next() returns them.")
        .def("assignments", &assignments<T>, "Stops the workers; clusters and shares of all rows, [rows, L] each.")
        .def(
            "visit",
            [](Learner<T>& self, size_t worker, const std::vector<asynchronous::BlockId>& blocks) {
                self.stop();
                require(worker < self.workers().size(), "there is no such worker");
                for (const asynchronous::BlockId b : blocks)
                    require(b < self.shared().blocks.count, "there is no such block");
                self.workers()[worker].stop_early.store(false);
                self.workers()[worker].visit(blocks);
            },
            "worker"_a, "blocks"_a, nb::call_guard<nb::gil_scoped_release>(),
            "Stops the workers; one of them works on these blocks, on the calling thread. It is not recorded.")
        .def(
            "audit",
            [](Learner<T>& self) {
                self.stop();
                self.audit();
            },
            nb::call_guard<nb::gil_scoped_release>(),
            "Stops the workers; raises RuntimeError unless every block is there once and equals the workers' sums.")
        .def_prop_ro("visits", [](Learner<T>& self) { return self.workers().visits(); }, "Of blocks, by all workers.");
}

}  // namespace

void register_asynchronous_gaussian(nb::module_& m) {
    add<float>(m, "AsynchronousGaussian32");
    add<double>(m, "AsynchronousGaussian64");
}

}  // namespace topmix
