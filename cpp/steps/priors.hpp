// The priors of documents on topics: one for all, or one of several for each.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/views.hpp"

namespace topmix {

struct Priors {
    std::span<const float> shared;      // [K] of all documents, or their mean
    Rows<const float> own = {};         // [priors, K]
    std::span<const int32_t> row = {};  // [documents] which of them a document has; empty: the shared one

    bool differ() const { return !row.empty(); }
    std::span<const float> operator[](size_t d) const { return own[size_t(row[d])]; }
};

}  // namespace topmix
