// Topic models with one topic a token: collapsed Gibbs sampling.
#include "chains/gibbs.hpp"

#include <algorithm>

#include "bind/arrays.hpp"
#include "bind/tokens.hpp"
#include "bind/topic_arrays.hpp"
#include "bind/word_prior.hpp"
#include "chains/gibbs_sequential.hpp"
#include "steps/sample.hpp"

namespace topmix {

namespace {

using Topics = Vec<TopicId>;
using Counts = Mat<int32_t>;

TopicCounts topic_counts(const TokenRows& rows, Counts& word, Vec<int64_t>& total) {
    require(word.shape(0) == rows.n_words && word.shape(1) == total.size(), "counts must be [V, K] and [K]");
    check_topic_count(total.size());
    return {view(word), view(total)};
}

void bind_count(const TokenRows& rows, Topics z, Threads threads, Counts word, Vec<int64_t> total) {
    const TopicCounts counts = topic_counts(rows, word, total);
    const Tokens tokens = rows.with(z, counts.K());
    nb::gil_scoped_release nogil;
    count_tokens(tokens, threads, counts);
}

double bind_sample(const WordOrder& order, size_t block, Vec<const float> alpha, Mat<const double> eta,
                   Vec<const double> eta_totals, uint64_t seed, uint32_t sweep, Threads threads, Topics z, Counts word,
                   Vec<int64_t> total) {
    const size_t K = total.size(), V = order.words();
    check_topic_count(K);
    require(word.shape(0) == V && word.shape(1) == K && alpha.size() == K && eta_totals.size() == K,
            "counts must be [V, K] and [K], alpha and eta_totals [K]");
    require(are_counts(view(alpha)), "alpha must be finite and not negative");
    require(block < order.n_blocks(), "there is no such block");
    require(int64_t(z.size()) == order.first().back(), "z must have one topic for each token");
    const TopicCounts counts{view(word), view(total)};
    const WordPrior prior = word_prior(eta, V, K);
    if (const auto groups = order.block(block); !groups.empty())
        check_token_topics(order.tokens(view(z), groups.front().begin, groups.back().end), K);
    nb::gil_scoped_release nogil;
    const auto least = float(*std::ranges::min_element(view(eta)));
    require(least > 0, "eta must be above 0");
    const TopicNumbers numbers(topic_norms(counts.total, view(eta_totals)));
    const TopicWeights topics{view(alpha), numbers.inverse, numbers.larger, least};
    const CountedWords words({counts.word, K}, prior, numbers.inverse, view(alpha));
    const auto sample = order.documents_are_short() ? &sample_documents<uint16_t> : &sample_documents<float>;
    return sample(order, block, view(z), topics, words, {seed, sweep, 0}, threads, counts);
}

void bind_draw(const WordOrder& order, Vec<const int64_t> indptr, Vec<const TopicId> topic, Vec<const float> count,
               Mat<const float> e, Vec<const float> alpha, uint64_t seed, Threads threads, Topics z) {
    const size_t K = alpha.size(), docs = order.first().size() - 1;
    check_topic_count(K);
    require(are_counts(view(alpha)), "alpha must be finite and not negative");
    require(int64_t(z.size()) == order.first().back(), "z must have one topic for each token");
    require(e.shape(0) == order.words() && e.shape(1) == K, "e must be [V, K]");
    check_topics(indptr, topic, count, docs, K, "the documents' topics are of other documents");
    const GivenTopics given{view(indptr), view(topic), view(count)};
    nb::gil_scoped_release nogil;
    const TopicWeights topics{view(alpha), {}, {}, 0};
    const TableWords words({view(e), K}, {}, view(alpha));
    for (size_t b = 0; b < order.n_blocks(); ++b)
        sample_groups<float>(order, b, topics, words, threads, [&](size_t g, auto& sampler, auto& own, size_t) {
            sampler.draw_given(order.block(b)[g], view(z), {seed, 0, 0}, given, own);
        });
}

double bind_sequential(const TokenRows& rows, Vec<const float> alpha, Mat<const double> eta,
                       Vec<const double> eta_totals, uint64_t seed, uint32_t sweep, Topics z, Counts word,
                       Vec<int64_t> total) {
    const TopicCounts counts = topic_counts(rows, word, total);
    require(alpha.size() == counts.K() && eta_totals.size() == counts.K(), "alpha and eta_totals must be [K]");
    require(are_counts(view(alpha)), "alpha must be finite and not negative");
    const WordPrior prior = word_prior(eta, rows.n_words, counts.K());
    const Tokens tokens = rows.with(z, counts.K());
    nb::gil_scoped_release nogil;
    return gibbs_sequential(tokens, view(alpha), prior, view(eta_totals), seed, sweep, counts);
}

double bind_words(Mat<const int32_t> word, Vec<const int64_t> total, Mat<const double> eta,
                  Vec<const double> eta_totals, Threads threads) {
    const size_t V = word.shape(0), K = word.shape(1);
    require(total.size() == K && eta_totals.size() == K, "total and eta_totals must be [K]");
    check_topic_count(K);
    const WordPrior prior = word_prior(eta, V, K);
    nb::gil_scoped_release nogil;
    return log_probability_of_words({view(word), K}, view(total), prior, view(eta_totals), threads);
}

auto bind_documents(const TokenRows& rows, Topics z, size_t K, Threads threads) {
    const Tokens tokens = rows.with(z, K);
    return give_docs(unlocked([&] { return document_topics(tokens, K, threads); }));
}

}  // namespace

void register_gibbs(nb::module_& m) {
    nb::class_<TokenRows>(m, "TokenRows", "Documents whose counts are whole numbers, to be visited token by token.")
        .def(nb::init<Vec<const int64_t>, Vec<const int32_t>, Vec<const float>, size_t>(), "indptr"_a, "index"_a,
             "value"_a, "n_words"_a)
        .def_prop_ro("n_tokens", [](const TokenRows& rows) { return rows.first.back(); });
    m.def("count_tokens", &bind_count, "tokens"_a, "z"_a.noconvert(), "threads"_a, "word"_a.noconvert(),
          "total"_a.noconvert(), "How often each topic has each word.");
    m.def("document_topics", &bind_documents, "tokens"_a, "z"_a.noconvert(), "K"_a, "threads"_a,
          "Topics of every document and their tokens, as sparse rows.");
    nb::class_<WordOrder>(m, "WordOrder", "The tokens of documents word by word, in blocks of documents.")
        .def(
            "__init__",
            [](WordOrder* self, const TokenRows& tokens, Vec<const int64_t> bounds, Threads threads) {
                new (self) WordOrder(word_order(tokens, bounds, threads));
            },
            "tokens"_a, "bounds"_a, "threads"_a);
    m.def("gibbs_sample", &bind_sample, "order"_a, "block"_a, "alpha"_a, "eta"_a, "eta_totals"_a, "seed"_a, "sweep"_a,
          "threads"_a, "z"_a.noconvert(), "word"_a.noconvert(), "total"_a.noconvert(),
          "Draws the tokens of a block of documents; the documents' part of log p(w, z).");
    m.def("gibbs_draw", &bind_draw, "order"_a, "indptr"_a, "topic"_a, "count"_a, "e"_a, "alpha"_a, "seed"_a,
          "threads"_a, "z"_a.noconvert(), "Draws every token given the proportions of its document.");
    m.def("gibbs_sequential", &bind_sequential, "tokens"_a, "alpha"_a, "eta"_a, "eta_totals"_a, "seed"_a, "sweep"_a,
          "z"_a.noconvert(), "word"_a.noconvert(), "total"_a.noconvert(),
          "One exact sweep; the documents' part of log p(w, z).");
    m.def("log_probability_of_words", &bind_words, "word"_a, "total"_a, "eta"_a, "eta_totals"_a, "threads"_a,
          "The words' part of log p(w, z).");
}

}  // namespace topmix
