// What the bindings of asynchronous mixtures share: workers run on threads of their own while Python reads their posts.
#pragma once
#include "asynchronous/mixture.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "bind/sparse_rows.hpp"

namespace topmix {

/// Workers are stopped before their memory is freed, and without the GIL, for which one of them may be waiting.
template <class Data>
struct MixtureLearner : asynchronous::AsynchronousMixture<Data> {
    using asynchronous::AsynchronousMixture<Data>::AsynchronousMixture;
    ~MixtureLearner() {
        nb::gil_scoped_release nogil;
        try {
            this->stop();
        } catch (...) {  // a destructor must not throw
        }
    }
};

using OptionalWeights = std::optional<Vec<const double>>;

inline std::span<const double> view(const OptionalWeights& weight) {
    return weight ? view(*weight) : std::span<const double>();
}

/// How workers share the rows and the clusters, as it is given.
struct DealArrays {
    Vec<const int64_t> bounds;
    size_t blocks, most, rows_at_once;
    int threads;
    uint64_t seed;

    asynchronous::Deal deal() const { return {view(bounds), blocks, most, rows_at_once, threads, seed}; }
};

inline void check_weights(const OptionalWeights& weight, size_t n) {
    require(!weight || weight->size() == n, "need one weight a row");
    require(are_counts(view(weight)), "weights must be finite and not negative");
}

/// Of n rows that weigh this much.
inline double sum_of_weights(const OptionalWeights& weight, size_t n) {
    double rows = weight ? 0.0 : double(n);
    for (const double x : view(weight)) rows += x;
    return rows;
}

/// Of n rows with these first clusters.
template <class T>
void check_deal(size_t n, size_t K, const OptionalWeights& weight, const Mat<const int32_t>& cluster,
                const Mat<const T>& r, const asynchronous::Deal& deal) {
    const size_t L = r.shape(1);
    require(cluster.shape(0) == n && r.shape(0) == n && cluster.shape(1) == L, "cluster and r must be [rows, L]");
    require(1 <= K && K <= size_t(INT32_MAX) && 1 <= L && L <= K, "need 1 <= L <= K < 2^31");
    check_weights(weight, n);
    require(are_counts(view(r)), "shares must be finite and not negative");
    require(1 <= deal.blocks && deal.blocks <= K && 1 <= deal.most && 1 <= deal.rows_at_once,
            "need 1 <= blocks <= K, most and rows");
    check_bounds(deal.bounds, n);
    require(all_below(view(cluster), K), "a row is in a cluster that is not there");
}

/// Blocks that visit together.
inline void check_blocks(std::vector<asynchronous::BlockId> blocks, size_t count) {
    require(!blocks.empty() && all_below(std::span<const asynchronous::BlockId>(blocks), count),
            "there is no such block");
    std::ranges::sort(blocks);
    require(std::ranges::adjacent_find(blocks) == blocks.end(), "a block is there twice");
}

/// Clusters without rows.
template <class Data>
std::vector<typename Data::Cluster> no_clusters(const typename Data::Prior& prior, size_t K) {
    const std::vector<double> nothing(Data::width(prior));
    return std::vector<typename Data::Cluster>(K, Data::unpacked(prior, nothing.data()));
}

template <class Data>
class MixtureBinding {
  public:
    using Learner = MixtureLearner<Data>;
    using T = typename Data::Share;

    template <class Class>
    static Class& add(Class& c) {
        return c
            .def("start", &Learner::start, "passes"_a, nb::call_guard<nb::gil_scoped_release>(),
                 "Starts the workers; they make this many passes, counted from the first.")
            .def("next", &next, "Waits for the next pass: what all rows add to clusters, and their entropy, or None.")
            .def("stop", &Learner::stop, nb::call_guard<nb::gil_scoped_release>(),
                 "Stops the workers; they end their current visit early.")
            .def("now", &now, "Stops the workers; their statistics at this moment, as next() returns them.")
            .def("assignments", &assignments, "Stops the workers; clusters and shares of all rows, [rows, L] each.")
            .def("visit", &visit, "worker"_a, "blocks"_a, nb::call_guard<nb::gil_scoped_release>(),
                 "Stops the workers; one of them works on these blocks, on the calling thread. It is not recorded.")
            .def("audit", &audit, nb::call_guard<nb::gil_scoped_release>(),
                 "Stops the workers; raises RuntimeError unless every block is there once and equals the workers' "
                 "sums.")
            .def_prop_ro("visits", [](Learner& self) { return self.workers().visits(); }, "Of blocks, by all workers.");
    }

  private:
    using Post = typename Learner::Post;
    using PostArrays = std::tuple<Mat<double>, double>;

    static PostArrays give_post(Learner& self, Post&& post) {
        const size_t K = self.shared().cluster.size(), numbers = post.sums.size() / K;
        return {give(std::move(post.sums), K, numbers), post.entropy};
    }

    static std::optional<PostArrays> next(Learner& self) {
        Post out;
        {
            nb::gil_scoped_release nogil;
            const auto posts = self.workers().next();
            if (posts.empty()) return std::nullopt;
            out = self.add_up(posts);
        }
        return give_post(self, std::move(out));
    }

    static PostArrays now(Learner& self) {
        Post out;
        {
            nb::gil_scoped_release nogil;
            self.stop();
            out = self.add_up(self.workers().now());
        }
        return give_post(self, std::move(out));
    }

    /// Worker by worker.
    static std::tuple<Mat<int32_t>, Mat<T>> assignments(Learner& self) {
        std::vector<int32_t> ids;
        std::vector<T> shares;
        {
            nb::gil_scoped_release nogil;
            self.stop();
            for (size_t w = 0; w < self.workers().size(); ++w) {
                const auto& mine = self.workers()[w].shares();
                ids.insert(ids.end(), mine.ids().begin(), mine.ids().end());
                shares.insert(shares.end(), mine.shares().begin(), mine.shares().end());
            }
        }
        const size_t L = self.workers()[0].shares().L(), rows = ids.size() / L;
        return {give(std::move(ids), rows, L), give(std::move(shares), rows, L)};
    }

    static void visit(Learner& self, size_t worker, const std::vector<asynchronous::BlockId>& blocks) {
        self.stop();
        require(worker < self.workers().size(), "there is no such worker");
        check_blocks(blocks, self.shared().blocks.count);
        self.workers()[worker].stop_early.store(false);
        self.workers()[worker].visit(blocks);
    }

    static void audit(Learner& self) {
        self.stop();
        asynchronous::AsynchronousMixture<Data>& learner = self;
        learner.audit();
    }
};

}  // namespace topmix
