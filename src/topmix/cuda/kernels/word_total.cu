// The running total of words in topics, dense and of integers: what shards bring is added in any order, and taking it
// out again leaves the same bits.
#include "arguments.hpp"

/// total += weight * new, entry by entry. `is_whole`: the weight is one, and shares of the last visit are taken out in
/// the same go, so that a topic that a word keeps costs one addition for two.
extern "C" __global__ void __launch_bounds__(256) add_memo(MemoArgs a) {
    const i64 step = i64(gridDim.x) * blockDim.x;
    for (i64 e = i64(blockIdx.x) * blockDim.x + threadIdx.x; e < a.n_entries; e += step) {
        i64* S = a.counts + i64(a.cols[a.index[e]]) * a.K;
        const int n = a.new_n[e], n_old = a.old_n ? a.old_n[e] : 0;
        for (int l = 0; l < n; ++l) {
            const TopicId k = a.new_topic[l * a.n_entries + e];
            const u32 share = a.new_share[l * a.n_entries + e];
            i64 x = a.is_whole ? i64(share) : i64(rint(double(share) * a.weight));
            for (int m = 0; m < n_old; ++m)
                if (a.old_topic[m * a.n_entries + e] == k) x -= i64(a.old_share[m * a.n_entries + e]);
            if (x) add(&S[k], x);
        }
        for (int m = 0; m < n_old; ++m) {
            const TopicId k = a.old_topic[m * a.n_entries + e];
            bool stays = false;
            for (int l = 0; l < n; ++l) stays |= a.new_topic[l * a.n_entries + e] == k;
            const i64 share = i64(a.old_share[m * a.n_entries + e]);
            if (!stays && share) add(&S[k], -share);
        }
    }
}

/// The same where every token has one topic.
extern "C" __global__ void __launch_bounds__(256) add_tokens(MemoArgs a) {
    const i64 step = i64(gridDim.x) * blockDim.x, amount = i64(rint(a.unit * a.weight));
    for (i64 t = i64(blockIdx.x) * blockDim.x + threadIdx.x; t < a.n_entries; t += step) {
        i64* S = a.counts + i64(a.cols[a.word[t]]) * a.K;
        const int to = a.new_z[t], from = a.old_z ? a.old_z[t] : -1;
        if (to == from) continue;
        add(&S[to], amount);
        if (from >= 0) add(&S[from], -amount);
    }
}

/// counts *= weight, rounded.
extern "C" __global__ void __launch_bounds__(256) scale_counts(MemoArgs a) {
    const i64 step = i64(gridDim.x) * blockDim.x;
    for (i64 i = i64(blockIdx.x) * blockDim.x + threadIdx.x; i < a.n_entries; i += step)
        a.counts[i] = i64(rint(double(a.counts[i]) * a.weight));
}
