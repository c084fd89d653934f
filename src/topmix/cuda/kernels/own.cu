// Priors of documents from covariates, and what documents say of them: cpp/steps/own_priors.hpp.  Eqs. (3.30) to
// (3.32).
#include "arguments.hpp"
#include "math.hpp"
#include "team.hpp"

constexpr int kOwnWarps = 4;

/// psi'(x), x > 0: steps up by 1/x^2, then the asymptotic series.
__device__ NOINLINE static double trigamma(double x) {
    double steps = 0;
#pragma unroll 1
    for (int i = 0; i < 10; ++i) steps += 1 / ((x + i) * (x + i));
    const double y = 1 / (x + 10), z = y * y;
    return steps + y * (1 + y * (0.5 + y * (1 / 6.0 - z * (1 / 30.0 - z * (1 / 42.0 - z * (1 / 30.0 - z * 5 / 66))))));
}

/// alpha of each row of the design, its sum, and the logarithm of the density's normaliser where it is collapsed. A
/// warp has a row.
extern "C" __global__ void __launch_bounds__(32 * kOwnWarps) own_alpha(OwnArgs a) {
    const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
    for (int r = int(blockIdx.x) * kOwnWarps + warp; r < a.n_priors; r += int(gridDim.x) * kOwnWarps) {
        const double* const x = a.x + i64(r) * a.P;
        double total = 0, inside = 0;
        for (int k = lane; k < a.K; k += 32) {
            double score = 0;
            for (int p = 0; p < a.P; ++p) score += x[p] * a.coefficients[i64(p) * a.K + k];
            const float alpha = float(exp(fmin(fmax(score, a.low), a.high)));
            a.alpha[i64(r) * a.K + k] = alpha, total += double(alpha);
            if (!a.variational) inside += double(alpha) * log_of(double(alpha)) - log_gamma(double(alpha));
        }
        total = over_warp(total, Sum()), inside = over_warp(inside, Sum());
        if (lane == 0) a.total[r] = total, a.normaliser[r] = a.variational ? 0 : inside + log_gamma(total);
    }
}

__device__ inline i64 rounded(double x, double scale) { return i64(rint(x * scale)); }

/// Sums over documents, as integers. A warp has a document.
extern "C" __global__ void __launch_bounds__(32 * kOwnWarps) own_stats(OwnArgs a) {
    const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
    i64 G = 0, A = 0, T = 0;
    for (int d = int(blockIdx.x) * kOwnWarps + warp; d < a.n_rows; d += int(gridDim.x) * kOwnWarps) {
        const int r = a.row[d];
        const double* const x = a.x + i64(r) * a.P;
        double first = 0, second = 0;
        for (int i = lane; i < a.doc_n[d]; i += 32) {
            const int k = a.doc_topic[a.places[d] + i];
            const double N = double(a.doc_count[a.places[d] + i]), alpha = double(a.alpha[i64(r) * a.K + k]);
            if (a.variational)
                first += log_gamma(N + alpha) - log_gamma(alpha);
            else
                first += N * log_of(N + alpha), second += alpha * log_of(1 + N / alpha);
            if (!a.first) continue;
            const double rise = alpha * (digamma(N + alpha) - digamma(alpha));
            for (int p = 0; p < a.P; ++p) add(&a.first[i64(k) * a.P + p], rounded(rise * x[p], a.first_scale));
            if (!a.second) continue;
            const double curve = rise + alpha * alpha * (trigamma(N + alpha) - trigamma(alpha));
            i64* const here = a.second + i64(k) * a.P * a.P;
            for (int p = 0; p < a.P; ++p)
                for (int q = 0; q <= p; ++q) add(&here[i64(p) * a.P + q], rounded(curve * x[p] * x[q], a.second_scale));
        }
        first = over_warp(first, Sum()), second = over_warp(second, Sum());
        const double length = a.lengths[d], total = a.total[r];
        if (a.variational) {
            G += rounded(log_gamma(total) - log_gamma(total + length) + first, kSums);
        } else {
            const double whole = log_of(length + total);
            A += rounded(first - length * whole, kSums);
            T += rounded(a.normaliser[r] - total * whole + second, kSums);
        }
    }
    if (lane == 0) add(&a.sums[0], G), add(&a.sums[1], A), add(&a.sums[2], T);
}
