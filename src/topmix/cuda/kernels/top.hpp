// A row's L best clusters and their shares: an L-sparse softmax. A warp has a row, whose scores lie in shared memory.
#pragma once
#include "mixture_arguments.hpp"
#include "team.hpp"

__device__ inline float exp_of(float x) { return expf(x); }
__device__ inline double exp_of(double x) { return exp(x); }
__device__ inline float log_of_sum(float x) { return logf(x); }
__device__ inline double log_of_sum(double x) { return log(x); }

template <class T>
__device__ inline T nothing() {
    return T(-__uint_as_float(0x7f800000u));
}

/// Lane l has scores l C to l C + C - 1, so that lower lanes have lower clusters; C is odd, so that lanes read from
/// different banks.
template <class T>
struct Scores {
    T* s;  // [32 C]
    const int K, C, lane;

    __device__ void set(int k, T x) const { s[k] = x == x ? x : nothing<T>(); }
    __device__ void fill_up() const {
        for (int k = K + lane; k < 32 * C; k += 32) s[k] = nothing<T>();
    }

    /// Of equal scores, the lower cluster is first.
    __device__ static bool is_before(T x, int k, T y, int j) { return x > y || (x == y && k < j); }

    __device__ static T weight(T x, T high) { return x == high ? T(1) : exp_of(x - high); }
};

template <class T>
struct Chosen {
    T high, last;   // the best score, and the least of the L best
    int last_at;    // whose that is
    int mine;       // how many of them are this lane's
    T sum, moment;  // of weights w, and of w (s - high)
};

/// The best L of K, one after another. A lane knows the best of its own that is left; where it is taken, all lanes look
/// for the next one of that lane.
template <class T>
__device__ Chosen<T> choose(const Scores<T>& row, int L) {
    T best = nothing<T>();
    int at = -1;
    for (int k = row.lane * row.C; k < (row.lane + 1) * row.C; ++k)
        if (at < 0 || row.s[k] > best) best = row.s[k], at = k;
    Chosen<T> c{0, 0, 0, 0, 0, 0};
    for (int l = 0; l < L; ++l) {
        const T x = over_warp(best, Max());
        const int from = __ffs(int(__ballot_sync(kAll, at >= 0 && best == x))) - 1, k = __shfl_sync(kAll, at, from);
        if (l == 0) c.high = x;
        const T w = Scores<T>::weight(x, c.high);
        c.sum += w;
        if (w > 0 && x != c.high) c.moment += w * (x - c.high);
        c.last = x, c.last_at = k, c.mine += row.lane == from;
        if (l + 1 == L) break;
        T next = nothing<T>();
        int next_at = -1;
        for (int j = from * row.C + row.lane; j < (from + 1) * row.C; j += 32)
            if (Scores<T>::is_before(x, k, row.s[j], j) && (next_at < 0 || row.s[j] > next))
                next = row.s[j], next_at = j;
        for (int far = 16; far; far >>= 1) {
            const T other = __shfl_xor_sync(kAll, next, far);
            const int other_at = __shfl_xor_sync(kAll, next_at, far);
            if (other_at >= 0 && (next_at < 0 || Scores<T>::is_before(other, other_at, next, next_at)))
                next = other, next_at = other_at;
        }
        if (row.lane == from) best = next, at = next_at;
    }
    return c;
}

/// The same where L is K: nothing is left out.
template <class T>
__device__ Chosen<T> choose_all(const Scores<T>& row) {
    Chosen<T> c{nothing<T>(), 0, 0, 0, 0, 0};
    for (int k = row.lane; k < row.K; k += 32) c.high = Max()(c.high, row.s[k]);
    c.high = over_warp(c.high, Max());
    for (int k = row.lane; k < row.K; k += 32) {
        const T w = Scores<T>::weight(row.s[k], c.high);
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
        const T x = Scores<T>::weight(s, c.high) / c.sum;
        return double(x) < a.least ? T(0) : x;
    };
    if (is_dense) {
        for (int k = row.lane; k < a.K; k += 32) r[k] = share(row.s[k]);
        return;
    }
    int at = c.mine;  // places of this lane and those before it
    for (int far = 1; far < 32; far *= 2) {
        const int before = __shfl_sync(kAll, at, row.lane - far);
        if (row.lane >= far) at += before;
    }
    at -= c.mine;
    if (c.mine == 0) return;
    for (int k = row.lane * row.C; k < (row.lane + 1) * row.C; ++k)
        if (!Scores<T>::is_before(c.last, c.last_at, row.s[k], k)) {
            r[at] = share(row.s[k]);
            if (a.cluster) a.cluster[n * a.L + at] = k;
            ++at;
        }
}
