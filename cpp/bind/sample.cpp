// The local step of topic models by sampling.
#include "local/sample.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <cmath>
#include <optional>
#include <tuple>

#include "bind/arrays.hpp"

namespace topmix {

namespace {

using Given = std::optional<std::tuple<Vec<const int64_t>, Vec<const TopicId>, Vec<const float>>>;

auto bind_sample_step(const WordOrder& tokens, Vec<const float> value, Vec<const int64_t> starts,
                      Vec<const int32_t> order, Mat<const float> table, Vec<const double> log_scale,
                      Vec<const double> norm, double least, Vec<const float> alpha, const Given& given, uint64_t seed,
                      uint32_t sweep, uint64_t first, int threads, Vec<TopicId> z) {
    const size_t words = table.shape(0), K = table.shape(1), docs = tokens.first().size() - 1;
    require(1 <= K && K <= kMaxTopics && alpha.size() == K && norm.size() == K && log_scale.size() == words,
            "table, log_scale, norm and alpha disagree");
    require(words == tokens.words() && tokens.n_blocks() == 1, "table and tokens disagree");
    check_words(starts, order, words, value.size());
    GivenTopics proportions;
    if (given) {
        const auto& [given_indptr, topic, count] = *given;
        check_topics(given_indptr, topic, count, docs, K, "the documents' topics are of other documents");
        proportions = {view(given_indptr), view(topic), view(count)};
    }
    TopicResult out;
    {
        nb::gil_scoped_release nogil;
        double counted = 0;
        for (const float c : view(value)) {
            require(c >= 0 && c == std::floor(c) && c < 0x1p31f, "counts must be whole numbers");
            counted += double(c);
        }
        require(int64_t(z.size()) == tokens.first().back() && counted == double(z.size()),
                "z must have one topic for each token");
        if (!given)
            for (const TopicId k : view(z)) require(k < K, "a token's topic is not below K");
        std::vector<float> inverse(K), larger(K), by_word(words);
        for (size_t k = 0; k < K; ++k) {
            const double n = norm.data()[k];
            inverse[k] = float(1 / n), larger[k] = n > 1 ? float(n / (n - 1)) : 1.f;
        }
        for (size_t v = 0; v < words; ++v) by_word[v] = float(std::exp(-log_scale.data()[v]));
        const TopicWeights topics{view(alpha), inverse, larger, float(least)};
        const TableWords rows({view(table), K}, by_word, view(alpha));
        out = sample_step(tokens, view(value), view(starts), view(order), view(z), topics, rows,
                          given ? &proportions : nullptr, {seed, sweep, first}, threads);
    }
    return std::make_tuple(std::make_tuple(give(std::move(out.S.indptr)), give(std::move(out.S.topic)),
                                           give(std::move(out.S.value)), give(std::move(out.S.totals))),
                           std::make_tuple(give(std::move(out.docs.indptr)), give(std::move(out.docs.topic)),
                                           give(std::move(out.docs.count))),
                           out.accepted);
}

}  // namespace

void register_sample(nb::module_& m) {
    m.def("sample_step", &bind_sample_step, "tokens"_a, "value"_a, "starts"_a, "order"_a, "table"_a, "log_scale"_a,
          "norm"_a, "least"_a, "alpha"_a, "given"_a.none(), "seed"_a, "sweep"_a, "first"_a, "threads"_a,
          "z"_a.noconvert(),
          "Draws the topics z of a shard's tokens, again or given the documents' proportions (indptr, topic, count):"
          " (word statistics), (documents' topics), tokens that moved.");
}

}  // namespace topmix
