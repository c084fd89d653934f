// Shards and their statistics: localise, and adding sparse word rows to a dense total.
#include <algorithm>

#include "bind/arrays.hpp"
#include "data/localise.hpp"
#include "models/word_stats.hpp"

namespace topmix {

void register_shard(nb::module_& m) {
    m.attr("MAX_TOPICS") = kMaxTopics;

    m.def(
        "localise",
        [](Vec<const int32_t> index, size_t n_words) {
            Localised out;
            {
                nb::gil_scoped_release nogil;
                require(n_words <= size_t(INT32_MAX), "a word is named by 32 bits");
                require(index.size() < (size_t(1) << 31), "a shard holds at most 2^31 - 1 entries: use more shards");
                std::vector<int32_t> ids(view(index).begin(), view(index).end());  // that nobody else can change
                require(all_below(std::span<const int32_t>(ids), n_words), "a column id lies outside the vocabulary");
                out = localise(std::move(ids), n_words);
            }
            return std::make_tuple(give(std::move(out.cols)), give(std::move(out.local)), give(std::move(out.starts)),
                                   give(std::move(out.order)));
        },
        "index"_a, "n_words"_a,
        "The vocabulary of a shard: (cols, local ids, starts, order). Equivalent to np.unique(index, "
        "return_inverse=True)"
        " and a stable argsort of the local ids.");

    m.def(
        "add_word_stats",
        [](Vec<const int32_t> cols, Vec<const int64_t> indptr, Vec<const TopicId> topic, Vec<const float> value,
           double weight, Threads threads, Mat<double> total) {
            const size_t words = total.shape(0), K = total.shape(1);
            require(
                indptr.size() == cols.size() + 1 && topic.size() == value.size() && rises(view(indptr), topic.size()),
                "cols, indptr, topic and value disagree");
            require(all_below(view(topic), K), "a topic lies outside the total");
            require(all_below(view(cols), words), "a word lies outside the total");
            nb::gil_scoped_release nogil;
            add_word_stats(view(cols), view(indptr), view(topic), view(value), weight, threads, {view(total), K});
        },
        "cols"_a, "indptr"_a, "topic"_a, "value"_a, "weight"_a, "threads"_a, "total"_a.noconvert(),
        "total[cols[j], topic[i]] += weight * value[i] for the pairs i of word j.");

    m.def(
        "add_scaled",
        [](Vec<const double> x, double a, Threads threads, Vec<double> y) {
            require(x.size() == y.size(), "x and y differ in length");
            nb::gil_scoped_release nogil;
            const double* from = x.data();
            double* to = y.data();
            parallel_for(x.size(), 1 << 16, threads, [=](size_t begin, size_t end, size_t) {
#pragma omp simd
                for (size_t i = begin; i < end; ++i) to[i] += a * from[i];
            });
        },
        "x"_a, "a"_a, "threads"_a, "y"_a.noconvert(), "y += a * x");
}

}  // namespace topmix
