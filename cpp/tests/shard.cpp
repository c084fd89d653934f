// localise is a stable grouping; sums by word are those of a plain loop, in the same bits for any number of threads.
#include <cmath>
#include <vector>

#include "base/rng.hpp"
#include "data/localise.hpp"
#include "models/word_stats.hpp"
#include "tests/check.hpp"

using namespace topmix;

namespace {

std::vector<int32_t> draw(size_t n, size_t V, uint64_t seed) {
    Rng rng(seed, 0, n);
    std::vector<int32_t> index(n);
    for (int32_t& v : index) v = int32_t(rng.below(uint32_t(V)));
    return index;
}

void localise_groups_entries_by_word(size_t n, size_t V) {
    const auto index = draw(n, V, 1);
    const Localised x = localise(index, V);
    check(x.starts.size() == x.cols.size() + 1 && x.local.size() == n && x.order.size() == n);
    check(x.starts.front() == 0 && x.starts.back() == int64_t(n));
    for (size_t j = 0; j + 1 < x.cols.size(); ++j) check(x.cols[j] < x.cols[j + 1], "cols ascend");
    for (size_t i = 0; i < n; ++i) check(x.cols[size_t(x.local[i])] == index[i]);
    for (size_t j = 0; j < x.cols.size(); ++j) {
        check(x.starts[j] < x.starts[j + 1], "only words in use");
        for (int64_t i = x.starts[j]; i < x.starts[j + 1]; ++i) {
            check(size_t(x.local[size_t(x.order[size_t(i)])]) == j);
            check(i == x.starts[j] || x.order[size_t(i) - 1] < x.order[size_t(i)], "row order");
        }
    }
}

void sums_by_word_are_a_plain_loop(size_t n, size_t V, size_t K) {
    const auto index = draw(n, V, 2), topic = draw(n, K, 3);
    const Localised x = localise(index, V);
    const size_t words = x.cols.size();
    std::vector<double> want(words * K);
    for (size_t i = 0; i < n; ++i) want[size_t(x.local[i]) * K + size_t(topic[i])] += 0.1 * double(i % 7 + 1);
    auto add = [&](int32_t i, Row& S) { S.add(size_t(topic[size_t(i)]), 0.1 * double(i % 7 + 1)); };

    const WordStats one = sum_by_word(x.starts, x.order, K, 1, add);
    check(one.topic.size() <= std::min(n, words * K), "no more pairs than entries or cells");
    std::vector<double> got(V * K), again(V * K);
    add_word_stats(x.cols, one.indptr, one.topic, one.value, 1.0, 1, {got, K});
    for (size_t j = 0; j < words; ++j)
        for (size_t k = 0; k < K; ++k)
            check(std::abs(got[size_t(x.cols[j]) * K + k] - want[j * K + k]) <= 1e-6 * want[j * K + k]);
    for (size_t k = 0; k < K; ++k) {
        double total = 0;
        for (size_t j = 0; j < words; ++j) total += want[j * K + k];
        check(std::abs(one.totals[k] - total) <= 1e-6 * total);
    }

    for (int threads : {2, 7}) {
        const WordStats other = sum_by_word(x.starts, x.order, K, threads, add);
        check(other.indptr == one.indptr && other.topic == one.topic && other.value == one.value &&
              other.totals == one.totals);
        std::fill(again.begin(), again.end(), 0.0);
        add_word_stats(x.cols, one.indptr, one.topic, one.value, 1.0, threads, {again, K});
        check(again == got);
    }
    add_word_stats(x.cols, one.indptr, one.topic, one.value, -1.0, 2, {got, K});
    for (double left : got) check(left == 0, "taking away what was added leaves nothing");
}

}  // namespace

int main() {
    for (auto [n, V] : {std::pair<size_t, size_t>{0, 3}, {1, 1}, {1'000, 7}, {5'003, 901}, {100, 10'000}})
        localise_groups_entries_by_word(n, V);
    for (size_t K : {1, 3, 40})
        for (auto [n, V] : {std::pair<size_t, size_t>{0, 3}, {1, 1}, {1'000, 7}, {5'003, 901}})
            sums_by_word_are_a_plain_loop(n, V, K);
}
