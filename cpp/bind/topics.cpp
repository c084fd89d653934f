// Topic models: tables, the local step, document terms of the objective.
#include "local/topics.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <optional>
#include <string>

#include "bind/arrays.hpp"
#include "bind/word_prior.hpp"
#include "global/topic_bound.hpp"
#include "global/topic_rows.hpp"
#include "global/topic_table.hpp"
#include "local/merged.hpp"

namespace topmix {

namespace {

Posterior posterior_named(const std::string& name) {
    if (name == "collapsed") return Posterior::collapsed;
    if (name == "variational") return Posterior::variational;
    throw std::invalid_argument("posterior must be 'collapsed' or 'variational'");
}

auto bind_topic_table(const std::string& posterior, Mat<const double> raw, double factor, Mat<const double> eta,
                      const std::optional<SparseWords>& extra, const std::optional<PseudoCountArrays>& pseudo_counts,
                      Vec<const double> norm, Vec<const int32_t> cols, int threads, Mat<float> table,
                      Vec<double> log_scale) {
    const size_t V = raw.shape(0), K = raw.shape(1);
    require(norm.size() == K && table.shape(0) == cols.size() && table.shape(1) == K && log_scale.size() == cols.size(),
            "raw, norm, cols, table and log_scale disagree");
    for (const int32_t v : view(cols)) require(v >= 0 && size_t(v) < V, "a word lies outside the vocabulary");
    const WordPrior prior = word_prior(eta, extra, V, K);
    const PseudoCounts start = pseudo_counts_of(pseudo_counts, V, K);
    const Posterior kind = posterior_named(posterior);
    nb::gil_scoped_release nogil;
    topic_table(kind, {view(raw), K}, factor, prior, start, view(norm), view(cols), threads, {view(table), K},
                view(log_scale));
}

auto bind_topic_bound(const std::string& posterior, Mat<const double> raw, double factor, Mat<const double> eta,
                      const std::optional<SparseWords>& extra, int threads, Vec<double> norm) {
    const size_t V = raw.shape(0), K = raw.shape(1);
    require(norm.size() == K, "raw and norm disagree on K");
    const WordPrior prior = word_prior(eta, extra, V, K);
    const Posterior kind = posterior_named(posterior);
    nb::gil_scoped_release nogil;
    return topic_bound(kind, {view(raw), K}, factor, prior, threads, view(norm));
}

void bind_topic_rows(Mat<const double> raw, double factor, Mat<const double> eta,
                     const std::optional<SparseWords>& extra, bool as_shares, int threads, Mat<double> out) {
    const size_t V = raw.shape(0), K = raw.shape(1);
    require(out.shape(0) == K && out.shape(1) == V, "out must have the shape of raw, transposed");
    const WordPrior prior = word_prior(eta, extra, V, K);
    nb::gil_scoped_release nogil;
    topic_rows({view(raw), K}, factor, prior, as_shares, threads, {view(out), V});
}

using MaybeVec64 = std::optional<Vec<const int64_t>>;
using MaybeTopic = std::optional<Vec<const TopicId>>;
using MaybeFloat = std::optional<Vec<const float>>;
using MaybeDense = std::optional<Mat<const float>>;
using MaybeLast = std::optional<
    std::tuple<Vec<const int64_t>, Vec<const TopicId>, Vec<const float>, Vec<const double>, Vec<const double>, double>>;

auto bind_topics_step(Vec<const int64_t> indptr, Vec<const int32_t> index, Vec<const float> value,
                      Vec<const int64_t> starts, Vec<const int32_t> order, Mat<const float> table,
                      Vec<const float> alpha, const TopicOptions& options, MaybeVec64 start_indptr,
                      MaybeTopic start_topic, MaybeFloat start_count, MaybeDense start_dense,
                      const MaybeLast& last_visit, bool want_words, int threads, TopicScratch& scratch) {
    const size_t words = table.shape(0), K = table.shape(1);
    require(alpha.size() == K && K <= kMaxTopics, "alpha and table disagree on K, or K is over MAX_TOPICS");
    require(1 <= options.L && options.L <= K, "need 1 <= L <= K");
    check_words(starts, order, words, index.size());
    const Csr<float> X = csr(indptr, index, value, words);
    Start start;
    if (start_dense) {
        require(start_dense->shape(0) == X.rows() && start_dense->shape(1) == K, "start must be [documents, K]");
        start.dense = view(*start_dense);
    } else if (start_indptr) {
        require(start_topic && start_count, "start needs topics and counts");
        check_topics(*start_indptr, *start_topic, *start_count, X.rows(), K, "start does not fit this shard");
        start = {view(*start_indptr), view(*start_topic), view(*start_count), {}};
    }
    LastVisit last;
    if (last_visit) {
        const auto& [last_indptr, topic, count, log_scale, norm, least] = *last_visit;
        require(options.posterior == Posterior::collapsed,
                "own tokens are discounted where the posterior is collapsed");
        check_topics(last_indptr, topic, count, X.rows(), K, "the last visit does not fit this shard");
        require(log_scale.size() == words && norm.size() == K, "the last visit does not fit this shard");
        last = {view(last_indptr), view(topic), view(count), view(log_scale), view(norm), least};
    }
    TopicResult out;
    {
        nb::gil_scoped_release nogil;
        out = topics_step(X, view(starts), view(order), {view(table), K}, view(alpha), options, start,
                          last_visit ? &last : nullptr, want_words, threads, scratch);
    }
    return std::make_tuple(std::make_tuple(give(std::move(out.S.indptr)), give(std::move(out.S.topic)),
                                           give(std::move(out.S.value)), give(std::move(out.S.totals))),
                           std::make_tuple(give(std::move(out.docs.indptr)), give(std::move(out.docs.topic)),
                                           give(std::move(out.docs.count))),
                           out.entropy, std::make_tuple(out.iterations, out.tried, out.accepted));
}

void bind_merged_entropy(const TopicScratch& scratch, size_t L, Vec<const int32_t> partner, int threads,
                         Vec<double> lost) {
    const size_t K = partner.size(), entries = scratch.kept.size();
    require(lost.size() == K, "partner and lost disagree on K");
    require(scratch.topic.size() == entries * L, "the last step with this scratch had another L");
    nb::gil_scoped_release nogil;
    for (size_t i = 0; i < entries; ++i)
        for (size_t l = 0; l < size_t(scratch.kept[i]); ++l)
            require(scratch.topic[i * L + l] < K, "the last step with this scratch had more topics");
    merged_entropy(scratch, L, view(partner), threads, view(lost));
}

}  // namespace

void register_topics(nb::module_& m) {
    nb::class_<TopicOptions>(m, "TopicOptions", "How documents are solved; see cpp/local/topic_options.hpp.")
        .def(
            "__init__",
            [](TopicOptions* self, const std::string& posterior, bool exclude, bool select_often, bool mean_change,
               size_t L, float eps, int max_iter, float tol, int restarts, int restart_iter, float own_discount) {
                new (self) TopicOptions{posterior_named(posterior),
                                        exclude,
                                        select_often,
                                        mean_change,
                                        L,
                                        eps,
                                        max_iter,
                                        tol,
                                        restarts,
                                        restart_iter,
                                        own_discount};
            },
            "posterior"_a, "exclude"_a, "select_often"_a, "mean_change"_a, "L"_a, "eps"_a, "max_iter"_a, "tol"_a,
            "restarts"_a, "restart_iter"_a, "own_discount"_a = 0.f)
        .def_ro("own_discount", &TopicOptions::own_discount);
    nb::class_<TopicScratch>(m, "TopicScratch", "Buffers that a worker keeps between steps.").def(nb::init<>());

    m.def(
        "topic_table", &bind_topic_table, "posterior"_a, "raw"_a, "factor"_a, "eta"_a, "extra"_a.none(),
        "pseudo_counts"_a.none(), "norm"_a, "cols"_a, "threads"_a, "table"_a.noconvert(), "log_scale"_a.noconvert(),
        "Fills table [words, K] with the topics' word weights over each word's largest, and log_scale with its log."
        " extra: None, or (indptr, topic, value) that is added to eta. pseudo_counts: None, or (common, share, indptr,"
        " topic, value, weight).");
    m.def("topic_rows", &bind_topic_rows, "raw"_a, "factor"_a, "eta"_a, "extra"_a.none(), "as_shares"_a, "threads"_a,
          "out"_a.noconvert(), "Fills out [K, V] with counts + eta; `as_shares`: each row over its sum.");
    m.def("topic_bound", &bind_topic_bound, "posterior"_a, "raw"_a, "factor"_a, "eta"_a, "extra"_a.none(), "threads"_a,
          "norm"_a.noconvert(),
          "The sum of x log x (collapsed) or log Gamma(x) at x = counts + eta; fills norm [K] with sums of x over "
          "words.");
    m.def("topics_step", &bind_topics_step, "indptr"_a, "index"_a, "value"_a, "starts"_a, "order"_a, "table"_a,
          "alpha"_a, "options"_a, "start_indptr"_a.none(), "start_topic"_a.none(), "start_count"_a.none(),
          "start_dense"_a.none(), "last_visit"_a.none(), "want_words"_a, "threads"_a, "scratch"_a,
          "One shard of documents: (word statistics), (documents' topics), entropy, (iterations, restarts tried,"
          " accepted).");
    m.def("merged_entropy", &bind_merged_entropy, "scratch"_a, "L"_a, "partner"_a, "threads"_a, "lost"_a.noconvert(),
          "Fills lost [K], at the lower topic of each pair, with the entropy that merging it would take from the last"
          " topics_step with this scratch. partner [K]: the other topic, or -1.");
}

}  // namespace topmix
