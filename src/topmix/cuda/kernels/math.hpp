// Functions that CUDA does not have, and those of double precision that are called rather than copied to every use:
// a document needs them once, and they are most of what there is to compile.
#pragma once
#include "types.hpp"

/// psi(x), x > 0: the recurrence up to where the asymptotic series is exact.
__device__ NOINLINE static double digamma(double x) {
    double below = 0;
#pragma unroll 1
    for (; x < 10; x += 1) below -= 1 / x;
    const double f = 1 / (x * x);
    const double series = f * (1 / 12.0 - f * (1 / 120.0 - f * (1 / 252.0 - f * (1 / 240.0 - f * (1 / 132.0)))));
    return below + log(x) - 0.5 / x - series;
}

__device__ NOINLINE static float digammaf(float x) {
    float below = 0;
#pragma unroll 1
    for (; x < 6; x += 1) below -= 1 / x;
    const float f = 1 / (x * x);
    return below + logf(x) - 0.5f / x - f * (1 / 12.f - f * (1 / 120.f - f * (1 / 252.f)));
}

__device__ NOINLINE static double log_gamma(double x) { return lgamma(x); }
__device__ NOINLINE static double log_of(double x) { return log(x); }
