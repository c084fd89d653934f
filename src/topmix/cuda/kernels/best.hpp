// The L best of a row of K scores, by a warp; the scores lie in shared memory.
#pragma once
#include "team.hpp"

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
};

/// Where the L best end.
template <class T>
struct Cut {
    T last;    // the least of them
    int at;    // whose that is
    int mine;  // how many of them are this lane's

    __device__ bool has(const Scores<T>& row, int k) const { return !Scores<T>::is_before(last, at, row.s[k], k); }

    /// The place of this lane's first among all of them, by rising k.
    __device__ int first_place(int lane) const {
        int to = mine;
        for (int far = 1; far < 32; far *= 2) {
            const int before = __shfl_sync(kAll, to, lane - far);
            if (lane >= far) to += before;
        }
        return to - mine;
    }
};

/// The best L of K, one after another: take(l, x, k) is called on every lane. A lane knows the best of its own that is
/// left; where it is taken, all lanes look for the next one of that lane.
template <class T, class Take>
__device__ Cut<T> choose_best(const Scores<T>& row, int L, Take&& take) {
    T best = nothing<T>();
    int at = -1;
    for (int k = row.lane * row.C; k < (row.lane + 1) * row.C; ++k)
        if (at < 0 || row.s[k] > best) best = row.s[k], at = k;
    Cut<T> c{0, 0, 0};
    for (int l = 0; l < L; ++l) {
        const T x = over_warp(best, Max());
        const int from = __ffs(int(__ballot_sync(kAll, at >= 0 && best == x))) - 1, k = __shfl_sync(kAll, at, from);
        take(l, x, k);
        c.last = x, c.at = k, c.mine += row.lane == from;
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
