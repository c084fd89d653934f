// In how many documents words occur together, as results/coherence.py: a row of bits for each word, one for each
// document, and the bits that two rows share.
#include "arguments.hpp"
#include "team.hpp"

/// A warp has a document.
extern "C" __global__ void __launch_bounds__(256) mark_words(TogetherArgs a) {
    const int lane = int(threadIdx.x) % 32, n_warps = int(gridDim.x) * 8;
    for (int d = int(blockIdx.x) * 8 + int(threadIdx.x) / 32; d < a.n_rows; d += n_warps)
        for (i64 i = a.indptr[d] + lane; i < a.indptr[d + 1]; i += 32) {
            const int at = a.place[a.index[i]];
            if (at >= 0) atomicOr(&a.bits[at * a.pitch + d / 32], 1u << (d % 32));
        }
}

/// A block has a topic, and a warp a pair of its words.
extern "C" __global__ void __launch_bounds__(256) count_together(TogetherArgs a) {
    const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
    for (int t = int(blockIdx.x); t < a.n_topics; t += int(gridDim.x)) {
        const int* word = a.topic_word + a.topic_first[t];
        const int n = int(a.topic_first[t + 1] - a.topic_first[t]);
        i64* out = a.together + a.out_first[t];
        for (int pair = warp; pair < n * n; pair += 8) {
            const int i = pair / n, j = pair % n;
            if (j > i) continue;
            const u32 *x = a.bits + word[i] * a.pitch, *y = a.bits + word[j] * a.pitch;
            int both = 0;
            for (i64 b = lane; b < a.pitch; b += 32) both += __popc(x[b] & y[b]);
            both = over_warp(both, Sum());
            if (lane == 0) {
                out[pair] += both;
                if (i != j) out[j * n + i] += both;
            }
        }
    }
}
