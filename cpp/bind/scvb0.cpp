// The token-by-token steps of collapsed topic models: SCVB0, which keeps nothing, and CVB0, which keeps every gamma.
#include "steps/scvb0.hpp"

#include <nanobind/stl/optional.h>

#include <optional>

#include "bind/arrays.hpp"
#include "bind/topic_arrays.hpp"
#include "steps/cvb0.hpp"

namespace topmix {

namespace {

auto bind_scvb0_step(const ShardArrays& shard, Mat<const float> table, Vec<const float> alpha,
                     const Scvb0Options& options, uint32_t pass, Threads threads, TopicScratch& scratch,
                     std::optional<Mat<float>> averages, const PriorArrays* own) {
    const size_t K = alpha.size();
    check_table(table, alpha);
    require(1 <= options.L && options.L <= K, "need 1 <= L <= K");
    const Shard rows = shard.checked(table.shape(0));
    require(!averages || (averages->shape(0) == rows.X.rows() && averages->shape(1) == K),
            "averages must be [docs, K]");
    const Priors priors = priors_of(alpha, own, rows.X.rows());
    const std::span<float> N = averages ? view(*averages) : std::span<float>();
    auto out = unlocked([&] { return scvb0_step(rows, {view(table), K}, priors, options, pass, threads, scratch, N); });
    return std::make_tuple(give_words(std::move(out.S)), give_docs(std::move(out.docs)), out.entropy, out.iterations);
}

/// Topics and shares of gamma, [entries, L] each.
using GammaArrays = std::tuple<Mat<const TopicId>, Mat<const float>>;

auto bind_cvb0_step(const ShardArrays& shard, const WordArrays& of_words, Vec<const float> alpha, size_t L, int burn_in,
                    const std::optional<GammaArrays>& given, Threads threads, const PriorArrays* own) {
    const auto& [table, log_scale, norm, least] = of_words;
    const size_t K = alpha.size();
    check_table(table, alpha);
    require(1 <= L && L <= K, "need 1 <= L <= K");
    const Shard rows = shard.checked(table.shape(0));
    const size_t nnz = rows.X.index.size();
    require(log_scale.size() == table.shape(0) && norm.size() == K, "table, log_scale and norm disagree");
    require(burn_in >= 0, "burn_in must not be negative");
    require(least > 0, "the least prior count must be positive");
    const Priors priors = priors_of(alpha, own, rows.X.rows());
    GammasView last;
    if (given) {
        const auto& [topic, r] = *given;
        require(topic.is_valid() && r.is_valid(), "the last gammas must be arrays");  // None is one inside a tuple
        require(topic.shape(0) == nnz && r.shape(0) == nnz && topic.shape(1) == L && r.shape(1) == L,
                "the last gammas must be [entries, L]");
        last = {view(topic), view(r)};
    }
    Gammas next;
    require(all_below(last.topic, K), "a topic of the last gammas is not below K");
    const Cvb0Words words{{view(table), K}, view(log_scale), view(norm)};
    const Cvb0Options options{L, burn_in, float(least)};
    auto out = unlocked([&] { return cvb0_step(rows, words, priors, options, last, threads, next); });
    return std::make_tuple(give_words(std::move(out.S)), give_docs(std::move(out.docs)), out.entropy, out.iterations,
                           std::make_tuple(give(std::move(next.topic), nnz, L), give(std::move(next.r), nnz, L)));
}

}  // namespace

void register_scvb0(nb::module_& m) {
    nb::class_<Scvb0Options>(m, "SCVB0Options", "Step sizes of documents; see cpp/steps/scvb0.hpp.")
        .def(
            "__init__",
            [](Scvb0Options* self, double scale, double offset, double decay, int burn_in, size_t L, uint64_t seed) {
                require(scale > 0 && offset > 0 && decay >= 0,
                        "a step size needs scale > 0, offset > 0 and decay >= 0");
                require(burn_in >= 0, "burn_in must not be negative");
                new (self) Scvb0Options{scale, offset, decay, burn_in, L, seed};
            },
            "scale"_a, "offset"_a, "decay"_a, "burn_in"_a, "L"_a, "seed"_a);
    m.def("scvb0_step", &bind_scvb0_step, "shard"_a, "table"_a, "alpha"_a, "options"_a, "pass_"_a, "threads"_a,
          "scratch"_a, "averages"_a.noconvert().none(), "own"_a = nb::none(),
          "One minibatch by SCVB0: (word statistics), (documents' topics), entropy, gammas computed.");
    m.def("cvb0_step", &bind_cvb0_step, "shard"_a, "words"_a, "alpha"_a, "L"_a, "burn_in"_a, "last"_a.none(),
          "threads"_a, "own"_a = nb::none(),
          "One shard by CVB0: (word statistics), (documents' topics), entropy, sweeps, (topics and shares of gamma).");
}

}  // namespace topmix
