// The token-by-token steps of collapsed topic models: SCVB0, which keeps nothing, and CVB0, which keeps every gamma.
#include "local/scvb0.hpp"

#include <nanobind/stl/optional.h>

#include <optional>

#include "bind/arrays.hpp"
#include "local/cvb0.hpp"

namespace topmix {

namespace {

/// Checks that every array fits the shard.
Csr<float> shard_rows(const Vec<const int64_t>& indptr, const Vec<const int32_t>& index, const Vec<const float>& value,
                      const Vec<const int64_t>& starts, const Vec<const int32_t>& order, const Mat<const float>& table,
                      const Vec<const float>& alpha, size_t L) {
    const size_t words = table.shape(0), K = table.shape(1);
    require(alpha.size() == K && K <= kMaxTopics, "alpha and table disagree on K, or K is over MAX_TOPICS");
    require(1 <= L && L <= K, "need 1 <= L <= K");
    check_words(starts, order, words, index.size());
    return csr(indptr, index, value, words);
}

auto give_words(WordStats&& S) {
    return std::make_tuple(give(std::move(S.indptr)), give(std::move(S.topic)), give(std::move(S.value)),
                           give(std::move(S.totals)));
}

auto give_docs(DocTopics&& docs) {
    return std::make_tuple(give(std::move(docs.indptr)), give(std::move(docs.topic)), give(std::move(docs.count)));
}

auto bind_scvb0_step(Vec<const int64_t> indptr, Vec<const int32_t> index, Vec<const float> value,
                     Vec<const int64_t> starts, Vec<const int32_t> order, Mat<const float> table,
                     Vec<const float> alpha, double scale, double offset, double decay, int burn_in, size_t L,
                     uint64_t seed, uint32_t pass, int threads, TopicScratch& scratch,
                     std::optional<Mat<float>> averages) {
    const Csr<float> X = shard_rows(indptr, index, value, starts, order, table, alpha, L);
    require(scale > 0 && offset > 0 && decay >= 0, "a step size needs scale > 0, offset > 0 and decay >= 0");
    require(burn_in >= 0, "burn_in must not be negative");
    const size_t K = alpha.size();
    require(!averages || (averages->shape(0) == X.rows() && averages->shape(1) == K), "averages must be [docs, K]");
    const std::span<float> N = averages ? view(*averages) : std::span<float>();
    TopicResult out;
    {
        nb::gil_scoped_release nogil;
        out = scvb0_step(X, view(starts), view(order), {view(table), K}, view(alpha),
                         {scale, offset, decay, burn_in, L, seed}, pass, threads, scratch, N);
    }
    return std::make_tuple(give_words(std::move(out.S)), give_docs(std::move(out.docs)), out.entropy, out.iterations);
}

using MaybeTopics = std::optional<Mat<const TopicId>>;
using MaybeShares = std::optional<Mat<const float>>;

auto bind_cvb0_step(Vec<const int64_t> indptr, Vec<const int32_t> index, Vec<const float> value,
                    Vec<const int64_t> starts, Vec<const int32_t> order, Mat<const float> table,
                    Vec<const double> log_scale, Vec<const double> norm, Vec<const float> alpha, size_t L, int burn_in,
                    float least, MaybeTopics last_topic, MaybeShares last_r, int threads) {
    const Csr<float> X = shard_rows(indptr, index, value, starts, order, table, alpha, L);
    const size_t K = alpha.size(), nnz = index.size();
    require(log_scale.size() == table.shape(0) && norm.size() == K, "table, log_scale and norm disagree");
    require(burn_in >= 0, "burn_in must not be negative");
    require(least > 0, "the least prior count must be positive");
    GammasView last;
    if (last_topic && last_r) {
        require(last_topic->shape(0) == nnz && last_r->shape(0) == nnz && last_topic->shape(1) == L &&
                    last_r->shape(1) == L,
                "the last gammas must be [entries, L]");
        last = {view(*last_topic), view(*last_r)};
    }
    TopicResult out;
    Gammas next;
    {
        nb::gil_scoped_release nogil;
        for (const TopicId k : last.topic) require(k < K, "a topic of the last gammas is not below K");
        out = cvb0_step(X, view(starts), view(order), {{view(table), K}, view(log_scale), view(norm)}, view(alpha),
                        {L, burn_in, least}, last, threads, next);
    }
    return std::make_tuple(give_words(std::move(out.S)), give_docs(std::move(out.docs)), out.entropy, out.iterations,
                           std::make_tuple(give(std::move(next.topic), nnz, L), give(std::move(next.r), nnz, L)));
}

}  // namespace

void register_scvb0(nb::module_& m) {
    m.def("scvb0_step", &bind_scvb0_step, "indptr"_a, "index"_a, "value"_a, "starts"_a, "order"_a, "table"_a, "alpha"_a,
          "scale"_a, "offset"_a, "decay"_a, "burn_in"_a, "L"_a, "seed"_a, "pass_"_a, "threads"_a, "scratch"_a,
          "averages"_a.noconvert().none(),
          "One minibatch by SCVB0: (word statistics), (documents' topics), entropy, gammas computed.");
    m.def("cvb0_step", &bind_cvb0_step, "indptr"_a, "index"_a, "value"_a, "starts"_a, "order"_a, "table"_a,
          "log_scale"_a, "norm"_a, "alpha"_a, "L"_a, "burn_in"_a, "least"_a, "last_topic"_a.none(), "last_r"_a.none(),
          "threads"_a,
          "One shard by CVB0: (word statistics), (documents' topics), entropy, sweeps, (topics and shares of gamma).");
}

}  // namespace topmix
