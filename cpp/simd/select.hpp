// The L largest of a row of K: the selection that every L-sparse posterior makes.  docs/math.md, section 5.
//
// A threshold is bisected until it has L scores at or above it: each try is a compare and a count, no data moves. For a
// long row that is done twice on little data instead of once on all of it:
//
//   1. maxima of 2L or more disjoint groups of columns, one pass; a threshold with L of those above it has at least L
//      scores above it;
//   2. the few scores above that threshold are packed into a buffer, second pass, and the exact cut is found there.
#pragma once
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>

#include "simd/lanes.hpp"

namespace topmix {

/// Integers in the order of the numbers: image(x) < image(y) if x < y. Its own inverse.
template <class T>
using Image = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
template <class T>
Image<T> image(T x) {
    const auto i = std::bit_cast<Image<T>>(x);
    return i ^ ((i >> (8 * sizeof(T) - 1)) & std::numeric_limits<Image<T>>::max());
}
template <class T>
T number(Image<T> i) {
    return std::bit_cast<T>(i ^ ((i >> (8 * sizeof(T) - 1)) & std::numeric_limits<Image<T>>::max()));
}

/// What to keep: all scores > t and the first `ties` of those == t.
template <class T>
struct Cut {
    T t;
    size_t ties;
};

/// A cut that keeps L to L + slack of v. Needs L <= the count of v >= range.low > -inf.
template <class T>
Cut<T> find_cut(const T* v, size_t n, size_t L, size_t slack, Range<T> range) {
    using Bits = std::make_unsigned_t<Image<T>>;
    Image<T> low = image(range.low),
             high = Image<T>(Bits(image(range.high)) + 1);  // L or more are >= low, fewer >= high
    size_t above = 0;
    for (unsigned step = 0; Bits(high) - Bits(low) > 1; ++step) {
        // Halving the values suits scores that are spread evenly, halving the images scores that span many powers of
        // two. Taking turns is never worse than twice the better one, and ends.
        Image<T> middle = image(T(0.5) * number<T>(low) + T(0.5) * number<T>(high));
        if (step % 3 == 2 || middle <= low || middle >= high)
            middle = Image<T>(Bits(low) + (Bits(high) - Bits(low)) / 2);
        const size_t c = Lanes<T>::count_ge(v, n, number<T>(middle));
        if (c >= L && c <= L + slack) return {number<T>(middle), n};
        low = c >= L ? middle : low;  // selects, not branches, which would be unpredictable
        high = c >= L ? high : middle;
        above = c >= L ? above : c;
    }
    return {number<T>(low), L - above};
}

/// The lowest index of the largest score.
template <class T>
size_t argmax(std::span<const T> s) {
    constexpr size_t lanes = 4 * Lanes<T>::width;
    T M[lanes];
    Lanes<T>::template maxima<lanes>(s.data(), s.size(), M);
    const T best = Lanes<T>::range(M, lanes).high;
    return best > PlainLanes<T>::ninf ? Lanes<T>::find(s.data(), s.size(), best) : 0;
}

/// Steps 1 and 2 with this many groups. False if that does not pay: most of the row is -inf, or equal, or nearly so.
template <size_t Groups, class T>
bool select_packed(std::span<const T> s, size_t L, int32_t* idx, T* val) {
    using Do = Lanes<T>;
    constexpr size_t room = 1024;
    T M[Groups], near[room];
    int32_t ids[room];
    Do::template maxima<Groups>(s.data(), s.size(), M);
    Range<T> range;
    if constexpr (Groups <= Do::few) {
        range.low = Do::template nth_largest<Groups>(M, L);
    } else {
        range = Do::range(M, Groups);
        if (range.low > Do::ninf) range.low = find_cut(M, Groups, L, L / 4, range).t;
    }
    if (range.low == Do::ninf) return false;
    const size_t n = Do::filter_ge(s.data(), s.size(), range.low, near, ids, room);
    if (n > room) return false;
    if (n <= Do::few && Do::take_ranked(near, ids, n, L, idx, val)) return true;
    if constexpr (Groups <= Do::few) range.high = Do::range(M, Groups).high;
    const Cut<T> cut = find_cut(near, n, L, 0, range);
    Do::emit(near, ids, n, cut.t, cut.ties, L, idx, val);
    return true;
}

/// Writes the min(L, K) largest of s in ascending order of index and returns how many. Of equal scores the lower index
/// is kept; NaN counts, and is written, as -inf. Needs room for min(L, K) in idx and val; K < 2^31.
template <class T>
size_t select_top_l(std::span<const T> s, size_t L, int32_t* idx, T* val) {
    using Do = Lanes<T>;
    constexpr T ninf = -std::numeric_limits<T>::infinity(), lowest = std::numeric_limits<T>::lowest();
    const T* v = s.data();
    const size_t K = s.size();
    if (L >= K) {
        for (size_t k = 0; k < K; ++k) idx[k] = int32_t(k), val[k] = v[k] > ninf ? v[k] : ninf;
        return K;
    }
    if (L == 0) return 0;
    if (L == 1) {
        const size_t k = argmax(s);
        idx[0] = int32_t(k), val[0] = v[k] > ninf ? v[k] : ninf;
        return 1;
    }

    if (L <= 6 && K > 16 && select_packed<16>(s, L, idx, val)) return L;
    if (L > 6 && L <= 16 && K > 32 && select_packed<32>(s, L, idx, val)) return L;
    if (L > 16 && L <= 64 && K >= 8 * L && select_packed<128>(s, L, idx, val)) return L;

    Range<T> range = Do::range(v, K);
    if (range.low == ninf) {
        range.low = lowest;
        if (Do::count_ge(v, K, lowest) < L) {  // take all that is above -inf and fill up with the first that is not
            size_t fill = L - Do::count_ge(v, K, lowest);
            for (size_t k = 0, l = 0; l < L; ++k) {
                const bool finite = v[k] > ninf;
                if (finite || fill > 0) idx[l] = int32_t(k), val[l++] = finite ? v[k] : ninf, fill -= !finite;
            }
            return L;
        }
    }
    const Cut<T> cut = find_cut(v, K, L, 0, range);
    Do::emit(v, nullptr, K, cut.t, cut.ties, L, idx, val);
    return L;
}

}  // namespace topmix
