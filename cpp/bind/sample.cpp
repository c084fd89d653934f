// The local step of topic models by sampling.
#include "steps/sample.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <cmath>
#include <optional>
#include <tuple>

#include "bind/arrays.hpp"
#include "bind/tokens.hpp"
#include "bind/topic_arrays.hpp"

namespace topmix {

namespace {

auto bind_sample_step(const WordOrder& tokens, const WordArrays& of_words, Vec<const float> alpha,
                      const std::optional<DocArrays>& given, uint64_t seed, uint32_t sweep, uint64_t first,
                      Threads threads, Vec<TopicId> z, const PriorArrays* own) {
    const auto& [table, log_scale, norm, least] = of_words;
    const size_t words = table.shape(0), K = table.shape(1), docs = tokens.first().size() - 1;
    check_table(table, alpha);
    require(norm.size() == K && log_scale.size() == words, "table, log_scale and norm disagree");
    require(words == tokens.words() && tokens.n_blocks() == 1, "table and tokens disagree");
    const Priors priors = priors_of(alpha, own, docs);
    GivenTopics proportions;
    if (given) {
        check_topics(*given, docs, K, "the documents' topics are of other documents");
        const auto& [indptr, topic, count] = *given;
        proportions = {view(indptr), view(topic), view(count)};
    }
    TopicResult out;
    {
        nb::gil_scoped_release nogil;
        require(int64_t(z.size()) == tokens.first().back(), "z must have one topic for each token");
        require(given || all_below(std::span<const TopicId>(view(z)), K), "a token's topic is not below K");
        const TopicNumbers numbers(view(norm));
        std::vector<float> by_word(words);
        for (size_t v = 0; v < words; ++v) by_word[v] = float(std::exp(-log_scale.data()[v]));
        const TopicWeights topics{view(alpha), numbers.inverse, numbers.larger, float(least), priors};
        const TableWords weights({view(table), K}, by_word, view(alpha));
        out = sample_step(tokens, view(z), topics, weights, given ? &proportions : nullptr, {seed, sweep, first},
                          threads);
    }
    return std::make_tuple(give_words(std::move(out.S)), give_docs(std::move(out.docs)), out.accepted);
}

}  // namespace

void register_sample(nb::module_& m) {
    m.def("sample_step", &bind_sample_step, "tokens"_a, "words"_a, "alpha"_a, "given"_a.none(), "seed"_a, "sweep"_a,
          "first"_a, "threads"_a, "z"_a.noconvert(), "own"_a = nb::none(),
          "Draws the topics z of a shard's tokens, again or given the documents' proportions (indptr, topic, count):"
          " (word statistics), (documents' topics), tokens that moved.");
}

}  // namespace topmix
