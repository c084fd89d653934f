// Grouping and sums: a stable sort, and one answer for any number of threads.
#include "base/accumulate.hpp"

#include <numeric>

#include "base/rng.hpp"
#include "tests/check.hpp"

using namespace topmix;

namespace {

template <class Order>
void grouped_sums_are_those_of_a_plain_loop(size_t n, size_t n_bins) {
    Rng rng(n, 0, n_bins);
    std::vector<int32_t> ids(n);
    std::vector<float> x(n);
    for (size_t i = 0; i < n; ++i) ids[i] = int32_t(rng.below(uint32_t(n_bins))), x[i] = rng.uniform_float();
    std::vector<float> want(n_bins);
    for (size_t i = 0; i < n; ++i) want[size_t(ids[i])] += x[i];
    std::vector<Order> sorted(n);
    std::iota(sorted.begin(), sorted.end(), Order(0));
    std::ranges::stable_sort(sorted, [&](Order a, Order b) { return ids[size_t(a)] < ids[size_t(b)]; });

    const double total = parallel_sum(std::span<const float>(x), 1);
    for (int threads : {1, 2, 7}) {
        std::vector<int64_t> starts(n_bins + 1);
        std::vector<Order> order(n);
        group_by(std::span<const int32_t>(ids), n_bins, threads, std::span(starts), std::span(order));
        check(order == sorted && starts[0] == 0 && starts[n_bins] == int64_t(n));
        std::vector<float> got(n_bins);
        owner_accumulate(std::span<const int64_t>(starts), std::span<const Order>(order), threads,
                         [&](size_t b, size_t i) { got[b] += x[i]; });
        check(got == want);
        check(parallel_sum(std::span<const float>(x), threads) == total);
    }
    check(std::abs(total - std::accumulate(x.begin(), x.end(), 0.0)) <= 1e-10 * total);
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
            grouped_sums_are_those_of_a_plain_loop<int32_t>(n, n_bins);
            grouped_sums_are_those_of_a_plain_loop<int64_t>(n, n_bins);
        }
    a_bad_id_is_refused();
}
