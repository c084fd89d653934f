// Grouping for owner-computes sums: the same bits for any number of threads, no atomics, no copy of the bins for each
// thread.
//
// Items are grouped by the bin that they go to, keeping their order; then each bin has one owner, who adds its items in
// order. Who owns which bin may change from run to run; what is added, and in which order, may not.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/parallel.hpp"

namespace topmix {

/// A stable counting sort: bin b holds items order[starts[b]], ..., order[starts[b + 1] - 1], ascending.
/// Ids is int32_t or wider, each in [0, n_bins) (else std::out_of_range); Order is int32_t or int64_t.
///
/// Items are cut into a few blocks, the same for any number of threads. Each block counts its bins; a running sum over
/// (bin, block) says where each block writes. Scratch: at most max(n / 4, n_bins) counts.
template <class Id, class Order>
void group_by(std::span<const Id> ids, size_t n_bins, int threads, std::span<int64_t> starts, std::span<Order> order) {
    const size_t n = ids.size();
    if (starts.size() != n_bins + 1 || order.size() != n) throw std::invalid_argument("group_by: wrong output length");
    if (n > size_t(std::numeric_limits<Order>::max()))
        throw std::invalid_argument("group_by: too many items for the order");
    const size_t blocks = std::clamp<size_t>(n / std::max<size_t>(4 * n_bins, 4096), 1, 64);
    const size_t block = (n + blocks - 1) / blocks;
    std::vector<int64_t> next(blocks * n_bins);  // [blocks, n_bins]: first counts, then where the block writes next

    parallel_for(n, block, threads, [&](size_t begin, size_t end, size_t) {
        int64_t* count = next.data() + begin / block * n_bins;
        for (size_t i = begin; i < end; ++i) {
            if (ids[i] < 0 || size_t(ids[i]) >= n_bins)
                throw std::out_of_range("group_by: an id is outside [0, n_bins)");
            ++count[size_t(ids[i])];
        }
    });
    int64_t at = 0;
    for (size_t b = 0; b < n_bins; ++b) {
        starts[b] = at;
        for (size_t k = 0; k < blocks; ++k) at += std::exchange(next[k * n_bins + b], at);
    }
    starts[n_bins] = at;
    parallel_for(n, block, threads, [&](size_t begin, size_t end, size_t) {
        int64_t* to = next.data() + begin / block * n_bins;
        for (size_t i = begin; i < end; ++i) order[size_t(to[size_t(ids[i])]++)] = Order(i);
    });
}

}  // namespace topmix
