// Topics that come and go, block by block, to the documents of this process. The caller's threads are the workers.
#include "asynchronous/nomadic_topics.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <optional>
#include <string>

#include "bind/arrays.hpp"
#include "bind/word_blocks.hpp"

namespace topmix {

namespace {

using asynchronous::NomadicTopics;
using asynchronous::Rest;

NomadicTopics::Under under(const std::string& name) {
    require(name == "shares" || name == "means" || name == "logarithms",
            "under must be 'shares', 'means' or 'logarithms'");
    return name == "shares" ? NomadicTopics::Under::shares
                            : (name == "means" ? NomadicTopics::Under::means : NomadicTopics::Under::logarithms);
}

void make(NomadicTopics* self, Vec<const int64_t> indptr, Vec<const int32_t> index, Vec<const float> value,
          Vec<const int64_t> bounds, Vec<const int64_t> block_starts, Vec<const int32_t> words, size_t n_words,
          size_t n_topics, size_t n_active, const std::string& rest) {
    const Csr<float> X = csr(indptr, index, value, n_words);
    require(rest == "mean" || rest == "best", "rest must be 'mean' or 'best'");
    require(1 <= n_topics && n_topics <= kMaxTopics && 1 <= n_active && n_active <= n_topics,
            "need 1 <= n_active <= K <= MAX_TOPICS");
    require(rises_to(view(bounds), int64_t(X.rows())), "bounds must rise from 0 to the number of documents");
    asynchronous::WordBlocks blocks = word_blocks(block_starts, words, n_words);
    nb::gil_scoped_release nogil;
    new (self) NomadicTopics(X, n_words, view(bounds), std::move(blocks), n_topics, n_active,
                             rest == "best" ? Rest::best : Rest::mean);
}

void check_block(const NomadicTopics& self, size_t b) {
    require(b < self.shared().blocks.size(), "there is no such block");
}

void check_visit(const NomadicTopics& self, size_t worker, size_t b) {
    check_block(self, b);
    require(worker < self.workers(), "there is no such worker");
}

}  // namespace

void register_nomadic_topics(nb::module_& m) {
    nb::class_<NomadicTopics>(m, "NomadicTopics", "Documents of one process, visited by blocks that come and go.")
        .def("__init__", &make, "indptr"_a, "index"_a, "value"_a, "bounds"_a, "block_starts"_a, "words"_a, "n_words"_a,
             "n_topics"_a, "n_active"_a, "rest"_a)
        .def(
            "begin",
            [](NomadicTopics& self, Vec<const double> alpha, Mat<const double> eta, Vec<const double> total) {
                check_priors(alpha, eta, self.words(), self.shared().K);
                require(total.size() == self.shared().K, "total must have one value a topic");
                self.shared().priors(self.words(), view(alpha), view(eta), eta.shape(0));
                self.begin(view(total));
            },
            "alpha"_a, "eta"_a, "total"_a, "The priors, and the sums over all words, while nobody works.")
        .def(
            "put",
            [](NomadicTopics& self, size_t b, Mat<const double> rows, std::optional<Mat<const double>> fresh) {
                check_block(self, b);
                require(
                    rows.shape(0) * rows.shape(1) == self.shared().numbers_in(b) && rows.shape(1) == self.shared().K,
                    "rows must be [words of the block, K]");
                require(!fresh || fresh->size() == rows.size(), "fresh must have the shape of rows");
                self.put(b, view(rows), fresh ? view(*fresh) : std::span<const double>());
            },
            "block"_a, "rows"_a, "fresh"_a.none() = nb::none(), "A block arrives.")
        .def(
            "take",
            [](NomadicTopics& self, size_t b) {
                check_block(self, b);
                const size_t K = self.shared().K;
                auto [rows, fresh] = self.take(b);
                const size_t n = rows.size() / K, m = fresh.size() / K;
                return std::make_tuple(give(std::move(rows), n, K), give(std::move(fresh), m, K));
            },
            "block"_a, "A block leaves: its rows, and the fresh ones if there are any.")
        .def(
            "visit",
            [](NomadicTopics& self, size_t worker, size_t b, const std::string& how) {
                check_visit(self, worker, b);
                const auto weighed = under(how);
                nb::gil_scoped_release nogil;
                self.visit(worker, b, weighed);
            },
            "worker"_a, "block"_a, "under"_a, "A worker solves its documents for a block, and the block follows.")
        .def(
            "begin_visit",
            [](NomadicTopics& self, size_t worker, size_t b, const std::string& how, bool contribute) {
                check_visit(self, worker, b);
                const auto weighed = under(how);
                nb::gil_scoped_release nogil;
                self.begin_visit(worker, b, weighed, contribute);
            },
            "worker"_a, "block"_a, "under"_a, "contribute"_a,
            "A worker solves its documents for a block, which stays as it is.")
        .def(
            "summary",
            [](const NomadicTopics& self, size_t worker) {
                require(worker < self.workers(), "there is no such worker");
                asynchronous::TopicPost out;
                {
                    nb::gil_scoped_release nogil;
                    out = self.summary(worker);
                }
                return std::make_tuple(out.entropy, out.documents, give(std::move(out.rise)));
            },
            "worker"_a, "Of a worker's documents: entropy, log Gammas and the rise of digammas.")
        .def(
            "hear",
            [](NomadicTopics& self, Vec<const double> delta) {
                require(delta.size() == self.shared().K, "delta must have one value a topic");
                self.hear(view(delta));
            },
            "delta"_a, "Another process has changed the sums over words.")
        .def(
            "own",
            [](const NomadicTopics& self) {
                std::vector<double> out(self.shared().K);
                self.own(out);
                return give(std::move(out));
            },
            "[K] how much this process has changed the sums over words.")
        .def_prop_ro("resident", &NomadicTopics::resident, "Bytes of the blocks that are here.")
        .def_prop_ro("of_documents", &NomadicTopics::of_documents, "Bytes that documents need, after the last visits.");
}

}  // namespace topmix
