// A row's L best clusters and their shares: an L-sparse softmax. A warp has a row, whose scores lie in shared memory.
#pragma once
#include "best.hpp"
#include "mixture_arguments.hpp"

__device__ inline float exp_of(float x) { return expf(x); }
__device__ inline double exp_of(double x) { return exp(x); }
__device__ inline float log_of_sum(float x) { return logf(x); }
__device__ inline double log_of_sum(double x) { return log(x); }

template <class T>
__device__ inline T weight_of(T x, T high) {
    return x == high ? T(1) : exp_of(x - high);
}

template <class T>
struct Chosen {
    T high;         // the best score
    Cut<T> cut;     // of the L best
    T sum, moment;  // of weights w, and of w (s - high)
};

template <class T>
__device__ Chosen<T> choose(const Scores<T>& row, int L) {
    Chosen<T> c{0, {0, 0, 0}, 0, 0};
    c.cut = choose_best(row, L, [&](int l, T x, int) {
        if (l == 0) c.high = x;
        const T w = weight_of(x, c.high);
        c.sum += w;
        if (w > 0 && x != c.high) c.moment += w * (x - c.high);
    });
    return c;
}

/// The same where L is K: nothing is left out.
template <class T>
__device__ Chosen<T> choose_all(const Scores<T>& row) {
    Chosen<T> c{nothing<T>(), {0, 0, 0}, 0, 0};
    for (int k = row.lane; k < row.K; k += 32) c.high = Max()(c.high, row.s[k]);
    c.high = over_warp(c.high, Max());
    for (int k = row.lane; k < row.K; k += 32) {
        const T w = weight_of(row.s[k], c.high);
        c.sum += w;
        if (w > 0 && row.s[k] != c.high) c.moment += w * (row.s[k] - c.high);
    }
    c.sum = over_warp(c.sum, Sum()), c.moment = over_warp(c.moment, Sum());
    return c;
}

/// Writes what row n gets. `taken_off` is what all of its scores lack.
template <class T>
__device__ void assign(const TopArgs& a, i64 n, const Scores<T>& row, double taken_off) {
    const bool is_dense = a.L == a.K;
    const Chosen<T> c = is_dense ? choose_all(row) : choose(row, a.L);
    if (row.lane == 0) {
        const T log_sum = log_of_sum(c.sum);
        a.entropy[n] = double(log_sum) - double(c.moment) / double(c.sum);
        a.likelihood[n] = double(c.high) + double(log_sum) + taken_off;
    }
    if (!a.r) return;
    T* r = static_cast<T*>(a.r) + n * a.L;
    const auto share = [&](T s) {
        const T x = weight_of(s, c.high) / c.sum;
        return double(x) < a.least ? T(0) : x;
    };
    if (is_dense) {
        for (int k = row.lane; k < a.K; k += 32) r[k] = share(row.s[k]);
        return;
    }
    int at = c.cut.first_place(row.lane);
    if (c.cut.mine == 0) return;
    for (int k = row.lane * row.C; k < (row.lane + 1) * row.C; ++k)
        if (c.cut.has(row, k)) {
            r[at] = share(row.s[k]);
            if (a.cluster) a.cluster[n * a.L + at] = k;
            ++at;
        }
}
