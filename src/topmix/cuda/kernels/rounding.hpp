// Shares of a word's tokens as integers, which add up to its count exactly.
#pragma once
#include "types.hpp"

/// The shares of one word as integers: where the running sum of weights has got to, rounded.
struct Rounding {
    const float scale;
    const u32 whole;
    float sum = 0;
    u32 before = 0;

    __device__ Rounding(float count, float unit, float weights)
        : scale(count * unit / weights), whole(u32(count * unit + 0.5f)) {}

    __device__ u32 operator()(float weight, bool is_last) {
        sum += weight;
        const u32 upto = is_last ? whole : u32(fminf(sum * scale + 0.5f, float(whole)));
        const u32 share = min(upto, whole) - before;
        before = min(upto, whole);
        return share;
    }
};

__device__ NOINLINE static float plogp(float p) { return p > 0 ? p * logf(p) : 0.f; }
