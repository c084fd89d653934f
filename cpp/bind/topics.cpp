// Topic models: tables, the local step, document terms of the objective.
#include "steps/topics.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <variant>

#include "bind/arrays.hpp"
#include "bind/topic_arrays.hpp"
#include "bind/word_prior.hpp"
#include "models/topic_bound.hpp"
#include "models/topic_rows.hpp"
#include "models/topic_table.hpp"
#include "steps/merged.hpp"

namespace topmix {

namespace {

Posterior posterior_named(const std::string& name) {
    if (name == "collapsed") return Posterior::collapsed;
    if (name == "variational") return Posterior::variational;
    throw std::invalid_argument("posterior must be 'collapsed' or 'variational'");
}

auto bind_topic_table(const std::string& posterior, Mat<const double> raw, double factor, Mat<const double> eta,
                      const std::optional<SparseWords>& extra, const std::optional<PseudoCountArrays>& pseudo_counts,
                      Vec<const double> norm, Vec<const int32_t> cols, Threads threads, Mat<float> table,
                      Vec<double> log_scale) {
    const size_t V = raw.shape(0), K = raw.shape(1);
    check_topic_count(K);
    require(norm.size() == K && table.shape(0) == cols.size() && table.shape(1) == K && log_scale.size() == cols.size(),
            "raw, norm, cols, table and log_scale disagree");
    require(all_below(view(cols), V), "a word lies outside the vocabulary");
    const WordPrior prior = word_prior(eta, extra, V, K);
    const PseudoCounts start = pseudo_counts_of(pseudo_counts, V, K);
    const Posterior kind = posterior_named(posterior);
    nb::gil_scoped_release nogil;
    topic_table(kind, {view(raw), K}, factor, prior, start, view(norm), view(cols), threads, {view(table), K},
                view(log_scale));
}

auto bind_topic_bound(const std::string& posterior, Mat<const double> raw, double factor, Mat<const double> eta,
                      const std::optional<SparseWords>& extra, Threads threads, Vec<double> norm) {
    const size_t V = raw.shape(0), K = raw.shape(1);
    check_topic_count(K);
    require(norm.size() == K, "raw and norm disagree on K");
    const WordPrior prior = word_prior(eta, extra, V, K);
    const Posterior kind = posterior_named(posterior);
    nb::gil_scoped_release nogil;
    return topic_bound(kind, {view(raw), K}, factor, prior, threads, view(norm));
}

void bind_topic_rows(Mat<const double> raw, double factor, Mat<const double> eta,
                     const std::optional<SparseWords>& extra, bool as_shares, Threads threads, Mat<double> out) {
    const size_t V = raw.shape(0), K = raw.shape(1);
    check_topic_count(K);
    require(out.shape(0) == K && out.shape(1) == V, "out must have the shape of raw, transposed");
    const WordPrior prior = word_prior(eta, extra, V, K);
    nb::gil_scoped_release nogil;
    topic_rows({view(raw), K}, factor, prior, as_shares, threads, {view(out), V});
}

/// Where documents start, if not from their words: counts of a visit, sparse or dense [documents, K].
struct StartArrays {
    std::variant<DocArrays, Mat<const float>> counts;

    Start checked(size_t docs, size_t K) const {
        if (const auto* dense = std::get_if<Mat<const float>>(&counts)) {
            require(dense->shape(0) == docs && dense->shape(1) == K, "start must be [documents, K]");
            require(are_counts(view(*dense)), "start must be finite and not negative");
            return {{}, {}, {}, view(*dense)};
        }
        const DocArrays& sparse = std::get<DocArrays>(counts);
        check_topics(sparse, docs, K, "start does not fit this shard");
        const auto& [indptr, topic, count] = sparse;
        return {view(indptr), view(topic), view(count), {}};
    }
};

/// The last visit to these documents, and the tables of their words now.
struct LastVisitArrays {
    DocArrays docs;
    WordArrays words;

    LastVisit checked(size_t n, size_t n_words, size_t K) const {
        const auto& [table, log_scale, norm, least] = words;
        check_topics(docs, n, K, "the last visit does not fit this shard");
        require(log_scale.size() == n_words && norm.size() == K, "the last visit does not fit this shard");
        const auto& [indptr, topic, count] = docs;
        return {view(indptr), view(topic), view(count), view(log_scale), view(norm), least};
    }
};

/// Responses of documents, classes or numbers, and coefficients [outputs, K]. The precision of classes is zero.
struct ResponseArrays {
    Mat<const float> coefficients;
    Vec<const float> y;
    float precision, weight;

    Responses checked(size_t docs, size_t K) const {
        const size_t C = coefficients.shape(0);
        require(coefficients.shape(1) == K && y.size() == docs, "responses do not fit this shard");
        require(precision >= 0 && std::isfinite(precision) && weight >= 0 && std::isfinite(weight),
                "precision and weight must be finite and not negative");
        const auto is_finite = [](float x) { return std::isfinite(x); };
        require(std::ranges::all_of(view(coefficients), is_finite) && std::ranges::all_of(view(y), is_finite),
                "responses and coefficients must be finite");
        const auto is_class = [&](float x) { return x >= 0 && x < float(C) && x == std::floor(x); };
        require(precision > 0 ? C == 1 : std::ranges::all_of(view(y), is_class),
                "responses are classes, or numbers with one row of coefficients");
        return {{view(coefficients), K}, view(y), precision, weight};
    }
};

auto bind_topics_step(const ShardArrays& shard, Mat<const float> table, Vec<const float> alpha,
                      const DocumentOptions& options, const StartArrays* start, const LastVisitArrays* last,
                      bool want_words, Threads threads, TopicScratch& scratch, const PriorArrays* own,
                      const ResponseArrays* responses) {
    const size_t words = table.shape(0), K = table.shape(1);
    check_table(table, alpha);
    require(1 <= options.L && options.L <= K, "need 1 <= L <= K");
    require(!last || options.posterior == Posterior::collapsed,
            "own tokens are discounted where the posterior is collapsed");
    require(!responses || !options.exclude, "a token is not left out of the counts where documents have responses");
    const Shard rows = shard.checked(words);
    const Start from = start ? start->checked(rows.X.rows(), K) : Start{};
    const LastVisit before = last ? last->checked(rows.X.rows(), words, K) : LastVisit{};
    const Priors priors = priors_of(alpha, own, rows.X.rows());
    const Responses responded = responses ? responses->checked(rows.X.rows(), K) : Responses{};
    auto out = unlocked([&] {
        return topics_step(rows, {view(table), K}, priors, options, from, last ? &before : nullptr, want_words, threads,
                           scratch, responded);
    });
    return std::make_tuple(give_words(std::move(out.S)), give_docs(std::move(out.docs)), out.entropy,
                           std::make_tuple(out.iterations, out.tried, out.accepted));
}

void bind_merged_entropy(const TopicScratch& scratch, size_t L, Vec<const int32_t> partner, Threads threads,
                         Vec<double> lost) {
    const size_t K = partner.size(), entries = scratch.kept.size();
    require(lost.size() == K, "partner and lost disagree on K");
    require(scratch.topic.size() == entries * L, "the last step with this scratch had another L");
    nb::gil_scoped_release nogil;
    for (size_t i = 0; i < entries; ++i)
        for (size_t l = 0; l < size_t(scratch.kept[i]); ++l)
            require(l < L && scratch.topic[i * L + l] < K, "the last step with this scratch had more topics");
    merged_entropy(scratch, L, view(partner), threads, view(lost));
}

/// Every option is an argument, and can be read.
void bind_options(nb::module_& m) {
    nb::class_<DocumentOptions> c(m, "DocumentOptions", "How documents are solved: models/topics.py.");
#define TOPMIX_PARAMETER(type, name) , type name
#define TOPMIX_VALUE(type, name) , name
#define TOPMIX_ARGUMENT(type, name) , nb::arg(#name)
#define TOPMIX_PROPERTY(type, name) c.def_ro(#name, &DocumentOptions::name);
    c.def(
        "__init__",
        [](DocumentOptions* self, const std::string& posterior, size_t L TOPMIX_DOCUMENT_OPTIONS(TOPMIX_PARAMETER)) {
            new (self) DocumentOptions{posterior_named(posterior), L TOPMIX_DOCUMENT_OPTIONS(TOPMIX_VALUE)};
        },
        "posterior"_a, "L"_a TOPMIX_DOCUMENT_OPTIONS(TOPMIX_ARGUMENT));
    c.def_ro("L", &DocumentOptions::L);
    TOPMIX_DOCUMENT_OPTIONS(TOPMIX_PROPERTY)
#undef TOPMIX_PARAMETER
#undef TOPMIX_VALUE
#undef TOPMIX_ARGUMENT
#undef TOPMIX_PROPERTY
}

}  // namespace

void register_topics(nb::module_& m) {
    nb::class_<ShardArrays>(m, "Shard", "Rows with local word ids, and their entries word by word.")
        .def(nb::init<Vec<const int64_t>, Vec<const int32_t>, Vec<const float>, Vec<const int64_t>,
                      Vec<const int32_t>>(),
             "indptr"_a, "index"_a, "value"_a, "starts"_a, "order"_a);
    nb::class_<StartArrays>(m, "Start", "Where documents start, if not from their words.")
        .def(nb::init<DocArrays>(), "docs"_a, "From (indptr, topic, count).")
        .def(nb::init<Mat<const float>>(), "dense"_a, "From counts [documents, K].");
    nb::class_<LastVisitArrays>(m, "LastVisit", "What the topics' counts hold of these documents.")
        .def(nb::init<DocArrays, WordArrays>(), "docs"_a, "words"_a);
    nb::class_<PriorArrays>(m, "Priors", "Priors of documents on topics, where each has its own.")
        .def(nb::init<Mat<const float>, Vec<const int32_t>>(), "alpha"_a, "row"_a,
             "Rows of alpha [priors, K], and which of them each document has.");
    nb::class_<ResponseArrays>(m, "Responses", "What is known about documents beside their words.")
        .def(nb::init<Mat<const float>, Vec<const float>, float, float>(), "coefficients"_a, "y"_a, "precision"_a,
             "weight"_a, "Classes (precision 0) or numbers y, and coefficients [outputs, K] of the shares of topics.");
    bind_options(m);
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
    m.def("topics_step", &bind_topics_step, "shard"_a, "table"_a, "alpha"_a, "options"_a, "start"_a.none(),
          "last"_a.none(), "want_words"_a, "threads"_a, "scratch"_a, "own"_a = nb::none(), "responses"_a = nb::none(),
          "One shard of documents: (word statistics), (documents' topics), entropy, (iterations, restarts tried,"
          " accepted).");
    m.def("merged_entropy", &bind_merged_entropy, "scratch"_a, "L"_a, "partner"_a, "threads"_a, "lost"_a.noconvert(),
          "Fills lost [K], at the lower topic of each pair, with the entropy that merging it would take from the last"
          " topics_step with this scratch. partner [K]: the other topic, or -1.");
}

}  // namespace topmix
