// What CVB0 and SCVB0 share: a warp reads the words of a document one after another, weighs all K topics for each, and
// keeps the L best. The document's tokens in topics are integers, as the memo's are.
#pragma once
#include "arguments.hpp"
#include "best.hpp"
#include "rounding.hpp"
#include "terms.hpp"

constexpr int kTokenWarps = 4;  // documents of a block at a time, at most

struct TokenDocument {
    const TokenArgs& a;
    const int lane;
    const Scores<float> row;  // weights of the topics
    u64* const mass;          // [K] tokens of the document, of 1 / unit
    int at = 0, U = 0;        // its entries
    int k = 0;                // lane l has the l-th best topic of the word at hand
    float w = 0;              // its weight
    float sum = 0;            // of these weights

    __device__ TokenDocument(const TokenArgs& args, float* memory, int which)
        : a(args),
          lane(which),
          row{memory + 2 * args.K, args.K, args.chunk, which},
          mass(reinterpret_cast<u64*>(memory)) {
        row.fill_up();
    }

    /// Floats of shared memory, even.
    static __host__ __device__ int room(int K, int chunk) { return 2 * K + 32 * chunk; }

    __device__ void open(int d) {
        at = a.indptr[d], U = a.indptr[d + 1] - at;
        __syncwarp();
        for (int j = lane; j < a.K; j += 32) mass[j] = 0;
        __syncwarp();
    }

    /// The L best of the weights in `row`.
    __device__ void choose() {
        __syncwarp();
        sum = 0, w = 0;
        choose_best(row, kL, [&](int l, float x, int topic) {
            if (l == lane) k = topic, w = x;
            sum += x;
        });
        sum = fmaxf(sum, kTiny);
        __syncwarp();
    }

    /// Lane l's share of c tokens. Every lane is here.
    __device__ u32 share(float c) const {
        Rounding rounding(c, a.unit, sum);
        u32 mine = 0;
#pragma unroll
        for (int l = 0; l < kL; ++l) {
            const u32 x = rounding(__shfl_sync(kAll, w, l), l == kL - 1);
            if (l == lane) mine = x;
        }
        return mine;
    }

    __device__ void keep(int u, u32 x) {
        if (lane < kL) {
            const i64 to = lane * a.n_entries + at + u;
            a.memo_topic[to] = TopicId(k), a.memo_share[to] = x;
            mass[k] += x;  // each lane has another topic
        }
        if (lane == 0) a.memo_n[at + u] = (unsigned char)kL;
        __syncwarp();
    }

    /// -sum_l r_l log r_l
    __device__ float entropy() const { return -over_warp(lane < kL ? plogp(w / sum) : 0.f, Sum()); }

    __device__ void close(TeamSums& sums) {
        double within = 0, gammas = 0;
        u64 tokens = 0;
        for (int j = lane; j < a.K; j += 32)
            if (const u64 x = mass[j]) {
                tokens += x;
                add_topic(a, j, x, within, gammas);
            }
        sums.within += fixed(over_warp(within, Sum()), kSums);
        add_length(a, double(over_warp(tokens, Sum())) / double(a.unit), sums);
    }
};

/// Calls visit(d) for documents that nobody has taken yet.
template <class Visit>
__device__ inline void each_document(const TokenArgs& a, int lane, Visit&& visit) {
    for (;;) {
        const int taken = __shfl_sync(kAll, lane == 0 ? atomicAdd(a.next, 1) : 0, 0);
        if (taken >= a.n_rows) return;
        visit(a.rows[taken]);
    }
}
