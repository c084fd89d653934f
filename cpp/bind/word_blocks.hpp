// Checks of what asynchronous topics are made from.
#pragma once
#include <algorithm>
#include <vector>

#include "asynchronous/topic_shard.hpp"
#include "bind/arrays.hpp"

namespace topmix {

inline bool rises_to(std::span<const int64_t> x, int64_t last) {
    return x.size() >= 2 && x.front() == 0 && x.back() == last && std::is_sorted(x.begin(), x.end());
}

inline void check_priors(const Vec<const double>& alpha, const Mat<const double>& eta, size_t V, size_t K) {
    require(alpha.size() == K, "alpha must have one value a topic");
    require((eta.shape(0) == V || eta.shape(0) == 1) && (eta.shape(1) == K || eta.shape(1) == 1),
            "eta must be [V or 1, K or 1]");
}

inline asynchronous::WordBlocks word_blocks(const Vec<const int64_t>& starts, const Vec<const int32_t>& words,
                                            size_t V) {
    require(rises_to(view(starts), int64_t(words.size())), "block_starts must rise from 0 to len(words)");
    for (size_t b = 1; b < starts.size(); ++b)
        require(size_t(starts.data()[b] - starts.data()[b - 1]) <= asynchronous::kMostSlots,
                "a block has too many words");
    std::vector<bool> seen(V, false);
    for (const int32_t v : view(words)) {
        require(v >= 0 && size_t(v) < V && !seen[size_t(v)], "words must be different, and from 0 to V - 1");
        seen[size_t(v)] = true;
    }
    return {{view(starts).begin(), view(starts).end()}, {view(words).begin(), view(words).end()}};
}

}  // namespace topmix
