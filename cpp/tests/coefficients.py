"""Makes cpp/base/math_coefficients.hpp: the polynomials of cpp/base/math.hpp, from their definitions.

    python cpp/tests/coefficients.py > cpp/base/math_coefficients.hpp

Each is the interpolant at Chebyshev points, solved in 60 digits and rounded once. That is within a bit of the best
polynomial of its degree. Degrees were chosen so that the truncation error stays below half an ulp of the result.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import mpmath as mp

mp.mp.dps = 60
half, tiny = mp.mpf(1) / 2, mp.mpf(10) ** -25
digamma_root = mp.findroot(lambda x: mp.psi(0, x), mp.mpf("1.46163214496836"))


def exp_tail(r: mp.mpf) -> mp.mpf:
    return mp.nsum(lambda j: r**j / mp.factorial(j + 2), [0, mp.inf])


def log_tail(z: mp.mpf) -> mp.mpf:
    return mp.nsum(lambda j: 2 * z**j / (2 * j + 3), [0, mp.inf])


def digamma_near(u: mp.mpf) -> mp.mpf:
    t = 3 * half + u
    return mp.psi(0, t) / (t - digamma_root)


def digamma_far(z: mp.mpf) -> mp.mpf:
    x = 1 / mp.sqrt(z)
    return (mp.log(x) - 1 / (2 * x) - mp.psi(0, x)) * x * x


def lgamma_near(u: mp.mpf) -> mp.mpf:
    return mp.loggamma(2 + u) / u if u else 1 - mp.euler


def lgamma_far(z: mp.mpf) -> mp.mpf:
    x = 1 / mp.sqrt(z)
    return (mp.loggamma(x) - (x - half) * mp.log(x) + x - mp.log(2 * mp.pi) / 2) * x


def exp_digamma_near(u: mp.mpf) -> mp.mpf:
    return mp.exp(mp.psi(0, 3 * half + u))


def exp_digamma_far(z: mp.mpf) -> mp.mpf:
    y = 1 / mp.sqrt(z)
    return (mp.exp(mp.psi(0, y + half)) - y) * y


# name, function, interval, degree for float, degree for double, what it is
TABLES: list[tuple[Callable[[mp.mpf], mp.mpf], mp.mpf, mp.mpf, int, int, str]] = [
    (exp_tail, -mp.log(2) / 2, mp.log(2) / 2, 4, 10, "(exp(r) - 1 - r) / r^2, |r| <= log(2) / 2"),
    (log_tail, 0, (3 - 2 * mp.sqrt(2)) ** 2, 3, 7, "(2 atanh(s) - 2 s) / s^3 in z = s^2, |s| <= 3 - sqrt(8)"),
    (digamma_near, -half, half, 11, 22, "psi(1.5 + u) / (1.5 + u - root), |u| <= 1/2"),
    (digamma_far, 0, mp.mpf(1) / 4, 5, 17, "(log x - 1 / 2x - psi(x)) x^2 in z = 1 / x^2, x >= 2"),
    (lgamma_near, -half, half, 9, 18, "log Gamma(2 + u) / u, |u| <= 1/2"),
    (lgamma_far, 0, mp.mpf(4) / 25, 4, 13, "(log Gamma(x) - Stirling) x in z = 1 / x^2, x >= 2.5"),
    (exp_digamma_near, -half, half, 10, 20, "exp(psi(1.5 + u)), |u| <= 1/2"),
    (exp_digamma_far, 0, mp.mpf(4) / 9, 6, 19, "(exp(psi(y + 1/2)) - y) y in z = 1 / y^2, y >= 3/2"),
]


def interpolant(f: Callable[[mp.mpf], mp.mpf], a: mp.mpf, b: mp.mpf, degree: int) -> list[mp.mpf]:
    nodes = [(a + b) / 2 + (b - a) / 2 * mp.cos(mp.pi * (2 * j + 1) / (2 * degree + 2)) for j in range(degree + 1)]
    nodes = [mp.mpf(0) if abs(x) < tiny else x for x in nodes]
    vandermonde = mp.matrix([[x**i for i in range(degree + 1)] for x in nodes])
    return list(mp.lu_solve(vandermonde, mp.matrix([f(x) for x in nodes])))


def literal(x: mp.mpf, kind: str) -> str:
    return mp.nstr(x, 17) if kind == "double" else mp.nstr(x, 9) + "f"


def main() -> None:
    out = ["// Made by cpp/tests/coefficients.py, which says how. Lowest power first.", "#pragma once", ""]
    out += ["namespace topmix::coefficients {", "", "template <class T>", "struct Table;", ""]
    for column, kind in enumerate(("float", "double")):
        out += ["template <>", f"struct Table<{kind}> {{"]
        for f, a, b, *degrees, what in TABLES:
            values = ", ".join(literal(c, kind) for c in interpolant(f, a, b, degrees[column]))
            out += [f"    // {what}", f"    static constexpr {kind} {f.__name__}[] = {{{values}}};"]
        bits = 24 if kind == "float" else 53
        high = mp.nint(digamma_root * 2 ** (bits - 1)) / 2 ** (bits - 1)
        out += [
            "    // The root of digamma is root_high + root_low.",
            f"    static constexpr {kind} root_high = {literal(high, kind)},",
            f"                         root_low = {literal(digamma_root - high, kind)};",
            "};",
            "",
        ]
    sys.stdout.write("\n".join([*out, "}  // namespace topmix::coefficients", ""]))


if __name__ == "__main__":
    main()
