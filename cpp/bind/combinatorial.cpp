// Combinatorial topic models: hard assignments under a penalty for every topic that a document uses.
#include "chains/combinatorial.hpp"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "bind/arrays.hpp"
#include "bind/tokens.hpp"
#include "chains/refine.hpp"

namespace topmix {

namespace {

void check_penalty(double penalty) {
    require(penalty >= 0 && std::isfinite(penalty), "the penalty must be finite and not negative");
}

void bind_distances(Mat<const int32_t> word, Vec<const int64_t> total, double smoothing, Threads threads,
                    Mat<float> D) {
    const size_t V = word.shape(0), K = word.shape(1);
    check_topic_count(K);
    require(total.size() == K && D.shape(0) == V && D.shape(1) == padded(K), "word, total and D disagree");
    require(smoothing >= 0 && std::isfinite(smoothing), "smoothing must be finite and not negative");
    nb::gil_scoped_release nogil;
    distances({view(word), K}, view(total), smoothing, threads, {view(D), padded(K)});
}

double bind_assign(const TokenRows& rows, const std::string& step, Mat<const float> D, size_t K, double penalty,
                   Threads threads, Vec<TopicId> z) {
    check_topic_count(K);
    require(D.shape(0) == rows.n_words && D.shape(1) == padded(K),
            "D must be [V, K], with K rounded up to whole vectors");
    require(are_finite(view(D)), "D must be finite");
    check_penalty(penalty);
    require(step == "basic" || step == "word" || step == "place", "step must be 'basic', 'word' or 'place'");
    const Tokens tokens = rows.with(z, K);
    nb::gil_scoped_release nogil;
    const HardStep how = step == "basic" ? HardStep::basic : step == "word" ? HardStep::word : HardStep::place;
    return assign_documents(tokens, how, {view(D), D.shape(1)}, K, penalty, threads);
}

/// Counts that refinement looks numbers up by: they must be those of the tokens, or a move would lead out of the table.
TopicCounts counts_of(const Tokens& tokens, size_t V, Threads threads, Mat<int32_t>& word, Vec<int64_t>& total) {
    require(word.shape(0) == V && word.shape(1) == total.size(), "counts must be [V, K] and [K]");
    const TopicCounts counts{view(word), view(total)};
    nb::gil_scoped_release nogil;
    std::vector<int32_t> of_words(counts.word.size());
    std::vector<int64_t> of_topics(counts.total.size());
    count_tokens(tokens, threads, {of_words, of_topics});
    require(std::ranges::equal(of_words, counts.word) && std::ranges::equal(of_topics, counts.total),
            "word and total are not the counts of z");
    return counts;
}

Rows<float> scratch_of(const TokenRows& rows, size_t K, Mat<float>& scratch) {
    require(scratch.shape(0) == rows.n_words && scratch.shape(1) == padded(K),
            "scratch must be [V, K], with K rounded up to whole vectors");
    return {view(scratch), padded(K)};
}

double bind_refine(const TokenRows& rows, Vec<const int32_t> order, double penalty, Threads threads, Vec<TopicId> z,
                   Mat<int32_t> word, Vec<int64_t> total, Mat<float> scratch, size_t least_round) {
    const Tokens tokens = rows.with(z, total.size());
    check_penalty(penalty);
    const TopicCounts counts = counts_of(tokens, rows.n_words, threads, word, total);
    const Rows<float> more = scratch_of(rows, counts.K(), scratch);
    require(all_below(view(order), tokens.X.rows()), "there is no such document");
    nb::gil_scoped_release nogil;
    return refine(tokens, view(order), penalty, threads, counts, more, least_round);
}

void bind_deltas(const TokenRows& rows, size_t d, size_t t, double penalty, Vec<TopicId> z, Mat<int32_t> word,
                 Vec<int64_t> total, Mat<float> scratch, Vec<double> out) {
    const Tokens tokens = rows.with(z, total.size());
    check_penalty(penalty);
    const TopicCounts counts = counts_of(tokens, rows.n_words, {1}, word, total);
    const Rows<float> more = scratch_of(rows, counts.K(), scratch);
    require(d < tokens.X.rows() && t < counts.K() && out.size() == counts.K(), "no such document or topic");
    nb::gil_scoped_release nogil;
    WorthOfCounts worth(counts, more, 1);
    Refiner(worth, penalty).deltas(tokens, d, t, view(out));
}

size_t bind_used(const TokenRows& rows, size_t K, Threads threads, Vec<TopicId> z) {
    const Tokens tokens = rows.with(z, K);
    nb::gil_scoped_release nogil;
    return topics_in_use(tokens, K, threads);
}

double bind_distance(Mat<const int32_t> word, Vec<const int64_t> total, Threads threads) {
    require(word.shape(1) == total.size(), "word and total disagree");
    check_topic_count(total.size());
    nb::gil_scoped_release nogil;
    return distance_of_tokens({view(word), total.size()}, view(total), threads);
}

}  // namespace

void register_combinatorial(nb::module_& m) {
    m.attr("LANES") = kBlock;
    m.def("hard_distances", &bind_distances, "word"_a, "total"_a, "smoothing"_a, "threads"_a, "D"_a.noconvert(),
          "-log psi for every word and topic.");
    m.def("hard_assign", &bind_assign, "tokens"_a, "step"_a, "D"_a, "K"_a, "penalty"_a, "threads"_a, "z"_a.noconvert(),
          "Every document by 'basic', 'word', or by 'word' from nothing: 'place'. The sum of their costs.");
    m.def("refine", &bind_refine, "tokens"_a, "order"_a, "penalty"_a, "threads"_a, "z"_a.noconvert(),
          "word"_a.noconvert(), "total"_a.noconvert(), "scratch"_a.noconvert(), "least_round"_a,
          "Moves mini-topics where it lowers the objective; by how much it did.");
    m.def("refine_deltas", &bind_deltas, "tokens"_a, "d"_a, "t"_a, "penalty"_a, "z"_a.noconvert(), "word"_a.noconvert(),
          "total"_a.noconvert(), "scratch"_a.noconvert(), "out"_a.noconvert(),
          "What moving one mini-topic to each other topic would change.");
    m.def("topics_in_use", &bind_used, "tokens"_a, "K"_a, "threads"_a, "z"_a,
          "Topics that documents use, summed over documents.");
    m.def("distance_of_tokens", &bind_distance, "word"_a, "total"_a, "threads"_a,
          "Distances of all tokens to their topics at the optimum.");
}

}  // namespace topmix
