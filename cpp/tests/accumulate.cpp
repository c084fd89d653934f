// Grouping: a stable sort, for any number of threads.
#include "base/accumulate.hpp"

#include <numeric>

#include "base/rng.hpp"
#include "tests/check.hpp"

using namespace topmix;

namespace {

template <class Order>
void grouping_is_a_stable_sort(size_t n, size_t n_bins) {
    Rng rng(n, 0, n_bins);
    std::vector<int32_t> ids(n);
    for (int32_t& id : ids) id = int32_t(rng.below(uint32_t(n_bins)));
    std::vector<Order> sorted(n);
    std::iota(sorted.begin(), sorted.end(), Order(0));
    std::ranges::stable_sort(sorted, [&](Order a, Order b) { return ids[size_t(a)] < ids[size_t(b)]; });
    for (int threads : {1, 2, 7}) {
        std::vector<int64_t> starts(n_bins + 1);
        std::vector<Order> order(n);
        group_by(std::span<const int32_t>(ids), n_bins, threads, std::span(starts), std::span(order));
        check(order == sorted && starts[0] == 0 && starts[n_bins] == int64_t(n));
        for (size_t b = 0; b < n_bins; ++b)
            for (int64_t i = starts[b]; i < starts[b + 1]; ++i) check(ids[size_t(order[size_t(i)])] == int32_t(b));
    }
}

void a_bad_id_is_refused() {
    const std::vector<int32_t> ids{0, 3, 1};
    std::vector<int64_t> starts(4);
    std::vector<int32_t> order(3);
    try {
        group_by(std::span(ids), 3, 2, std::span(starts), std::span(order));
        check(false, "accepted id 3 of 3 bins");
    } catch (const std::out_of_range&) {
    }
}

}  // namespace

int main() {
    for (size_t n : {0, 1, 1'000, 50'003})
        for (size_t n_bins : {1, 7, 2'000}) {
            grouping_is_a_stable_sort<int32_t>(n, n_bins);
            grouping_is_a_stable_sort<int64_t>(n, n_bins);
        }
    a_bad_id_is_refused();
}
