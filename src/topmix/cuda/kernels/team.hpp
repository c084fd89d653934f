// Lanes that work together: a warp, or a block of several warps.
#pragma once
#include "types.hpp"

constexpr u32 kAll = 0xffffffffu;

struct Max {
    template <class T>
    __device__ T operator()(T x, T y) const {
        return x > y ? x : y;
    }
};

struct Sum {
    template <class T>
    __device__ T operator()(T x, T y) const {
        return x + y;
    }
};

template <class T, class Op>
__device__ inline T over_warp(T x, Op op) {
    for (int far = 16; far; far >>= 1) x = op(x, __shfl_xor_sync(kAll, x, far));
    return x;
}

/// The sum over a warp of numbers of 32 bits, which may need more.
__device__ inline u64 wide_sum(u32 x) {
    return u64(__reduce_add_sync(kAll, x & 0xffffu)) + (u64(__reduce_add_sync(kAll, x >> 16)) << 16);
}

template <int SIZE>
struct Team {
    static constexpr int kWarps = SIZE / 32;
    int lane = int(threadIdx.x) % SIZE;

    __device__ void sync() const {
        if (SIZE == 32)
            __syncwarp();
        else
            __syncthreads();
    }

    /// op over all lanes, in an order that depends on SIZE alone; every lane has the result.
    template <class T, class Op>
    __device__ T over(T x, Op op) const {
        x = over_warp(x, op);
        if (SIZE == 32) return x;
        __shared__ T part[kWarps];
        if (lane % 32 == 0) part[lane / 32] = x;
        sync();
        x = part[0];
        for (int w = 1; w < kWarps; ++w) x = op(x, part[w]);
        sync();
        return x;
    }

    __device__ bool any(bool x) const { return over(x ? 1 : 0, Max()) != 0; }

    /// What lane 0 has.
    __device__ int of_first(int x) const {
        x = __shfl_sync(kAll, x, 0);
        if (SIZE == 32) return x;
        __shared__ int first;
        if (lane == 0) first = x;
        sync();
        x = first;
        sync();
        return x;
    }

    /// The place of this lane among those with `in`, counted from n; n grows by all of them.
    __device__ int place(bool in, int& n) const {
        const u32 mask = __ballot_sync(kAll, in);
        int before = __popc(mask & ((1u << (lane % 32)) - 1)), all = __popc(mask);
        if (SIZE > 32) {
            __shared__ int count[kWarps];
            if (lane % 32 == 0) count[lane / 32] = all;
            sync();
            all = 0;
            for (int w = 0; w < kWarps; ++w) {
                if (w < lane / 32) before += count[w];
                all += count[w];
            }
            sync();
        }
        const int at = n + before;
        n += all;
        return at;
    }
};

/// Orders counts (>= 0), then lower places first: the largest of these is the first of the largest.
__device__ inline u64 ranked(float x, int at) { return (u64(__float_as_uint(x)) << 32) | u32(~at); }
__device__ inline int place_of(u64 rank) { return int(~u32(rank)); }
