// Pairs of a row and a cluster, sorted by cluster: a counting sort whose result does not depend on the order in which
// lanes run. Pairs with no share are left out, so that dense posteriors, most of which are zero, cost what is in them.
#include "mixture_arguments.hpp"
#include "team.hpp"

constexpr int kCountThreads = 128;
constexpr int kScanThreads = 256;

__device__ inline int cluster_of(const SegmentArgs& a, int p) { return a.cluster ? a.cluster[p] : p % a.K; }

template <class T>
__device__ inline bool is_in(const SegmentArgs& a, int p) {
    return static_cast<const T*>(a.r)[p] > 0;
}

template <class T>
__device__ void count(const SegmentArgs& a) {
    DYNAMIC_SHARED(int, counts);  // [K]
    for (int tile = int(blockIdx.x); tile < a.n_tiles; tile += int(gridDim.x)) {
        for (int k = int(threadIdx.x); k < a.K; k += kCountThreads) counts[k] = 0;
        __syncthreads();
        const int end = min(a.n_pairs, (tile + 1) * a.tile);
        for (int p = tile * a.tile + int(threadIdx.x); p < end; p += kCountThreads)
            if (is_in<T>(a, p)) atomicAdd(&counts[cluster_of(a, p)], 1);
        __syncthreads();
        for (int k = int(threadIdx.x); k < a.K; k += kCountThreads) a.counts[i64(tile) * a.K + k] = counts[k];
        __syncthreads();
    }
}

extern "C" __global__ void __launch_bounds__(kCountThreads) count_pairs_float(SegmentArgs a) { count<float>(a); }
extern "C" __global__ void __launch_bounds__(kCountThreads) count_pairs_double(SegmentArgs a) { count<double>(a); }

/// Counts become sums over the tiles before; start[k] is how many pairs cluster k has.
extern "C" __global__ void __launch_bounds__(kScanThreads) sum_over_tiles(SegmentArgs a) {
    for (int k = int(blockIdx.x) * kScanThreads + int(threadIdx.x); k < a.K; k += int(gridDim.x) * kScanThreads) {
        int sum = 0;
        for (int tile = 0; tile < a.n_tiles; ++tile) {
            const int n = a.counts[i64(tile) * a.K + k];
            a.counts[i64(tile) * a.K + k] = sum;
            sum += n;
        }
        a.start[k] = sum;
    }
}

/// start and part_start become sums over the clusters before. One block.
extern "C" __global__ void __launch_bounds__(kScanThreads) sum_over_clusters(SegmentArgs a) {
    __shared__ int pairs[kScanThreads], parts[kScanThreads];
    const int t = int(threadIdx.x), each = (a.K + kScanThreads - 1) / kScanThreads;
    const int begin = min(a.K, t * each), end = min(a.K, begin + each);
    int n_pairs = 0, n_parts = 0;
    for (int k = begin; k < end; ++k) n_pairs += a.start[k], n_parts += (a.start[k] + a.part - 1) / a.part;
    pairs[t] = n_pairs, parts[t] = n_parts;
    __syncthreads();
    n_pairs = n_parts = 0;
    for (int other = 0; other < t; ++other) n_pairs += pairs[other], n_parts += parts[other];
    for (int k = begin; k < end; ++k) {
        const int n = a.start[k];
        a.start[k] = n_pairs, a.part_start[k] = n_parts;
        n_pairs += n, n_parts += (n + a.part - 1) / a.part;
    }
    if (t == kScanThreads - 1) a.start[a.K] = n_pairs, a.part_start[a.K] = n_parts;
}

/// A warp has a tile, and takes its pairs in order.
template <class T>
__device__ void place(const SegmentArgs& a) {
    DYNAMIC_SHARED(int, next);  // [K]
    const int lane = int(threadIdx.x);
    for (int tile = int(blockIdx.x); tile < a.n_tiles; tile += int(gridDim.x)) {
        for (int k = lane; k < a.K; k += 32) next[k] = a.start[k] + a.counts[i64(tile) * a.K + k];
        __syncwarp();
        const int end = min(a.n_pairs, (tile + 1) * a.tile);
        for (int first = tile * a.tile; first < end; first += 32) {
            const int p = first + lane;
            const bool in = p < end && is_in<T>(a, p);
            const int k = in ? cluster_of(a, p) : -1;
            const u32 same = __match_any_sync(kAll, k);
            const int at = in ? next[k] : 0;
            __syncwarp();
            if (in) {
                a.order[at + __popc(same & ((1u << lane) - 1))] = p;
                if (lane == __ffs(int(same)) - 1) next[k] = at + __popc(same);
            }
            __syncwarp();
        }
    }
}

extern "C" __global__ void __launch_bounds__(32) place_pairs_float(SegmentArgs a) { place<float>(a); }
extern "C" __global__ void __launch_bounds__(32) place_pairs_double(SegmentArgs a) { place<double>(a); }
