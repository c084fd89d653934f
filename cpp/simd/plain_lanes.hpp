// The loops under top-L selection, in plain C++: the baseline, and double on every instruction set.
//
// lanes_avx2.hpp, lanes_avx512.hpp and lanes_neon.hpp replace them for float. All loops ignore NaN and are never asked
// about t = -inf, so a missing last element can stand in as -inf.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace topmix {

template <class T>
struct Range {
    T low, high;
};

template <class T>
struct PlainLanes {
    static constexpr T ninf = -std::numeric_limits<T>::infinity();
    static constexpr size_t width = 16, few = 16;  // `few`: where ranks beat a search

    /// M[j] = max of s[i] over i = j mod Count: that many disjoint groups, so that the L-th largest of M is a lower
    /// bound on the L-th largest of s.
    template <size_t Count>
    static void maxima(const T* s, size_t n, T* M) {
        std::fill_n(M, Count, ninf);
        size_t i = 0;
        for (; i + Count <= n; i += Count) {
#pragma omp simd
            for (size_t j = 0; j < Count; ++j) M[j] = s[i + j] > M[j] ? s[i + j] : M[j];
        }
        for (size_t j = 0; i + j < n; ++j) M[j] = s[i + j] > M[j] ? s[i + j] : M[j];
    }

    /// rank[j] = how many of v[0..n) are larger than v[j]. No branch and no chain of dependent steps: for a few dozen
    /// numbers this beats a search for the threshold.
    static void ranks(const T* v, size_t n, uint32_t (&rank)[few]) {
        T x[few];
        std::copy_n(v, n, x);
        std::fill(x + n, x + few, ninf);
        std::fill_n(rank, few, 0);
        for (size_t i = 0; i < n; ++i) {
#pragma omp simd
            for (size_t j = 0; j < few; ++j) rank[j] += v[i] > x[j];
        }
    }

    /// The L-th largest of v[0..Count), 1 <= L <= Count <= few.
    template <size_t Count>
    static T nth_largest(const T* v, size_t L) {
        uint32_t rank[few];
        ranks(v, Count, rank);
        T t = std::numeric_limits<T>::infinity();
        for (size_t j = 0; j < Count; ++j) t = rank[j] < L && v[j] < t ? v[j] : t;
        return t;
    }

    /// Writes the L largest of v[0..n), n <= few, in order, with their ids. False if equal scores at the cut leave it
    /// open.
    static bool take_ranked(const T* v, const int32_t* ids, size_t n, size_t L, int32_t* idx, T* val) {
        uint32_t rank[few];
        ranks(v, n, rank);
        if (std::count_if(rank, rank + n, [L](uint32_t k) { return k < L; }) != ptrdiff_t(L)) return false;
        for (size_t j = 0, c = 0; c < L; ++j) {
            val[c] = v[j];
            idx[c] = ids[j];
            c += rank[j] < L;
        }
        return true;
    }

    /// Smallest and largest; NaN counts as -inf. Needs n >= 1.
    static Range<T> range(const T* s, size_t n) {
        T low = std::numeric_limits<T>::infinity(), high = ninf;
#pragma omp simd reduction(min : low) reduction(max : high)
        for (size_t i = 0; i < n; ++i) {
            const T x = s[i] > ninf ? s[i] : ninf;
            low = x < low ? x : low;
            high = x > high ? x : high;
        }
        return {low, high};
    }

    /// The lowest index of x; n if it is not there.
    static size_t find(const T* s, size_t n, T x) { return size_t(std::find(s, s + n, x) - s); }

    static size_t count_ge(const T* s, size_t n, T t) {
        uint32_t c = 0;  // as narrow as the compares, so that it stays in their lanes; n < 2^32
#pragma omp simd reduction(+ : c)
        for (size_t i = 0; i < n; ++i) c += s[i] >= t;
        return c;
    }

    /// Copies what is >= t, in order, with its index. Stops early and returns more than capacity if it does not fit.
    static size_t filter_ge(const T* s, size_t n, T t, T* val, int32_t* idx, size_t capacity) {
        size_t c = 0;
        for (size_t i = 0; i < n;) {
            if (c + width > capacity) return capacity + 1;
            for (const size_t end = std::min(n, i + width); i < end; ++i) {
                val[c] = s[i];
                idx[c] = int32_t(i);
                c += s[i] >= t;
            }
        }
        return c;
    }

    /// Writes what is > t and the first `ties` of what is == t: exactly `room` elements in all, in order.
    /// Their ids are ids[i], or i itself when ids is null.
    static void emit(const T* s, const int32_t* ids, size_t n, T t, size_t ties, size_t room, int32_t* idx, T* val) {
        for (size_t i = 0, c = 0; c < room && i < n; ++i) {
            const bool tied = s[i] == t && ties > 0;
            ties -= tied;
            val[c] = s[i];
            idx[c] = ids ? ids[i] : int32_t(i);
            c += tied || s[i] > t;
        }
    }
};

template <class T>
struct Lanes : PlainLanes<T> {};

}  // namespace topmix
