// Small random shards and weights for tests of local steps.
#pragma once
#include <cmath>
#include <cstdint>
#include <vector>

#include "base/rng.hpp"
#include "base/views.hpp"
#include "data/localise.hpp"
#include "steps/shard.hpp"

namespace topmix {

/// Rows of up to `longest` entries; some are empty, some have one word.
struct RandomShard {
    std::vector<int64_t> indptr{0};
    std::vector<int32_t> index;
    std::vector<float> value;
    Localised local;

    RandomShard(size_t rows, size_t V, size_t longest, uint64_t seed) {
        for (size_t d = 0; d < rows; ++d) {
            Rng rng(seed, 0, d);
            const size_t n = d % 5 == 2 ? 0 : d % 5 == 3 ? 1 : rng.below(uint32_t(longest)) + 1;
            int32_t v = -1;
            for (size_t i = 0; i < n; ++i) {
                v += 1 + int32_t(rng.below(uint32_t(2 * V / longest + 1)));
                if (size_t(v) >= V) break;
                index.push_back(v);
                value.push_back(float(1 + rng.below(4)));
            }
            indptr.push_back(int64_t(index.size()));
        }
        local = localise(index, V);
    }
    Csr<float> rows() const { return {indptr, local.local, value}; }
    Shard view() const { return {rows(), local.starts, local.order}; }
    size_t words() const { return local.cols.size(); }
};

inline std::vector<float> positive(size_t n, uint64_t seed) {
    Rng rng(seed, 1, 0);
    std::vector<float> x(n);
    for (float& e : x) e = std::exp(6 * rng.uniform_float() - 6);
    return x;
}

}  // namespace topmix
