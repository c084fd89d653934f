// Local step of mixtures: assign rows, then sum what they give.
#include <nanobind/stl/optional.h>

#include <optional>

#include "bind/topic_arrays.hpp"
#include "chains/row_clusters.hpp"
#include "models/categorical.hpp"
#include "models/word_stats.hpp"
#include "steps/mixture.hpp"

namespace topmix {

namespace {

auto assign_categorical(Vec<const int64_t> indptr, Vec<const int32_t> index, Vec<const float> value,
                        Mat<const float> Elogphi, Vec<const double> offset, Vec<const float> Elogpi, size_t L,
                        Threads threads) {
    const size_t words = Elogphi.shape(0), K = Elogphi.shape(1);
    require(Elogpi.size() == K && offset.size() == words, "Elogphi, offset and Elogpi disagree on (words, K)");
    require(1 <= L && L <= K, "need 1 <= L <= K");
    const Csr<float> X = csr(indptr, index, value, words);
    require(are_counts(X.value), "counts must be finite and not negative");
    const size_t n = X.rows();

    std::vector<int32_t> cluster(n * L);
    std::vector<float> r(n * L);
    std::vector<double> entropy(n), likelihood(n);
    {
        nb::gil_scoped_release nogil;
        assign_rows(Categorical{view(Elogphi), view(offset), K}, view(Elogpi), X, L, threads,
                    {cluster, r, entropy, likelihood});
    }
    return std::make_tuple(give(std::move(cluster), n, L), give(std::move(r), n, L), give(std::move(entropy)),
                           give(std::move(likelihood)));
}

void bind_categorical_table(bool is_point, Mat<const double> raw, double factor, Vec<const double> eta,
                            Vec<const double> norm, Vec<const int32_t> cols, int threads, Mat<float> table,
                            Vec<double> offset) {
    const size_t V = raw.shape(0), K = raw.shape(1);
    require(eta.size() == V && norm.size() == K, "raw, eta and norm disagree on (V, K)");
    require(table.shape(0) == cols.size() && table.shape(1) == K && offset.size() == cols.size(),
            "table and offset must have a row for each of cols");
    require(all_below(std::span<const int32_t>(view(cols)), V), "a word lies outside the vocabulary");
    nb::gil_scoped_release nogil;
    categorical_table(is_point, {view(raw), K}, factor, view(eta), view(norm), view(cols), threads, {view(table), K},
                      view(offset));
}

auto sum_rows_by_word(Vec<const int64_t> starts, Vec<const int32_t> order, Vec<const int32_t> row,
                      Vec<const float> value, Mat<const int32_t> cluster, Mat<const float> r,
                      std::optional<Vec<const double>> weight, size_t K, Threads threads) {
    const size_t L = cluster.shape(1), n = cluster.shape(0);
    require(r.shape(0) == n && r.shape(1) == L, "cluster and r disagree");
    require(starts.size() >= 1 && row.size() == value.size(), "starts, row and value disagree");
    check_words(starts, order, starts.size() - 1, value.size());
    require(all_below(std::span<const int32_t>(view(row)), n), "a row is not there");
    require(all_below(std::span<const int32_t>(view(cluster)), K), "a cluster is not below K");
    require(!weight || weight->size() == n, "need one weight a row");
    check_topic_count(K);
    const std::span<const double> w = weight ? view(*weight) : std::span<const double>();
    const std::span<const int32_t> k = view(cluster), row_of = view(row);
    const std::span<const float> x = view(value), share = view(r);
    return give_words(unlocked([&] {
        return sum_by_word(view(starts), view(order), K, threads, [=](int32_t i, Row& S) {
            const size_t d = size_t(row_of[size_t(i)]);
            const double c = double(x[size_t(i)]) * (w.empty() ? 1.0 : w[d]);
            // S_vk += w_n x_nv r_nk
            for (size_t l = 0; l < L; ++l) S.add(size_t(k[d * L + l]), c * double(share[d * L + l]));
        });
    }));
}

using Cube = nb::ndarray<double, nb::numpy, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

void sample_row_clusters(Vec<const int64_t> indptr, Vec<const int32_t> index, Vec<const float> value,
                         std::optional<Vec<const double>> weight, Vec<const double> eta, double eta_total,
                         double weight_prior, double power, uint64_t seed, uint32_t sweep, int threads, Cube S,
                         Mat<double> total, Mat<double> N, Mat<int32_t> z) {
    const size_t chains = S.shape(0), words = S.shape(1), K = S.shape(2);
    const Csr<float> X = csr(indptr, index, value, words);
    const size_t n = X.rows();
    require(total.shape(0) == chains && total.shape(1) == K && N.shape(0) == chains && N.shape(1) == K,
            "S, total and N disagree on (chains, K)");
    require(z.shape(0) == chains && z.shape(1) == n, "need one cluster a row and chain");
    require(K >= 1 && all_below(std::span<const int32_t>(view(z)), K), "a cluster is not below K");
    require(!weight || weight->size() == n, "need one weight a row");
    require(eta.size() == words && eta_total > 0 && weight_prior > 0, "need a prior above 0 for each word");
    nb::gil_scoped_release nogil;
    const RowPrior prior{view(eta), eta_total, weight_prior};
    const auto w = weight ? view(*weight) : std::span<const double>();
    parallel_for(chains, 1, threads, [&](size_t begin, size_t end, size_t) {
        for (size_t c = begin; c < end; ++c)
            RowSampler(X, w, prior,
                       {{view(S).subspan(c * words * K, words * K), K},
                        view(total).subspan(c * K, K),
                        view(N).subspan(c * K, K),
                        view(z).subspan(c * n, n)})
                .sweep(power, seed + c, sweep);
    });
}

}  // namespace

void register_mixture(nb::module_& m) {
    m.def("categorical_table", &bind_categorical_table, "is_point"_a, "raw"_a, "factor"_a, "eta"_a, "norm"_a, "cols"_a,
          "threads"_a, "table"_a.noconvert(), "offset"_a.noconvert(),
          "Fills table [words, K] with E[log phi] of the words cols, less offset [words], the largest of each.");
    m.def("assign_categorical", &assign_categorical, "indptr"_a, "index"_a, "value"_a, "Elogphi"_a, "offset"_a,
          "Elogpi"_a, "L"_a, "threads"_a,
          "Rows of a shard to their L best clusters: (cluster [N, L], r [N, L], entropy [N], log likelihood [N]).");
    m.def("sum_rows_by_word", &sum_rows_by_word, "starts"_a, "order"_a, "row"_a, "value"_a, "cluster"_a, "r"_a,
          "weight"_a.none(), "K"_a, "threads"_a,
          "Word-cluster statistics of assigned rows: sparse rows (indptr, topic, value) and their totals [K].");
    m.def(
        "sample_row_clusters", &sample_row_clusters, "indptr"_a, "index"_a, "value"_a, "weight"_a.none(), "eta"_a,
        "eta_total"_a, "weight_prior"_a, "power"_a, "seed"_a, "sweep"_a, "threads"_a, "S"_a.noconvert(),
        "total"_a.noconvert(), "N"_a.noconvert(), "z"_a.noconvert(),
        "One sweep of collapsed Gibbs sampling in each of some chains: rows with the clusters z [chains, rows] and what"
        " they add up to, S [chains, words, K], total and N [chains, K].");
}

}  // namespace topmix
