// Topic models with one topic a token: collapsed Gibbs sampling.
#include "chains/gibbs.hpp"

#include <cmath>

#include "bind/arrays.hpp"
#include "bind/tokens.hpp"
#include "bind/word_prior.hpp"
#include "chains/gibbs_sequential.hpp"

namespace topmix {

namespace {

using Topics = Vec<TopicId>;
using Counts = Mat<int32_t>;

TopicCounts topic_counts(const TokenRows& rows, Counts& word, Vec<int64_t>& total) {
    require(word.shape(0) == rows.n_words && word.shape(1) == total.size(), "counts must be [V, K] and [K]");
    require(1 <= total.size() && total.size() <= kMaxTopics, "K must be from 1 to MAX_TOPICS");
    return {view(word), view(total)};
}

void bind_count(const TokenRows& rows, Topics z, int threads, Counts word, Vec<int64_t> total) {
    const TopicCounts counts = topic_counts(rows, word, total);
    const Tokens tokens = rows.with(z);
    nb::gil_scoped_release nogil;
    for (const TopicId k : tokens.z) require(k < counts.K(), "a token's topic is not below K");
    count_tokens(tokens, threads, counts);
}

void bind_table(Mat<const int32_t> word, Vec<const int64_t> total, Mat<const double> eta, Vec<const double> eta_totals,
                Vec<const float> alpha, int threads, Vec<float> inverse, Vec<float> larger, Mat<float> e,
                Mat<float> mass) {
    const size_t V = word.shape(0), K = word.shape(1);
    require(
        total.size() == K && eta_totals.size() == K && alpha.size() == K && inverse.size() == K && larger.size() == K,
        "total, eta_totals, alpha, inverse and larger must be [K]");
    require(e.shape(0) == V && e.shape(1) == K && mass.shape(0) == V && mass.shape(1) == prior_blocks(K),
            "e must be [V, K] and mass [V, blocks]");
    const WordPrior prior = word_prior(eta, V, K);
    nb::gil_scoped_release nogil;
    gibbs_table({view(word), K}, view(total), prior, view(eta_totals), view(alpha), threads, view(inverse),
                view(larger), {view(e), K}, {view(mass), prior_blocks(K)});
}

double bind_sample(const TokenRows& rows, size_t begin, size_t end, Mat<const float> e, Mat<const float> mass,
                   Vec<const float> alpha, Vec<const float> inverse, Vec<const float> larger, float least,
                   uint64_t seed, uint32_t sweep, int threads, Topics z, Counts word, Vec<int64_t> total) {
    const TopicCounts counts = topic_counts(rows, word, total);
    const size_t K = counts.K();
    const Tokens tokens = rows.with(z);
    require(begin <= end && end <= tokens.X.rows(), "there are no such documents");
    require(e.shape(0) == rows.n_words && e.shape(1) == K && mass.shape(0) == rows.n_words &&
                mass.shape(1) == prior_blocks(K) && alpha.size() == K && inverse.size() == K && larger.size() == K &&
                least > 0,
            "table and counts disagree");
    const GibbsTable table{{view(e), K}, {view(mass), prior_blocks(K)}, view(alpha), view(inverse), view(larger),
                           least};
    nb::gil_scoped_release nogil;
    return sample_documents<Draw::again>(tokens, begin, end, table, {}, seed, sweep, threads, counts);
}

void bind_draw(const TokenRows& rows, Vec<const int64_t> indptr, Vec<const TopicId> topic, Vec<const float> count,
               Mat<const float> e, Mat<const float> mass, Vec<const float> alpha, uint64_t seed, int threads, Topics z,
               Counts word, Vec<int64_t> total) {
    const TopicCounts counts = topic_counts(rows, word, total);
    const size_t K = counts.K();
    const Tokens tokens = rows.with(z);
    check_topics(indptr, topic, count, tokens.X.rows(), K, "the documents' topics are of other documents");
    require(e.shape(0) == rows.n_words && e.shape(1) == K && mass.shape(0) == rows.n_words &&
                mass.shape(1) == prior_blocks(K) && alpha.size() == K,
            "table and counts disagree");
    const GibbsTable table{{view(e), K}, {view(mass), prior_blocks(K)}, view(alpha), {}, {}, 0};
    const GivenTopics given{view(indptr), view(topic), view(count)};
    nb::gil_scoped_release nogil;
    sample_documents<Draw::given>(tokens, 0, tokens.X.rows(), table, given, seed, 0, threads, counts);
}

double bind_sequential(const TokenRows& rows, Vec<const float> alpha, Mat<const double> eta,
                       Vec<const double> eta_totals, uint64_t seed, uint32_t sweep, Topics z, Counts word,
                       Vec<int64_t> total) {
    const TopicCounts counts = topic_counts(rows, word, total);
    require(alpha.size() == counts.K() && eta_totals.size() == counts.K(), "alpha and eta_totals must be [K]");
    const WordPrior prior = word_prior(eta, rows.n_words, counts.K());
    const Tokens tokens = rows.with(z);
    nb::gil_scoped_release nogil;
    return gibbs_sequential(tokens, view(alpha), prior, view(eta_totals), seed, sweep, counts);
}

double bind_words(Mat<const int32_t> word, Vec<const int64_t> total, Mat<const double> eta,
                  Vec<const double> eta_totals, int threads) {
    const size_t V = word.shape(0), K = word.shape(1);
    require(total.size() == K && eta_totals.size() == K, "total and eta_totals must be [K]");
    const WordPrior prior = word_prior(eta, V, K);
    nb::gil_scoped_release nogil;
    return log_probability_of_words({view(word), K}, view(total), prior, view(eta_totals), threads);
}

auto bind_documents(const TokenRows& rows, Topics z, size_t K, int threads) {
    const Tokens tokens = rows.with(z);
    DocTopics docs;
    {
        nb::gil_scoped_release nogil;
        for (const TopicId k : tokens.z) require(k < K, "a token's topic is not below K");
        docs = document_topics(tokens, K, threads);
    }
    return std::make_tuple(give(std::move(docs.indptr)), give(std::move(docs.topic)), give(std::move(docs.count)));
}

}  // namespace

void register_gibbs(nb::module_& m) {
    nb::class_<TokenRows>(m, "TokenRows", "Documents whose counts are whole numbers, to be visited token by token.")
        .def(nb::init<Vec<const int64_t>, Vec<const int32_t>, Vec<const float>, size_t>(), "indptr"_a, "index"_a,
             "value"_a, "n_words"_a)
        .def_prop_ro("n_tokens", [](const TokenRows& rows) { return rows.first.back(); });
    m.attr("PRIOR_BLOCK") = kPriorBlock;
    m.def("count_tokens", &bind_count, "tokens"_a, "z"_a.noconvert(), "threads"_a, "word"_a.noconvert(),
          "total"_a.noconvert(), "How often each topic has each word.");
    m.def("document_topics", &bind_documents, "tokens"_a, "z"_a.noconvert(), "K"_a, "threads"_a,
          "Topics of every document and their tokens, as sparse rows.");
    m.def("gibbs_table", &bind_table, "word"_a, "total"_a, "eta"_a, "eta_totals"_a, "alpha"_a, "threads"_a,
          "inverse"_a.noconvert(), "larger"_a.noconvert(), "e"_a.noconvert(), "mass"_a.noconvert(),
          "What sampling a block needs of the topics.");
    m.def("gibbs_sample", &bind_sample, "tokens"_a, "begin"_a, "end"_a, "e"_a, "mass"_a, "alpha"_a, "inverse"_a,
          "larger"_a, "least"_a, "seed"_a, "sweep"_a, "threads"_a, "z"_a.noconvert(), "word"_a.noconvert(),
          "total"_a.noconvert(), "Draws the tokens of a block of documents; the documents' part of log p(w, z).");
    m.def("gibbs_draw", &bind_draw, "tokens"_a, "indptr"_a, "topic"_a, "count"_a, "e"_a, "mass"_a, "alpha"_a, "seed"_a,
          "threads"_a, "z"_a.noconvert(), "word"_a.noconvert(), "total"_a.noconvert(),
          "Draws every token given the proportions of its document.");
    m.def("gibbs_sequential", &bind_sequential, "tokens"_a, "alpha"_a, "eta"_a, "eta_totals"_a, "seed"_a, "sweep"_a,
          "z"_a.noconvert(), "word"_a.noconvert(), "total"_a.noconvert(),
          "One exact sweep; the documents' part of log p(w, z).");
    m.def("log_probability_of_words", &bind_words, "word"_a, "total"_a, "eta"_a, "eta_totals"_a, "threads"_a,
          "The words' part of log p(w, z).");
}

}  // namespace topmix
