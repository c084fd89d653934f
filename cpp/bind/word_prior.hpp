// Prior counts of words, given as an array that may repeat along words or topics.
#pragma once
#include "bind/arrays.hpp"
#include "global/topic_table.hpp"

namespace topmix {

inline WordPrior word_prior(const Mat<const double>& eta, size_t words, size_t K) {
    require((eta.shape(0) == words || eta.shape(0) == 1) && (eta.shape(1) == K || eta.shape(1) == 1),
            "eta must be [V or 1, K or 1]");
    return {eta.data(), eta.shape(0) == 1 ? 0 : eta.shape(1), eta.shape(1) == 1 ? size_t(0) : size_t(1)};
}

}  // namespace topmix
