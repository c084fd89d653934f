// Each row to its L best clusters: from scores that products of matrices made, or from words, without scores in memory.
#include "top.hpp"

constexpr int kTopThreads = 256;  // at most
constexpr int kAbreast = 8;       // clusters of a lane at a time, for bags of words

template <class T>
__device__ void top_of_scores(const TopArgs& a) {
    DYNAMIC_SHARED(double, memory);
    const int warp = int(threadIdx.x) / 32, lane = int(threadIdx.x) % 32, warps = int(blockDim.x) / 32;
    const Scores<T> row{reinterpret_cast<T*>(memory) + i64(warp) * 32 * a.C, a.K, a.C, lane};
    const T* constant = static_cast<const T*>(a.constant);
    row.fill_up();
    for (i64 n = i64(blockIdx.x) * warps + warp; n < a.n; n += i64(gridDim.x) * warps) {
        const T* scores = static_cast<const T*>(a.scores) + n * a.pitch;
        if (a.row_scale) {
            const T scale = T(a.row_scale[n]);
            for (int k = lane; k < a.K; k += 32) row.set(k, scores[k] * scale * T(a.cluster_scale[k]) + constant[k]);
        } else {
            for (int k = lane; k < a.K; k += 32) row.set(k, scores[k] + constant[k]);
        }
        __syncwarp();
        assign(a, n, row, 0.0);
        __syncwarp();
    }
}

extern "C" __global__ void __launch_bounds__(kTopThreads) top_float(TopArgs a) { top_of_scores<float>(a); }
extern "C" __global__ void __launch_bounds__(kTopThreads) top_double(TopArgs a) { top_of_scores<double>(a); }

/// Bags of words: s_k = constant_k + sum_v x_v table_vk. A row of the table is read at once, and added in the order of
/// the row's words.
extern "C" __global__ void __launch_bounds__(kTopThreads) top_words(TopArgs a) {
    DYNAMIC_SHARED(double, memory);
    const int warp = int(threadIdx.x) / 32, lane = int(threadIdx.x) % 32, warps = int(blockDim.x) / 32;
    const Scores<float> row{reinterpret_cast<float*>(memory) + i64(warp) * 32 * a.C, a.K, a.C, lane};
    row.fill_up();
    for (i64 n = i64(blockIdx.x) * warps + warp; n < a.n; n += i64(gridDim.x) * warps) {
        const int begin = a.indptr[n], end = a.indptr[n + 1];
        double taken_off = 0;
        for (int e = begin + lane; e < end; e += 32) taken_off += double(a.value[e]) * a.offset[a.index[e]];
        taken_off = over_warp(taken_off, Sum());
        for (int first = 0; first < a.K; first += 32 * kAbreast) {
            float s[kAbreast];
            for (int i = 0; i < kAbreast; ++i) {
                const int k = first + i * 32 + lane;
                s[i] = k < a.K ? static_cast<const float*>(a.constant)[k] : 0.f;
            }
            for (int e = begin; e < end; ++e) {
                const float x = a.value[e], *table = a.table + i64(a.index[e]) * a.K;
                for (int i = 0; i < kAbreast; ++i) {
                    const int k = first + i * 32 + lane;
                    if (k < a.K) s[i] += x * table[k];
                }
            }
            for (int i = 0; i < kAbreast; ++i) {
                const int k = first + i * 32 + lane;
                if (k < a.K) row.set(k, s[i]);
            }
        }
        __syncwarp();
        assign(a, n, row, taken_off);
        __syncwarp();
    }
}
