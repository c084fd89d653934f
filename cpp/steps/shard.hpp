// Rows that are visited together, as kernels see them.
#pragma once
#include <cstdint>
#include <span>

#include "base/views.hpp"

namespace topmix {

/// Documents with local word ids, and their entries word by word, as `localise` gives them.
struct Shard {
    Csr<float> X;
    std::span<const int64_t> starts;  // [words + 1] where each word's entries begin in `order`
    std::span<const int32_t> order;   // [nnz] entries
};

}  // namespace topmix
