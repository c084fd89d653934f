// How documents are solved, and what a document knows of its own tokens in the table.
#pragma once
#include <cstddef>
#include <span>

#include "global/posterior.hpp"

namespace topmix {

struct TopicOptions {
    Posterior posterior = Posterior::collapsed;
    bool exclude = true;        // collapsed: a token does not count itself among its document's topics
    bool select_often = false;  // choose the top L in iterations 0-4 and every tenth, not only at the end
    bool mean_change = false;   // stop on the mean change over all K topics (scikit-learn's rule), not the largest
    size_t L = 16;
    float eps = 0;  // topics with at most this many tokens leave the document
    int max_iter = 100;
    float tol = 0.05f;
    int restarts = 0;        // smallest topics to try without
    int restart_iter = 3;    // iterations before a restart is judged
    float own_discount = 0;  // collapsed: the part of its own last visit that a document does not see in the table
};

/// The document's own tokens in the table of its shard: e_vk has c r / norm_k / scale_v for c r tokens.
struct OwnTokens {
    std::span<const float> by_topic;  // [K] 1 / norm_k
    std::span<const float> by_word;   // [words] 1 / scale_v
    float least = 0;                  // the smallest prior count of a word, which always stays
};

}  // namespace topmix
