// The conjugate update of Gaussian clusters with full covariances, Eq. (G.6): precisions from moments, in double.
//
//     B = base + S + N reg - beta m m'        P = nu B^-1
//
// A block has a cluster. B is inverted in place by sweeping one coordinate after another. The pivots are those of
// Cholesky's factor, squared: their product is |B|, and one that is not positive says that B cannot be inverted.
#include "math.hpp"
#include "mixture_arguments.hpp"
#include "team.hpp"

constexpr int kUpdateThreads = 256;

/// Where row i of a packed upper triangle begins, less i: entry (i, j), i <= j, is at row_of(i) + j.
__device__ inline i64 row_of(int i, int D) { return i64(i) * D - i64(i) * (i - 1) / 2 - i; }

/// B becomes -B^-1, symmetric; log |B| is returned, or NaN. `column` has room for D numbers.
__device__ inline double sweep(double* B, int D, const Team<kUpdateThreads>& team, double* column) {
    double log_det = 0;
    for (int p = 0; p < D; ++p) {
        const double pivot = B[i64(p) * D + p];
        if (!(pivot > 0)) return log(-1.0);  // every thread sees the same
        log_det += log(pivot);
        for (int i = team.lane; i < D; i += kUpdateThreads) column[i] = B[i64(p) * D + i];
        team.sync();
        for (int i = team.lane / 32; i < D; i += kUpdateThreads / 32) {
            const double share = column[i] / pivot;
            for (int j = team.lane % 32; j < D; j += 32) {
                double& x = B[i64(i) * D + j];
                if (i == p)
                    x = j == p ? -1 / pivot : column[j] / pivot;
                else
                    x = j == p ? share : x - share * column[j];
            }
        }
        team.sync();
    }
    return log_det;
}

extern "C" __global__ void __launch_bounds__(kUpdateThreads) update_gaussians(GaussianArgs a) {
    DYNAMIC_SHARED(double, memory);  // [4, D], and a matrix if it fits
    const Team<kUpdateThreads> team;
    const int D = a.D;
    double *m = memory, *diagonal = m + D, *Pm = diagonal + D, *column = Pm + D;
    double* B = a.room ? a.room + i64(blockIdx.x) * D * D : column + D;
    const i64 Q = i64(D) * (D + 1) / 2;
    for (int k = int(blockIdx.x); k < a.K; k += int(gridDim.x)) {
        const double N = a.N[k], beta = a.beta[k], nu = a.nu[k];
        const double *first = a.first + i64(k) * D, *S = a.second + i64(k) * Q;
        for (int d = team.lane; d < D; d += kUpdateThreads)
            m[d] = a.zero_mean ? 0.0 : (a.prior_first[d] + first[d]) / beta;
        team.sync();
        for (int i = team.lane / 32; i < D; i += kUpdateThreads / 32)
            for (int j = i + team.lane % 32; j < D; j += 32) {
                const i64 q = row_of(i, D) + j;
                const double x = a.base[q] + S[q] + N * a.reg[q] - beta * m[i] * m[j];
                B[i64(i) * D + j] = B[i64(j) * D + i] = x;
                if (i == j) diagonal[i] = x / nu + m[i] * m[i];  // squares of typical rows
            }
        team.sync();
        const double log_det = sweep(B, D, team, column);
        double* P = a.P + i64(k) * Q;
        double largest = 0, rounding = 0, of_second = 0, of_reg = 0, of_base = 0, of_first = 0, of_prior = 0, form = 0;
        double psi = 0, gamma = 0;
        for (int i = team.lane / 32; i < D; i += kUpdateThreads / 32) {
            double sum = 0;
            for (int j = team.lane % 32; j < D; j += 32) {
                const double x = -nu * B[i64(i) * D + j];
                sum += x * m[j];
                rounding += diagonal[i] * x * x * diagonal[j];
                if (j < i) continue;
                const i64 q = row_of(i, D) + j;
                const double twice = i == j ? x : 2 * x;
                P[q] = x;
                if (i == j) largest = Max()(largest, x);
                of_second += twice * S[q], of_reg += twice * a.reg[q], of_base += twice * a.base[q];
            }
            sum = over_warp(sum, Sum());
            if (team.lane % 32 == 0) Pm[i] = sum;
        }
        team.sync();
        for (int d = team.lane; d < D; d += kUpdateThreads) {
            a.m[i64(k) * D + d] = m[d], a.Pm[i64(k) * D + d] = Pm[d];
            form += Pm[d] * m[d], of_first += Pm[d] * first[d];
            psi += digamma(0.5 * (nu - d)), gamma += log_gamma(0.5 * (nu - d));
            if (!a.zero_mean) of_prior += Pm[d] * a.prior_first[d];
        }
        const double found[] = {log_det,
                                team.over(form, Sum()),
                                team.over(largest, Max()),
                                team.over(rounding, Sum()),
                                team.over(of_second, Sum()),
                                team.over(of_reg, Sum()),
                                team.over(of_base, Sum()),
                                team.over(of_first, Sum()),
                                team.over(of_prior, Sum()),
                                team.over(psi, Sum()),
                                team.over(gamma, Sum())};
        if (team.lane == 0)
            for (int i = 0; i < kAbouts; ++i) a.about[i64(k) * kAbouts + i] = found[i];
        team.sync();
    }
}
