// Rows as features, so that log weights are products of matrices: z_i z_j, z_i^2 or |z|^2, and z_i.
//
// Tensor cores multiply halves, of eleven bits. A float32 is written as the sum of two of them, high + low / 2^11, so
// that three products of halves, summed in float32, are nearly one of float32, in a third of its time:
//
//     a b = a_high b_high + (a_low b_high + a_high b_low) / 2^11        without a_low b_low, below 2^-22 of it
//
// Halves reach from 2^-14 to 2^15. So each row, and each cluster, is first multiplied by the power of two that brings
// its largest number below 2^15; numbers down to 2^-29 of that one keep all their digits.
#include "mixture_arguments.hpp"
#include "team.hpp"

constexpr int kFeatureThreads = 256;
constexpr int kRowsAtATime = 8;
constexpr float kLow = 2048;  // low parts are stored times this

struct Scale {
    float up, down;
};

/// Powers of two: x up is below 2^15, and down takes it back.
__device__ inline Scale scale_of(float x) {
    const int e = max(int((__float_as_uint(x) >> 23) & 255u) - 127, -100);
    return {__uint_as_float(u32(14 - e + 127) << 23), __uint_as_float(u32(e - 14 + 127) << 23)};
}

struct Halves {
    u32 high, low;
};

__device__ inline Halves halves(float x) {
    const u32 high = half_bits(x);
    return {high, half_bits((x - half_value(high)) * kLow)};
}

/// A row's coordinates, which features are products of: z, then 1, |z|^2 and 0. Returns the largest of its products.
template <class T>
__device__ T coordinates(const T* z, int D, bool has_norm, int lane, T* c) {
    T largest = 0;
    double norm = 0;
    for (int d = lane; d < D; d += 32) {
        const T x = z[d];
        c[d] = x;
        largest = Max()(largest, x < 0 ? -x : x);
        norm += double(x) * double(x);
    }
    largest = over_warp(largest, Max());
    norm = over_warp(norm, Sum());
    if (lane == 0) c[D] = 1, c[D + 1] = T(norm), c[D + 2] = 0;
    return Max()(largest, has_norm ? T(norm) : largest * largest);
}

extern "C" __global__ void __launch_bounds__(kFeatureThreads) split_features(FeatureArgs a) {
    DYNAMIC_SHARED(float, c);  // [rows, D + 3], and a scale for each
    const int width = a.D + 3, lane = int(threadIdx.x) % 32, n_words = a.F / 2;
    float* up = c + a.rows * width;
    for (i64 first = i64(blockIdx.x) * a.rows; first < a.n; first += i64(gridDim.x) * a.rows) {
        const int rows = int(a.n - first < a.rows ? a.n - first : i64(a.rows));
        for (int r = int(threadIdx.x) / 32; r < rows; r += kFeatureThreads / 32) {
            const float* z = static_cast<const float*>(a.z) + (first + r) * a.D;
            const Scale scale = scale_of(coordinates(z, a.D, a.has_norm != 0, lane, c + r * width));
            if (lane == 0) up[r] = scale.up, a.scale[first + r] = scale.down;
        }
        __syncthreads();
        for (int w = int(threadIdx.x); w < n_words; w += kFeatureThreads) {
            const u32 p = a.pairs[2 * w], q = a.pairs[2 * w + 1];
            for (int r = 0; r < rows; ++r) {
                const float* row = c + r * width;
                const Halves x = halves(row[p & 0xffffu] * row[p >> 16] * up[r]);
                const Halves y = halves(row[q & 0xffffu] * row[q >> 16] * up[r]);
                u32* out = a.split + (first + r) * a.F;
                out[w] = x.low | (y.low << 16);
                out[n_words + w] = x.high | (y.high << 16);
            }
        }
        __syncthreads();
    }
}

extern "C" __global__ void __launch_bounds__(kFeatureThreads) wide_features(FeatureArgs a) {
    DYNAMIC_SHARED(double, c);
    const int width = a.D + 3, lane = int(threadIdx.x) % 32;
    for (i64 first = i64(blockIdx.x) * a.rows; first < a.n; first += i64(gridDim.x) * a.rows) {
        const int rows = int(a.n - first < a.rows ? a.n - first : i64(a.rows));
        for (int r = int(threadIdx.x) / 32; r < rows; r += kFeatureThreads / 32)
            coordinates(static_cast<const double*>(a.z) + (first + r) * a.D, a.D, true, lane, c + r * width);
        __syncthreads();
        for (int f = int(threadIdx.x); f < a.F; f += kFeatureThreads) {
            const u32 p = a.pairs[f];
            for (int r = 0; r < rows; ++r)
                a.wide[(first + r) * a.F + f] = c[r * width + int(p & 0xffffu)] * c[r * width + int(p >> 16)];
        }
        __syncthreads();
    }
}

/// The weights of a cluster as halves. A block has a cluster.
extern "C" __global__ void __launch_bounds__(kFeatureThreads) split_weights(WeightArgs a) {
    const Team<kFeatureThreads> team;
    const float* W = static_cast<const float*>(a.W) + i64(blockIdx.x) * a.F;
    u32* out = a.split + i64(blockIdx.x) * a.F;
    float largest = 0;
    for (int f = team.lane; f < a.F; f += kFeatureThreads) largest = fmaxf(largest, fabsf(W[f]));
    const Scale scale = scale_of(team.over(largest, Max()));
    if (team.lane == 0) a.scale[blockIdx.x] = scale.down;
    for (int w = team.lane; w < a.F / 2; w += kFeatureThreads) {
        const Halves x = halves(W[2 * w] * scale.up), y = halves(W[2 * w + 1] * scale.up);
        out[w] = x.high | (y.high << 16);
        out[a.F / 2 + w] = x.low | (y.low << 16);
    }
}

/// What precisions and means say of features: -P_ii / 2 and -P_ij for products, P m for z; and the means.
template <class T>
__device__ void gaussian_weights(const WeightArgs& a) {
    const i64 k = blockIdx.x, Q = i64(a.D) * (a.D + 1) / 2;
    T* W = static_cast<T*>(a.W) + k * a.F;
    for (int i = int(threadIdx.x) / 32; i < a.D; i += kFeatureThreads / 32) {
        const i64 row = i64(i) * a.D - i64(i) * (i - 1) / 2;
        for (int j = i + int(threadIdx.x) % 32; j < a.D; j += 32)
            W[row + j - i] = T((i == j ? -0.5 : -1.0) * a.P[k * Q + row + j - i]);
    }
    for (int f = int(Q) + int(threadIdx.x); f < a.F; f += kFeatureThreads)
        W[f] = T(a.linear && f < int(Q) + a.D ? a.linear[k * a.D + f - Q] : 0.0);
    for (int d = int(threadIdx.x); d < a.D; d += kFeatureThreads)
        static_cast<T*>(a.centre)[k * a.D + d] = T(a.m[k * a.D + d]);
}

extern "C" __global__ void __launch_bounds__(kFeatureThreads) gaussian_weights_float(WeightArgs a) {
    gaussian_weights<float>(a);
}
extern "C" __global__ void __launch_bounds__(kFeatureThreads) gaussian_weights_double(WeightArgs a) {
    gaussian_weights<double>(a);
}
