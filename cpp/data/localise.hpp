// A shard speaks its own vocabulary: which words do these rows use, and where is each of them?
//
// cols lists the words in use, ascending; local[i] is the position of index[i] in cols. `order` lists the entries word
// by word (a transpose of the pattern), so that statistics of one word can be summed by one owner, in row order.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "base/views.hpp"

namespace topmix {

struct Localised {
    std::vector<int32_t> cols;    // [n] global ids of the words in use
    std::vector<int32_t> local;   // [nnz] local id of each entry
    std::vector<int64_t> starts;  // [n + 1] where the entries of local word j begin in `order`
    std::vector<int32_t> order;   // [nnz] entries grouped by word, in row order
};

/// Needs every id in [0, V) and fewer than 2^31 entries. The ids become local ones.
inline Localised localise(std::vector<int32_t> index, size_t V) {
    std::vector<int32_t> local_of(V, 0);
    for (const int32_t v : index) ++local_of[v];

    Localised out;
    out.starts.push_back(0);
    for (size_t v = 0; v < V; ++v)
        if (const int32_t count = local_of[v]; count > 0) {
            local_of[v] = int32_t(out.cols.size());
            out.cols.push_back(int32_t(v));
            out.starts.push_back(out.starts.back() + count);
        }

    out.order.resize(index.size());
    std::vector<int64_t> next(out.starts.begin(), out.starts.end() - 1);
    for (size_t i = 0; i < index.size(); ++i) {
        const int32_t j = index[i] = local_of[index[i]];
        out.order[next[j]++] = int32_t(i);
    }
    out.local = std::move(index);
    return out;
}

}  // namespace topmix
