// Asynchronous learning of topics: workers run on threads of their own while Python reads their posts.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <optional>
#include <string>

#include "asynchronous/topics.hpp"
#include "bind/arrays.hpp"

namespace topmix {

namespace {

using asynchronous::AsynchronousTopics;
using asynchronous::Rest;

using Words = std::tuple<Mat<double>, double, double, Vec<double>>;

Words give_snapshot(asynchronous::TopicSnapshot&& s, size_t K) {
    return {give(std::move(s.S), s.S.size() / K, K), s.entropy, s.documents, give(std::move(s.rise))};
}

void check_priors(const Vec<const double>& alpha, const Mat<const double>& eta, size_t V, size_t K) {
    require(alpha.size() == K, "alpha must have one value a topic");
    require((eta.shape(0) == V || eta.shape(0) == 1) && (eta.shape(1) == K || eta.shape(1) == 1),
            "eta must be [V or 1, K or 1]");
}

void make(AsynchronousTopics* self, Vec<const int64_t> indptr, Vec<const int32_t> index, Vec<const float> value,
          Vec<const int64_t> bounds, Vec<const int64_t> block_starts, Vec<const int32_t> words, size_t n_active,
          const std::string& rest, Mat<const double> counts, Vec<const double> alpha, Mat<const double> eta,
          size_t opening, size_t settle, uint64_t seed) {
    const size_t V = counts.shape(0), K = counts.shape(1);
    const Csr<float> X = csr(indptr, index, value, V);
    require(rest == "mean" || rest == "best", "rest must be 'mean' or 'best'");
    require(1 <= K && K <= kMaxTopics && 1 <= n_active && n_active <= K, "need 1 <= n_active <= K <= MAX_TOPICS");
    check_priors(alpha, eta, V, K);
    const auto rising = [](std::span<const int64_t> x, int64_t last) {
        return x.size() >= 2 && x.front() == 0 && x.back() == last && std::is_sorted(x.begin(), x.end());
    };
    require(rising(view(bounds), int64_t(X.rows())), "bounds must rise from 0 to the number of documents");
    require(rising(view(block_starts), int64_t(words.size())), "block_starts must rise from 0 to len(words)");
    for (size_t b = 1; b < block_starts.size(); ++b)
        require(size_t(block_starts.data()[b] - block_starts.data()[b - 1]) <= asynchronous::kMostSlots,
                "a block has too many words");
    std::vector<bool> seen(V, false);
    for (const int32_t v : view(words)) {
        require(v >= 0 && size_t(v) < V && !seen[size_t(v)], "words must be different, and from 0 to V - 1");
        seen[size_t(v)] = true;
    }
    asynchronous::WordBlocks blocks{{view(block_starts).begin(), view(block_starts).end()},
                                    {view(words).begin(), view(words).end()}};
    nb::gil_scoped_release nogil;
    new (self)
        AsynchronousTopics(X, V, view(bounds), std::move(blocks), K, n_active, rest == "best" ? Rest::best : Rest::mean,
                           {view(counts), K}, view(alpha), view(eta), eta.shape(0), opening, settle, seed);
}

std::optional<Words> next(AsynchronousTopics& self) {
    asynchronous::TopicSnapshot out;
    {
        nb::gil_scoped_release nogil;
        const auto posts = self.workers().next();
        if (posts.empty()) return std::nullopt;
        out = self.add_up(posts);
    }
    return give_snapshot(std::move(out), self.shared().K);
}

Words now(AsynchronousTopics& self) {
    asynchronous::TopicSnapshot out;
    {
        nb::gil_scoped_release nogil;
        self.workers().stop();
        out = self.add_up(self.workers().now());
    }
    return give_snapshot(std::move(out), self.shared().K);
}

}  // namespace

void register_asynchronous_topics(nb::module_& m) {
    nb::class_<AsynchronousTopics>(m, "AsynchronousTopics", "Workers that own documents, visited by blocks of words.")
        .def("__init__", &make, "indptr"_a, "index"_a, "value"_a, "bounds"_a, "block_starts"_a, "words"_a, "n_active"_a,
             "rest"_a, "counts"_a, "alpha"_a, "eta"_a, "opening"_a, "settle"_a, "seed"_a)
        .def(
            "start", [](AsynchronousTopics& self, size_t passes) { self.workers().start(passes); }, "passes"_a,
            nb::call_guard<nb::gil_scoped_release>(),
            "Starts the workers; they make this many passes, counted from the first.")
        .def("next", &next,
             "Waits for the next pass: word counts, entropy, documents' log Gammas and the rise of their digammas, or "
             "None.")
        .def(
            "stop", [](AsynchronousTopics& self) { self.workers().stop(); }, nb::call_guard<nb::gil_scoped_release>(),
            "Stops the workers after the blocks that they hold.")
        .def("now", &now, "Stops the workers; their statistics at this moment, as next() returns them.")
        .def(
            "priors",
            [](AsynchronousTopics& self, Vec<const double> alpha, Mat<const double> eta) {
                check_priors(alpha, eta, self.words(), self.shared().K);
                nb::gil_scoped_release nogil;
                self.workers().stop();
                self.priors(view(alpha), view(eta), eta.shape(0));
            },
            "alpha"_a, "eta"_a, "Stops the workers and changes the priors.")
        .def(
            "audit",
            [](AsynchronousTopics& self) {
                self.workers().stop();
                self.audit();
            },
            nb::call_guard<nb::gil_scoped_release>(),
            "Stops the workers; raises RuntimeError unless every block is there once and equals the workers' sums.")
        .def(
            "visits_by_worker",
            [](AsynchronousTopics& self) {
                self.workers().stop();
                auto visits = self.workers().owners().visits();
                return give(std::move(visits), self.shared().blocks.size(), self.workers().size());
            },
            "Stops the workers; [blocks, workers] how often each worker had each block.")
        .def_prop_ro(
            "visits", [](AsynchronousTopics& self) { return self.workers().visits(); }, "Of blocks, by all workers.");
}

}  // namespace topmix
