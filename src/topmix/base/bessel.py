"""Modified Bessel functions of the first kind, as directional statistics needs them.  docs/math.md, section V.

    log (I_nu(x) exp(-x)),    A_D(x) = I_{D/2}(x) / I_{D/2-1}(x),    A_D^{-1}(r)

for orders nu >= -1/2 (dimensions D >= 1) and x > 0. I_nu itself under- and overflows as soon as nu or x is in the
hundreds, so nothing here leaves the logarithm. One expansion does most of the work: Debye's, which is uniform in nu and
accurate wherever hypot(nu, x) is large, also at nu = 0.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache, lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln, ive

Array = NDArray[np.float64]

FAR = 30.0  # hypot(nu, x) from which Debye's expansion has all digits
TERMS = 16  # of it: the first that is left out is below 1e-15
FRACTIONS = 25  # terms of the continued fraction: the first that is left out is below 1e-16
LARGEST = 1e8  # concentration that `inverse_ratio` returns at most: beyond, 1 - r has too few digits


def log_ive(nu: float, x: ArrayLike) -> Array:
    """log (I_nu(x) exp(-x)), which stays accurate where log I_nu(x) is little more than x."""
    x = np.asarray(x, np.float64)
    flat = np.atleast_1d(x)
    out = np.empty_like(flat)
    far = np.hypot(nu, flat) >= FAR
    near = ~far & (flat < 2.0 * np.sqrt(nu + 1.0))
    rest = ~far & ~near
    if far.any():
        # Debye's expansion (DLMF 10.41.3), with h = 1 / hypot(nu, x):
        # I_nu(x) = exp(1/h - nu asinh(nu / x)) sqrt(h / 2 pi) sum_k h^k u_k(nu^2 h^2)
        z = flat[far]
        h = 1.0 / np.hypot(nu, z)
        grows = nu * nu / (1.0 / h + z) - nu * np.arcsinh(nu / z)  # the exponent less x, without their cancellation
        out[far] = grows + 0.5 * np.log(h / (2 * np.pi)) + np.log(_debye_sum(nu, h))
    if near.any():
        # The power series, for x^2 / 4 <= nu + 1: its k-th term is then at most 1 / k!.  DLMF 10.25.2.
        z = flat[near]
        y, term, total = 0.25 * z * z, np.ones_like(z), np.ones_like(z)
        for k in range(1, 24):
            term = term * y / (k * (nu + k))
            total += term
        out[near] = nu * np.log(0.5 * z) - gammaln(nu + 1.0) + np.log(total) - z
    if rest.any():
        out[rest] = np.log(ive(nu, flat[rest]))  # neither small nor large: nothing under- or overflows
    return out.reshape(x.shape)


def ratio(D: int, x: ArrayLike) -> Array:
    """A_D(x) = I_{D/2}(x) / I_{D/2-1}(x): the mean resultant length of a von Mises-Fisher distribution."""
    x = np.asarray(x, np.float64)
    if D == 1:
        return np.asarray(np.tanh(x))
    nu, flat = D / 2 - 1, np.atleast_1d(x)
    out = np.empty_like(flat)
    slow = flat > nu + 1.0  # where the continued fraction needs about x terms
    far = slow & (np.hypot(nu, flat) >= FAR)
    rest = slow & ~far
    if not slow.all():
        # Gauss' continued fraction, from its tail: 1 / (b_1 + 1 / (b_2 + ...)), with b_j = 2 (nu + j) / x. The tail
        # starts from an Amos bound, which is already close.  DLMF 10.33.1.
        z, end = flat[~slow], nu + FRACTIONS
        value = z / (end + 0.5 + np.sqrt(z * z + (end + 1.5) ** 2))
        for j in range(FRACTIONS, 0, -1):
            value = z / (2.0 * (nu + j) + z * value)
        out[~slow] = value
    if rest.any():
        out[rest] = ive(nu + 1.0, flat[rest]) / ive(nu, flat[rest])
    if far.any():
        # The exponents of the two are large and nearly equal, so their difference is taken by hand.
        z = flat[far]
        a, b = (nu + 1.0) / z, nu / z
        long_a, long_b = np.sqrt(1.0 + a * a), np.sqrt(1.0 + b * b)
        rise = np.arcsinh((a + b) / (z * (a * long_b + b * long_a)))  # asinh(a) - asinh(b)
        exponent = (a + b) / (long_a + long_b) - np.arcsinh(a) - nu * rise
        sums = _debye_sum(nu, 1.0 / (z * long_b)), _debye_sum(nu + 1.0, 1.0 / (z * long_a))
        out[far] = np.exp(exponent) * np.sqrt(long_b / long_a) * sums[1] / sums[0]
    return out.reshape(x.shape)


_ratio_at = lru_cache(maxsize=64)(ratio)


def bounds_of_inverse_ratio(D: int, r: ArrayLike) -> tuple[Array, Array]:
    """Below and above A_D^{-1}(r), by the inverses of Amos' bounds (Hornik & Gruen 2014).  Eq. (V.8)."""
    r = np.asarray(r, np.float64)
    a = (D - 1) / 2  # nu + 1/2
    left = (1.0 - r) * (1.0 + r)

    def inverse(b_squared: float) -> Array:
        return r / left * (a + np.sqrt((a * r) ** 2 + b_squared * left))

    return inverse(a * (a + 1.0)), inverse((a + 1.0) ** 2)


def inverse_ratio(D: int, r: ArrayLike, largest: float = LARGEST) -> Array:
    """The x with A_D(x) = r, for 0 <= r; `largest` where r is A_D(largest) or more.

    Halley's steps from Banerjee's approximation r (D - r^2) / (1 - r^2), kept within Amos' bounds: what Newton's (Sra
    2012) need four of, these do in two. They end when the next would move x by no more than its rounding (far out,
    where A_D' has few digits, a little later).
    """
    whole = np.asarray(r, np.float64)
    flat = np.atleast_1d(whole)
    out = np.zeros_like(flat)
    top = flat >= _ratio_at(D, float(largest))
    out[top] = largest
    inner = ~top & (flat > 0)
    r = flat[inner]
    if D == 1:
        out[inner] = np.minimum(np.arctanh(r), largest)
    elif len(r):
        low, high = bounds_of_inverse_ratio(D, r)
        high = np.minimum(high, largest)
        low = np.minimum(low, high)
        x = np.clip(r * (D - r**2) / ((1.0 - r) * (1.0 + r)), low, high)
        for _ in range(50):
            A = ratio(D, x)
            a = (D - 1) / x
            slope = np.maximum((1.0 - A) * (1.0 + A) - a * A, 1e-300)  # A_D'(x)
            bend = a * A / x - (2.0 * A + a) * slope  # A_D''(x)
            low, high = np.where(r >= A, np.maximum(low, x), low), np.where(r <= A, np.minimum(high, x), high)
            newton = (A - r) / slope
            step = x - newton / np.maximum(1.0 - 0.5 * newton * bend / slope, 0.5)
            new = np.where((step >= low) & (step <= high), step, 0.5 * (low + high))
            # Where a step is smaller, its cube is left.
            moves = (np.abs(new - x) > np.minimum(1e-6 * x, 1e-4)) & (np.abs(A - r) > 4e-16 * r)
            x = new
            if not moves.any():
                break
        out[inner] = x
    return out.reshape(whole.shape)


def _debye_sum(nu: float, h: Array) -> Array:
    """sum_k h^k u_k(nu^2 h^2), of the terms that are felt: the k-th is about k! / (2 hypot(nu, x))^k at most."""
    reach, size, n = 1.0 / float(h.max(initial=1e-300)), 1.0, 0
    while size > 1e-17 and n < TERMS:
        n += 1
        size *= n / (2.0 * reach)
    p2, u = (nu * h) ** 2, np.zeros((n, len(h)))
    for c in _debye_polynomials()[: n + 1, :n, None][::-1]:  # all polynomials at once, by Horner's rule
        u *= p2
        u += c
    total = u[n - 1]
    for k in range(n - 2, -1, -1):
        total = u[k] + h * total
    return np.asarray(1.0 + h * total)


@cache
def _debye_polynomials() -> Array:
    """[TERMS + 1, TERMS] u_1, u_2 ... by column: coefficients of powers of p^2. p^k u_k(p^2) is U_k(p) in DLMF 10.41.9:

    U_{k+1}(p) = p^2 (1 - p^2) U_k'(p) / 2 + int_0^p (1 - 5 t^2) U_k(t) dt / 8
    """
    U: dict[int, Fraction] = {0: Fraction(1)}  # coefficient of each power of p
    out = np.zeros((TERMS + 1, TERMS))
    for k in range(1, TERMS + 1):
        V: dict[int, Fraction] = {}
        for n, c in U.items():
            terms = {n + 1: c * n / 2 + c / (8 * (n + 1)), n + 3: -c * n / 2 - 5 * c / (8 * (n + 3))}
            for power, value in terms.items():
                V[power] = V.get(power, Fraction(0)) + value
        U = V
        out[: k + 1, k - 1] = [float(U.get(n, Fraction(0))) for n in range(k, 3 * k + 1, 2)]
    return out
