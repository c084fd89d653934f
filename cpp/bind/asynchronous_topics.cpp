// Asynchronous learning of topics: workers run on threads of their own while Python reads their posts.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <optional>
#include <string>

#include "asynchronous/topics.hpp"
#include "bind/arrays.hpp"
#include "bind/word_blocks.hpp"

namespace topmix {

namespace {

using asynchronous::AsynchronousTopics;
using asynchronous::Rest;

using Words = std::tuple<Mat<double>, double, double, Vec<double>>;

Words give_snapshot(asynchronous::TopicSnapshot&& s, size_t K) {
    return {give(std::move(s.S), s.S.size() / K, K), s.entropy, s.documents, give(std::move(s.rise))};
}

void make(AsynchronousTopics* self, Vec<const int64_t> indptr, Vec<const int32_t> index, Vec<const float> value,
          Vec<const int64_t> bounds, Vec<const int64_t> block_starts, Vec<const int32_t> words, size_t n_active,
          const std::string& rest, Mat<const double> counts, Vec<const double> alpha, Mat<const double> eta,
          size_t opening, size_t settle, uint64_t seed, bool by_token) {
    const size_t V = counts.shape(0), K = counts.shape(1);
    const Csr<float> X = csr(indptr, index, value, V);
    require(rest == "mean" || rest == "best", "rest must be 'mean' or 'best'");
    require(1 <= K && K <= kMaxTopics && 1 <= n_active && n_active <= K, "need 1 <= n_active <= K <= MAX_TOPICS");
    check_priors(alpha, eta, V, K);
    require(rises_to(view(bounds), int64_t(X.rows())), "bounds must rise from 0 to the number of documents");
    asynchronous::WordBlocks blocks = word_blocks(block_starts, words, V);
    require(!by_token || blocks.size() == blocks.slots(), "updates by token need blocks of one word");
    nb::gil_scoped_release nogil;
    new (self)
        AsynchronousTopics(X, V, view(bounds), std::move(blocks), K, n_active, rest == "best" ? Rest::best : Rest::mean,
                           {view(counts), K}, view(alpha), view(eta), eta.shape(0), opening, settle, seed, by_token);
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
             "rest"_a, "counts"_a, "alpha"_a, "eta"_a, "opening"_a, "settle"_a, "seed"_a, "by_token"_a = false)
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
