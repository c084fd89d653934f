// Rows of a corpus that is on the device, as a shard of their own: which words they have, and their entries with the
// numbers that these words have in the shard. A warp has a row.
#include "arguments.hpp"
#include "team.hpp"

constexpr int kGatherWarps = 8;

template <class Visit>
__device__ inline void each_row(const GatherArgs& a, Visit&& visit) {
    const int first = int(blockIdx.x) * kGatherWarps + int(threadIdx.x) / 32;
    for (int r = first; r < a.n_rows; r += int(gridDim.x) * kGatherWarps)
        visit(r, a.indptr[a.rows[r]], a.indptr[a.rows[r] + 1]);
}

/// used[v] = 1 for words of these rows, and the tokens of each row.
extern "C" __global__ void __launch_bounds__(32 * kGatherWarps) mark_used(GatherArgs a) {
    const int lane = int(threadIdx.x) % 32;
    each_row(a, [&](int r, i64 begin, i64 end) {
        double tokens = 0;
        for (i64 i = begin + lane; i < end; i += 32) a.used[a.index[i]] = 1, tokens += double(a.value[i]);
        tokens = over_warp(tokens, Sum());
        if (lane == 0) a.lengths[r] = tokens;
    });
}

extern "C" __global__ void __launch_bounds__(32 * kGatherWarps) gather_rows(GatherArgs a) {
    const int lane = int(threadIdx.x) % 32;
    each_row(a, [&](int r, i64 begin, i64 end) {
        const i64 to = a.new_indptr[r] - begin;
        for (i64 i = begin + lane; i < end; i += 32)
            a.new_index[to + i] = a.local[a.index[i]], a.new_value[to + i] = a.value[i];
    });
}
