// Grouping and deterministic sums.
#include "base/accumulate.hpp"

#include "bind/arrays.hpp"

namespace topmix {

namespace {

template <class Order>
void group_by_ids(Vec<const int32_t> ids, size_t n_bins, Vec<int64_t> starts, Vec<Order> order, Threads threads) {
    const auto from = view(ids);
    const auto first = view(starts);
    const auto to = view(order);
    nb::gil_scoped_release nogil;
    group_by(from, n_bins, threads, first, to);
}

/// out[ids[i]] += values[i]
void add_by_id(Vec<const int32_t> ids, Vec<const double> values, Vec<double> out, Threads threads) {
    require(ids.size() == values.size(), "ids and values must have the same length");
    const auto from = view(ids);
    const auto v = view(values);
    const auto to = view(out);
    nb::gil_scoped_release nogil;
    std::vector<int64_t> starts(to.size() + 1), order(from.size());
    group_by(from, to.size(), threads, std::span(starts), std::span(order));
    owner_accumulate(std::span<const int64_t>(starts), std::span<const int64_t>(order), threads,
                     [&](size_t b, size_t i) { to[b] += v[i]; });
}

template <class T>
double sum(Vec<const T> x, Threads threads) {
    const auto from = view(x);
    nb::gil_scoped_release nogil;
    return parallel_sum(from, threads);
}

}  // namespace

void register_accumulate(nb::module_& m) {
    const char* doc =
        "order = argsort(ids, stable); bin b holds order[starts[b]:starts[b + 1]]. IndexError on a bad id.";
    m.def("group_by", &group_by_ids<int32_t>, "ids"_a.noconvert(), "n_bins"_a, "starts"_a.noconvert(),
          "order"_a.noconvert(), "threads"_a = 1, doc);
    m.def("group_by", &group_by_ids<int64_t>, "ids"_a.noconvert(), "n_bins"_a, "starts"_a.noconvert(),
          "order"_a.noconvert(), "threads"_a = 1, doc);
    m.def("add_by_id", &add_by_id, "ids"_a.noconvert(), "values"_a.noconvert(), "out"_a.noconvert(), "threads"_a = 1,
          "out[ids[i]] += values[i], in order of i: the same bits for any number of threads.");
    m.def("sum", &sum<float>, "x"_a.noconvert(), "threads"_a = 1,
          "A float64 sum with the same bits for any number of threads.");
    m.def("sum", &sum<double>, "x"_a.noconvert(), "threads"_a = 1);
}

}  // namespace topmix
