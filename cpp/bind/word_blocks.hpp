// Checks of what asynchronous topics are made from.
#pragma once
#include <algorithm>
#include <vector>

#include "asynchronous/topic_shard.hpp"
#include "bind/sparse_rows.hpp"

namespace topmix {

inline void check_priors(const Vec<const double>& alpha, const Mat<const double>& eta, size_t V, size_t K) {
    require(alpha.size() == K, "alpha must have one value a topic");
    require(eta.size() > 0 && (eta.shape(0) == V || eta.shape(0) == 1) && (eta.shape(1) == K || eta.shape(1) == 1),
            "eta must be [V or 1, K or 1]");
    require(are_counts(view(alpha)) && are_counts(view(eta)), "alpha and eta must be finite and not negative");
}

/// Which words travel together: block b has words[starts[b]] to words[starts[b + 1] - 1].
struct WordBlockArrays {
    Vec<const int64_t> starts;
    Vec<const int32_t> words;

    asynchronous::WordBlocks checked(size_t V) const {
        require(starts.size() >= 2 && rises(view(starts), words.size()), "starts must rise from 0 to len(words)");
        for (size_t b = 1; b < starts.size(); ++b)
            require(size_t(starts.data()[b] - starts.data()[b - 1]) <= asynchronous::kMostSlots,
                    "a block has too many words");
        require(all_below(view(words), V), "words must be from 0 to V - 1");
        std::vector<bool> seen(V, false);
        for (const int32_t v : view(words)) {
            require(!seen[size_t(v)], "words must be different");
            seen[size_t(v)] = true;
        }
        return {{view(starts).begin(), view(starts).end()}, {view(words).begin(), view(words).end()}};
    }
};

}  // namespace topmix
