// Blocks of words that move between workers, and the documents that stay. Workers are threads of their own while Python
// reads their posts (AsynchronousTopics), or threads of the caller, in several processes (NomadicTopics).
#include "asynchronous/topics.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <optional>
#include <string>
#include <vector>

#include "bind/arrays.hpp"
#include "bind/sparse_rows.hpp"

namespace topmix {

namespace {

using asynchronous::AsynchronousTopics;
using asynchronous::NomadicTopics;
using asynchronous::Tail;

void check_priors(const Vec<const double>& alpha, const Mat<const double>& eta, size_t V, size_t K) {
    require(alpha.size() == K, "alpha must have one value a topic");
    require(eta.size() > 0 && (eta.shape(0) == V || eta.shape(0) == 1) && (eta.shape(1) == K || eta.shape(1) == 1),
            "eta must be [V or 1, K or 1]");
    require(are_counts(view(alpha)) && are_counts(view(eta)), "alpha and eta must be finite and not negative");
}

/// Which words travel together: block b has words[starts[b]] to words[starts[b + 1] - 1].
struct WordBlockArrays {
    Vec<const int64_t> starts;
    Vec<const int32_t> words;

    asynchronous::WordBlocks checked(size_t V) const {
        require(starts.size() >= 2 && rises(view(starts), words.size()), "starts must rise from 0 to len(words)");
        for (size_t b = 1; b < starts.size(); ++b)
            require(size_t(starts.data()[b] - starts.data()[b - 1]) <= asynchronous::kMostSlots,
                    "a block has too many words");
        require(all_below(view(words), V), "words must be from 0 to V - 1");
        std::vector<bool> seen(V, false);
        for (const int32_t v : view(words)) {
            require(!seen[size_t(v)], "words must be different");
            seen[size_t(v)] = true;
        }
        return {{view(starts).begin(), view(starts).end()}, {view(words).begin(), view(words).end()}};
    }
};

/// How workers proceed.
struct TopicPlan {
    size_t n_active;
    Tail tail;
    size_t warm_up, settle;
    uint64_t seed;
    bool by_token;
};

using Words = std::tuple<Mat<double>, double, double, Vec<double>>;

Words give_snapshot(asynchronous::TopicSnapshot&& s, size_t K) {
    return {give(std::move(s.S), s.S.size() / K, K), s.entropy, s.documents, give(std::move(s.rise))};
}

Tail tail_named(const std::string& name) {
    require(name == "mean" || name == "best", "tail must be 'mean' or 'best'");
    return name == "best" ? Tail::best : Tail::mean;
}

void check_active(size_t n_active, size_t K) {
    check_topic_count(K);
    require(1 <= n_active && n_active <= K, "need 1 <= n_active <= K");
}

void make(AsynchronousTopics* self, const SparseRowArrays<float>& rows, Vec<const int64_t> bounds,
          const WordBlockArrays& blocks, Mat<const double> counts, Vec<const double> alpha, Mat<const double> eta,
          const TopicPlan& plan) {
    const size_t V = counts.shape(0), K = counts.shape(1);
    check_active(plan.n_active, K);
    const Csr<float> X = checked_counts(rows, V);
    require(are_counts(view(counts)), "counts of topics must be finite and not negative");
    check_priors(alpha, eta, V, K);
    check_bounds(view(bounds), X.rows());
    asynchronous::WordBlocks travel = blocks.checked(V);
    for (size_t b = 0; plan.by_token && b < travel.size(); ++b)
        require(travel.starts[b + 1] - travel.starts[b] == 1, "updates by token need blocks of one word");
    nb::gil_scoped_release nogil;
    new (self) AsynchronousTopics(X, view(bounds), std::move(travel),
                                  {{view(counts), K}, view(alpha), view(eta), eta.shape(0)},
                                  {K, plan.n_active, plan.tail, plan.warm_up, plan.by_token}, plan.settle, plan.seed);
}

std::optional<Words> next(AsynchronousTopics& self) {
    const auto posts = unlocked([&] { return self.workers().next(); });
    if (posts.empty()) return std::nullopt;
    return give_snapshot(unlocked([&] { return self.add_up(posts); }), self.shared().K);
}

Words now(AsynchronousTopics& self) {
    auto found = unlocked([&] {
        self.workers().stop();
        return self.add_up(self.workers().now());
    });
    return give_snapshot(std::move(found), self.shared().K);
}

NomadicTopics::Under under(const std::string& name) {
    using Under = NomadicTopics::Under;
    require(name == "shares" || name == "means" || name == "logarithms",
            "under must be 'shares', 'means' or 'logarithms'");
    return name == "shares" ? Under::shares : name == "means" ? Under::means : Under::logarithms;
}

void make_nomadic(NomadicTopics* self, const SparseRowArrays<float>& rows, Vec<const int64_t> bounds,
                  const WordBlockArrays& blocks, size_t n_words, size_t n_topics, size_t n_active,
                  const std::string& tail) {
    check_active(n_active, n_topics);
    require(n_words <= size_t(INT32_MAX), "a word is named by 32 bits");
    const Csr<float> X = checked_counts(rows, n_words);
    check_bounds(view(bounds), X.rows());
    asynchronous::WordBlocks travel = blocks.checked(n_words);
    const Tail others = tail_named(tail);
    nb::gil_scoped_release nogil;
    new (self) NomadicTopics(X, n_words, view(bounds), std::move(travel), {n_topics, n_active, others});
}

void check_block(const NomadicTopics& self, size_t b) {
    require(b < self.shared().blocks.size(), "there is no such block");
}

void check_worker(const NomadicTopics& self, size_t worker) {
    require(worker < self.workers().size(), "there is no such worker");
}

void begin(NomadicTopics& self, Vec<const double> alpha, Mat<const double> eta, Vec<const double> total) {
    check_priors(alpha, eta, self.words(), self.shared().K);
    require(total.size() == self.shared().K, "total must have one value a topic");
    require(are_finite(view(total)), "total must be finite");
    self.begin(view(alpha), view(eta), eta.shape(0), view(total));
}

void put(NomadicTopics& self, size_t b, Mat<const double> rows, std::optional<Mat<const double>> fresh) {
    check_block(self, b);
    require(rows.size() == self.shared().numbers_in(b) && rows.shape(1) == self.shared().K,
            "rows must be [words of the block, K]");
    require(!fresh || (fresh->shape(0) == rows.shape(0) && fresh->shape(1) == rows.shape(1)),
            "fresh must have the shape of rows");
    require(are_finite(view(rows)) && (!fresh || are_finite(view(*fresh))), "rows must be finite");
    self.put(b, view(rows), fresh ? view(*fresh) : std::span<const double>());
}

auto take(NomadicTopics& self, size_t b) {
    check_block(self, b);
    const size_t K = self.shared().K;
    auto [rows, fresh] = self.take(b);
    const size_t n = rows.size() / K, n_fresh = fresh.size() / K;
    return std::make_tuple(give(std::move(rows), n, K), give(std::move(fresh), n_fresh, K));
}

void visit(NomadicTopics& self, size_t worker, size_t b, const std::string& how) {
    check_block(self, b);
    check_worker(self, worker);
    unlocked([&, weighed = under(how)] { self.visit(worker, b, weighed); });
}

void begin_visit(NomadicTopics& self, size_t worker, size_t b, const std::string& how, bool contribute) {
    check_block(self, b);
    check_worker(self, worker);
    unlocked([&, weighed = under(how)] { self.begin_visit(worker, b, weighed, contribute); });
}

auto summary(const NomadicTopics& self, size_t worker) {
    check_worker(self, worker);
    auto out = unlocked([&] { return self.summary(worker); });
    return std::make_tuple(out.entropy, out.documents, give(std::move(out.rise)));
}

void apply_total(NomadicTopics& self, Vec<const double> delta) {
    require(delta.size() == self.shared().K, "delta must have one value a topic");
    require(are_finite(view(delta)), "delta must be finite");
    self.apply_total(view(delta));
}

auto own(const NomadicTopics& self) {
    std::vector<double> out(self.shared().K);
    self.own(out);
    return give(std::move(out));
}

}  // namespace

void register_asynchronous_topics(nb::module_& m) {
    nb::class_<WordBlockArrays>(m, "WordBlocks", "Which words travel together.")
        .def(nb::init<Vec<const int64_t>, Vec<const int32_t>>(), "starts"_a, "words"_a);
    nb::class_<TopicPlan>(m, "TopicPlan", "How the workers proceed: learn/asynchronous_topics.py.")
        .def(
            "__init__",
            [](TopicPlan* self, size_t n_active, const std::string& tail, size_t warm_up, size_t settle, uint64_t seed,
               bool by_token) { new (self) TopicPlan{n_active, tail_named(tail), warm_up, settle, seed, by_token}; },
            "n_active"_a, "tail"_a, "warm_up"_a, "settle"_a, "seed"_a, "by_token"_a = false);
    nb::class_<AsynchronousTopics>(m, "AsynchronousTopics", "Workers that own documents, visited by blocks of words.")
        .def("__init__", &make, "rows"_a, "bounds"_a, "blocks"_a, "counts"_a, "alpha"_a, "eta"_a, "plan"_a)
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
                auto visits = self.workers().routes().visits();
                return give(std::move(visits), self.shared().blocks.size(), self.workers().size());
            },
            "Stops the workers; [blocks, workers] how often each worker had each block.")
        .def_prop_ro(
            "visits", [](AsynchronousTopics& self) { return self.workers().visits(); }, "Of blocks, by all workers.");

    nb::class_<NomadicTopics>(m, "NomadicTopics", "Documents of one process, visited by blocks that come and go.")
        .def("__init__", &make_nomadic, "rows"_a, "bounds"_a, "blocks"_a, "n_words"_a, "n_topics"_a, "n_active"_a,
             "tail"_a)
        .def("begin", &begin, "alpha"_a, "eta"_a, "total"_a,
             "The priors, and the sums over all words, while nobody works.")
        .def("put", &put, "block"_a, "rows"_a, "fresh"_a.none() = nb::none(), "A block arrives.")
        .def("take", &take, "block"_a, "A block leaves: its rows, and the fresh ones if there are any.")
        .def("visit", &visit, "worker"_a, "block"_a, "under"_a,
             "A worker solves its documents for a block, and the block follows.")
        .def("begin_visit", &begin_visit, "worker"_a, "block"_a, "under"_a, "contribute"_a,
             "A worker solves its documents for a block, which stays as it is.")
        .def("summary", &summary, "worker"_a, "Of a worker's documents: entropy, log Gammas and the rise of digammas.")
        .def("apply_total", &apply_total, "delta"_a, "Another process has changed the sums over words.")
        .def("own", &own, "[K] how much this process has changed the sums over words.")
        .def_prop_ro("of_documents", &NomadicTopics::of_documents, "Bytes that documents need, after the last visits.");
}

}  // namespace topmix
