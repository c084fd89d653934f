// Local step of mixtures: assign rows, then sum what they give.
#include <nanobind/stl/optional.h>

#include <optional>

#include "bind/arrays.hpp"
#include "global/word_stats.hpp"
#include "likelihoods/categorical.hpp"
#include "local/mixture.hpp"

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
    WordStats out;
    {
        nb::gil_scoped_release nogil;
        const int32_t *k = cluster.data(), *row_of = row.data();
        const float *x = value.data(), *share = r.data();
        const double* w = weight ? weight->data() : nullptr;
        out = sum_by_word(view(starts), view(order), K, threads, [=](int32_t i, Row& S) {
            const size_t d = size_t(row_of[i]);
            const double c = double(x[i]) * (w ? w[d] : 1.0);
            // S_vk += w_n x_nv r_nk
            for (size_t l = 0; l < L; ++l) S.add(size_t(k[d * L + l]), c * double(share[d * L + l]));
        });
    }
    return std::make_tuple(give(std::move(out.indptr)), give(std::move(out.topic)), give(std::move(out.value)),
                           give(std::move(out.totals)));
}

}  // namespace

void register_mixture(nb::module_& m) {
    m.def("assign_categorical", &assign_categorical, "indptr"_a, "index"_a, "value"_a, "Elogphi"_a, "offset"_a,
          "Elogpi"_a, "L"_a, "threads"_a,
          "Rows of a shard to their L best clusters: (cluster [N, L], r [N, L], entropy [N], log likelihood [N]).");
    m.def("sum_rows_by_word", &sum_rows_by_word, "starts"_a, "order"_a, "row"_a, "value"_a, "cluster"_a, "r"_a,
          "weight"_a.none(), "K"_a, "threads"_a,
          "Word-cluster statistics of assigned rows: sparse rows (indptr, topic, value) and their totals [K].");
}

}  // namespace topmix
