// exp, log, digamma, lgamma and exp(digamma) for loops over many numbers: no branch, no table, no call, so that a plain
// loop over them becomes vector code. std:: functions are calls, and there is no std digamma.
//
//     psi(x) = log x - 1/2x - q(1/x^2)      x >= 2
//     psi(x) = (x - root) p(x)              1 <= x < 2: the root keeps its relative accuracy
//     psi(x) = psi(1 + x) - 1/x             x < 1
//
// and likewise for log Gamma, whose roots 1 and 2 are factors. Every lane computes all of the cases and keeps one.
// docs/math.md, section 4.
//
// Errors stay below, in units of the last place of the result, on all instruction sets and the grids of
// tests/test_math.py:
//
//                  float   double
//     exp          1       1       0 below -104 (-746), inf above 89 (710); subnormal results are right to one unit
//     log          1       1       -inf at 0, NaN below
//     digamma      4       4       -inf at 0, NaN below
//     lgamma       8       8       +inf at 0, NaN below
//     exp_digamma  6       6       0 where the result would be subnormal (x under 1/86.7, 1/707.8), NaN below 0
//
// NaN gives NaN. inf gives inf. The gamma family is for x >= 0 only: parameters of Dirichlets are never negative.
// These functions assume that subnormal numbers work (no flush to zero) and that the compiler keeps IEEE rules.
#pragma once
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>

#include "base/math_coefficients.hpp"

namespace topmix::math {

template <class T>
struct Format;

template <>
struct Format<float> {
    using Bits = uint32_t;
    static constexpr int mantissa = 23;
    static constexpr Bits bias = 127, sqrt_half = 0x3f3504f3, upper_half = 0xfffff000;
    static constexpr float shift = 0x1.8p23f;  // adding it rounds to an integer, which the low bits then hold
    static constexpr float ln2_high = 0x1.62ep-1f, ln2_low = 0x1.0bfbe8p-15f;
    static constexpr float exp_min = -104, exp_max = 89, normal_min = -86.7f;
};

template <>
struct Format<double> {
    using Bits = uint64_t;
    static constexpr int mantissa = 52;
    static constexpr Bits bias = 1023, sqrt_half = 0x3fe6a09e667f3bcd, upper_half = 0xfffffffff8000000;
    static constexpr double shift = 0x1.8p52;
    static constexpr double ln2_high = 0x1.62e42feep-1, ln2_low = 0x1.a39ef35793c76p-33;
    static constexpr double exp_min = -746, exp_max = 710, normal_min = -707.8;
};

/// C[0] + C[1] x + C[2] x^2 + ...
template <class T, size_t N>
[[gnu::always_inline]] inline T polynomial(const T (&C)[N], T x) {
    return [&]<size_t... I>(std::index_sequence<I...>) __attribute__((always_inline)) {
        T y = C[N - 1];
        ((y = y * x + C[N - 2 - I]), ...);
        return y;
    }(std::make_index_sequence<N - 1>());
}

/// 2^n for an integer n = shifted - Format::shift that a normal number can hold.
template <class T>
[[gnu::always_inline]] inline T power_of_two(T shifted) {
    using F = Format<T>;
    return std::bit_cast<T>(typename F::Bits((std::bit_cast<typename F::Bits>(shifted) + F::bias) << F::mantissa));
}

/// x = n log 2 + r,  exp(x) = 2^n (1 + r + r^2 p(r)).
template <class T>
[[gnu::always_inline]] inline T exp(T x) {
    using F = Format<T>;
    x = x < F::exp_min ? F::exp_min : x;
    x = x > F::exp_max ? F::exp_max : x;
    const T n = (x * T(1.4426950408889634) + F::shift) - F::shift;
    const T r = (x - n * F::ln2_high) - n * F::ln2_low;
    const T y = T(1) + (r + r * r * polynomial(coefficients::Table<T>::exp_tail, r));
    // In two factors, because 2^n alone may be subnormal or overflow where the result does not.
    const T half = n * T(0.5) + F::shift;
    return y * power_of_two(half) * power_of_two((n - (half - F::shift)) + F::shift);
}

/// x = 2^e (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)),  log(1 + f) = 2 atanh(s),  s = f / (2 + f).
template <class T>
[[gnu::always_inline]] inline T log(T x) {
    using F = Format<T>;
    using Bits = typename F::Bits;
    constexpr T inf = std::numeric_limits<T>::infinity(), lift = T(Bits(1) << (F::mantissa + 1));
    const bool subnormal = x < std::numeric_limits<T>::min();
    const Bits bits = std::bit_cast<Bits>(subnormal ? x * lift : x);
    const Bits biased = (bits - F::sqrt_half + (F::bias << F::mantissa)) >> F::mantissa;
    const T f = std::bit_cast<T>(Bits(bits - ((biased - F::bias) << F::mantissa))) - T(1);
    // An integer below 2^mantissa, placed under the exponent of 2^mantissa, converts without an int-to-float
    // instruction.
    constexpr T two_m = T(Bits(1) << F::mantissa);
    const T e = (std::bit_cast<T>(Bits(std::bit_cast<Bits>(two_m) | biased)) - two_m) -
                (subnormal ? T(F::bias + F::mantissa + 1) : T(F::bias));
    const T s = f / (T(2) + f), z = s * s;
    const T y =
        e * F::ln2_high + (f - (s * (f - z * polynomial(coefficients::Table<T>::log_tail, z)) - e * F::ln2_low));
    const T edge = x == T(0) ? -inf : std::numeric_limits<T>::quiet_NaN();
    return x > T(0) ? (x < inf ? y : x) : edge;
}

template <class T>
[[gnu::always_inline]] inline T digamma(T x) {
    using C = coefficients::Table<T>;
    const bool below_one = x < T(1);
    const T t = below_one ? x : x - T(1);  // psi(1 + t): no rounding where the root is
    const T q = T(1) / x;
    const T near =
        ((t - (C::root_high - T(1))) - C::root_low) * polynomial(C::digamma_near, t - T(0.5)) - (below_one ? q : T(0));
    const T z = q * q;
    const T far = log(x) - (T(0.5) * q + z * polynomial(C::digamma_far, z));
    const T y = x < T(2) ? near : far;
    const T edge = x == T(0) ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::quiet_NaN();
    return x > T(0) ? y : edge;
}

/// log Gamma(2 + u) = u p(u), with u = x, x - 1 or x - 2: no rounding there, and x + 2 or x + 1 steps down by
/// logarithms.
template <class T>
[[gnu::always_inline]] inline T lgamma(T x) {
    using C = coefficients::Table<T>;
    const T u = x < T(0.5) ? x : (x < T(1.5) ? x - T(1) : x - T(2));
    const T logx = log(x < T(0.5) ? x * (x + T(1)) : x);
    const T near = u * polynomial(C::lgamma_near, u) - (x < T(1.5) ? logx : T(0));
    const T q = T(1) / x, z = q * q;
    // Stirling, arranged so that the large terms do not cancel: 0.4189... = log(2 pi) / 2 - 1/2.
    const T far = (x - T(0.5)) * (logx - T(1)) + (T(0.41893853320467274178) + q * polynomial(C::lgamma_far, z));
    const T y = x < T(2.5) ? near : far;
    return x >= T(0) ? y : std::numeric_limits<T>::quiet_NaN();
}

/// 1 - q x for q close to 1 / x, without losing it to rounding.
template <class T>
[[gnu::always_inline]] inline T reciprocal_residual(T q, T x) {
#if defined(__FP_FAST_FMA) && defined(__FP_FAST_FMAF)
    return std::fma(-q, x, T(1));
#else
    using Bits = typename Format<T>::Bits;
    const T q1 = std::bit_cast<T>(Bits(std::bit_cast<Bits>(q) & Format<T>::upper_half)), q2 = q - q1;
    const T x1 = std::bit_cast<T>(Bits(std::bit_cast<Bits>(x) & Format<T>::upper_half)), x2 = x - x1;
    return ((T(1) - q1 * x1) - (q1 * x2 + q2 * x1)) - q2 * x2;
#endif
}

/// exp(psi(x)): no logarithm at all, because exp(psi(y + 1/2)) = y + q(1/y^2) / y. Below one, a factor exp(-1/x).
/// Never subnormal: as weights in an inner loop, subnormal numbers would cost a hundred times what they are worth.
template <class T>
[[gnu::always_inline]] inline T exp_digamma(T x) {
    using C = coefficients::Table<T>;
    constexpr T least = T(-1) / Format<T>::normal_min;
    const bool below_one = x < T(1);
    const T inside = x < least ? least : x, q = T(1) / inside;
    // exp multiplies the rounding error of 1/x by 1/x: put it back.
    const T step_down = exp(-q) * (T(1) - q * reciprocal_residual(q, inside));
    const T near =
        polynomial(C::exp_digamma_near, (below_one ? x : x - T(1)) - T(0.5)) * (below_one ? step_down : T(1));
    const T y = x - T(0.5), p = T(1) / y;
    const T far = y + p * polynomial(C::exp_digamma_far, p * p);
    const T edge = x >= T(0) ? T(0) : std::numeric_limits<T>::quiet_NaN();
    return x > least ? (x < T(2) ? near : far) : edge;
}

/// y[i] = f(x[i]); x and y may be the same array.
template <class T, class Fn>
inline void map(std::span<const T> x, std::span<T> y, Fn f) {
    const T* in = x.data();
    T* out = y.data();
    const size_t n = x.size();
#pragma omp simd
    for (size_t i = 0; i < n; ++i) out[i] = f(in[i]);
}

template <class T>
void exp(std::span<const T> x, std::span<T> y) {
    map(x, y, [](T v) { return exp(v); });
}
template <class T>
void log(std::span<const T> x, std::span<T> y) {
    map(x, y, [](T v) { return log(v); });
}
template <class T>
void digamma(std::span<const T> x, std::span<T> y) {
    map(x, y, [](T v) { return digamma(v); });
}
template <class T>
void lgamma(std::span<const T> x, std::span<T> y) {
    map(x, y, [](T v) { return lgamma(v); });
}
template <class T>
void exp_digamma(std::span<const T> x, std::span<T> y) {
    map(x, y, [](T v) { return exp_digamma(v); });
}

}  // namespace topmix::math
