"""Gaussian clusters with full covariances on the device: moments, the conjugate update, and what rows need of it.

A cluster has D (D + 1) / 2 second moments and as many entries of its precision. They stay on the device; the host has
some numbers of each cluster. The formulas are those of models/gaussian.py, and so are the names.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np

from topmix.cuda.clusters import Clusters
from topmix.cuda.device import Device, DeviceArray, Given, padded
from topmix.cuda.row_sums import features_of, made
from topmix.models.frame import ROUNDING, GaussianStats, refuse_singular
from topmix.models.gaussian import Gaussian, rounding_of
from topmix.models.model import TOLERANCE


@dataclass(eq=False)
class DeviceGaussianStats:
    """Moments, as `GaussianStats` are on the host."""

    device: Device
    N: np.ndarray  # [K] on the host
    first: DeviceArray  # [K, D] float64
    second: DeviceArray  # [K, Q] float64

    @classmethod
    def zeros(cls, device: Device, K: int, D: int) -> DeviceGaussianStats:
        first, second = (device.zeros((K, n), np.float64) for n in (D, D * (D + 1) // 2))
        return cls(device, np.zeros(K), first, second)

    def add(self, other: DeviceGaussianStats | GaussianStats, weight: float = 1.0) -> DeviceGaussianStats:
        """self += weight * other, in place."""
        self.N += weight * other.N
        if isinstance(other, GaussianStats):
            moments = other.first, other.second
            first, second = self.device.kept(other, lambda: [self.device.array(x, np.float64) for x in moments])
        else:
            first, second = other.first, other.second
        self._combine(1.0, weight, first, second)
        return self

    def scale(self, c: float) -> DeviceGaussianStats:
        """self *= c, in place."""
        self.N *= c
        self._combine(c, 0.0, None, None)
        return self

    def _combine(self, factor: float, weight: float, *others: DeviceArray | None) -> None:
        for to, other in zip((self.first, self.second), others):
            given = {"to": to, "from": other, "factor": factor, "weight": weight, "n": int(to.size)}
            self.device.launch_over(to.size, "add_scaled", given)

    def __add__(self, other: DeviceGaussianStats) -> DeviceGaussianStats:
        return self.copy().add(other)

    def copy(self) -> DeviceGaussianStats:
        return DeviceGaussianStats.zeros(self.device, *self.first.shape).add(self)

    def __deepcopy__(self, memo: dict[int, object]) -> DeviceGaussianStats:
        return self.copy()

    def on_host(self) -> GaussianStats:
        return GaussianStats(self.N.copy(), self.device.get(self.first), self.device.get(self.second))

    for_file = on_host


class About(NamedTuple):
    """Numbers of clusters, each [K] on the host: as the enum About of mixture_arguments.hpp has them."""

    log_det: np.ndarray
    mPm: np.ndarray
    largest: np.ndarray
    rounding: np.ndarray  # sum of the squared terms of a typical score
    second: np.ndarray  # P : S, and the same of reg and the prior; P m times first and the prior's first moments
    reg: np.ndarray
    base: np.ndarray
    first: np.ndarray
    prior_first: np.ndarray
    psi: np.ndarray
    gamma: np.ndarray


class DevicePosterior(NamedTuple):
    """As models.gaussian.Posterior; P, m and Pm are on the device, the rest on the host."""

    beta: np.ndarray  # [K]
    nu: np.ndarray  # [K]
    P: DeviceArray  # [K, Q] packed
    m: DeviceArray  # [K, D]
    Pm: DeviceArray  # [K, D]
    about: About
    Elog: np.ndarray  # [K] E log |Lambda|
    log_gamma: np.ndarray  # [K] of the Wishart's constant
    mean_uncertainty: np.ndarray  # [K]


@dataclass(frozen=True, eq=False)
class DeviceGaussian:
    """q(mu_k, Lambda_k), or a point. It borrows the total it was made from."""

    device: Device
    settings: Gaussian  # all but its total
    total: DeviceGaussianStats
    jacobian: float

    has_scatter: ClassVar[bool] = False

    def on_host(self) -> Gaussian:
        return replace(self.settings, total=self.total.on_host())

    for_file = on_host

    def zeros(self, n_features: int, K: int) -> DeviceGaussianStats:
        return DeviceGaussianStats.zeros(self.device, K, n_features)

    def update(self, S: DeviceGaussianStats, N: np.ndarray) -> DeviceGaussian:
        """Conjugate update.  Eq. (G.6)."""
        new = replace(self, total=S)
        new.posterior  # noqa: B018  (now, before the learner changes the total)
        return new

    @cached_property
    def posterior(self) -> DevicePosterior:
        device, g, t = self.device, self.settings, self.total
        shape, p = g.shape, g.prior
        (K, D), Q = t.first.shape, shape.quadratic_size()
        N = np.maximum(t.N, 0.0)  # rounding may leave less than nothing
        beta, nu = p.beta + N, p.nu + N
        base = p.B if g.zero_mean else p.B + shape.prior_outer(K, p.beta, p.m)[0]
        constants = device.kept(p, lambda: [device.array(shape.packed(x[None])[0]) for x in (base, p.reg)])
        P, m, Pm = (device.empty((K, n), np.float64) for n in (Q, D, D))
        numbers = device.empty((K, len(About._fields)), np.float64)
        shared, blocks, room = 8 * (4 * D + D * D), K, None
        if shared > device.shared_per_block - 2048:
            shared, blocks = 8 * 4 * D, min(K, 2 * device.n_processors)
            room = device.empty((blocks, D, D), np.float64)
        given: Given = {"N": device.array(N), "beta": device.array(beta), "nu": device.array(nu)}
        given |= {"first": t.first, "second": t.second, "base": constants[0], "reg": constants[1]}
        given |= {"prior_first": device.array(p.beta * p.m), "P": P, "m": m, "Pm": Pm, "about": numbers}
        given |= {"room": room, "K": K, "D": D, "zero_mean": int(g.zero_mean)}
        device.launch("update_gaussians", blocks, 256, given, shared=shared)
        about = About(*device.get(numbers).T)
        refuse_singular(np.isnan(about.log_det))
        if p.is_negligible and not np.any(p.reg):
            refuse_singular(1.0 / about.largest < ROUNDING)
        Elog = (about.psi + D * np.log(2.0) if g.objective == "vb" else D * np.log(nu)) - about.log_det
        log_gamma = 0.25 * D * (D - 1) * np.log(np.pi) + about.gamma
        mean_uncertainty = D / beta if g.objective == "vb" and not g.zero_mean else np.zeros_like(beta)
        return DevicePosterior(beta, nu, P, m, Pm, about, Elog, log_gamma, mean_uncertainty)

    def bound(self, S: DeviceGaussianStats, N: np.ndarray) -> float:
        """As Gaussian.bound, for the total that this was made from."""
        assert S is self.total
        g, q, a, K, D = self.settings, self.posterior, self.posterior.about, len(S.N), self.settings.shape.D
        shape, p, is_bayes, has_prior = g.shape, g.prior, g.objective == "vb", float(g.objective != "ml")
        degrees, beta = has_prior * p.nu + S.N, has_prior * p.beta + S.N
        first, second = has_prior * a.prior_first + a.first, a.second + S.N * a.reg + has_prior * a.base
        value = S.N.sum() * (self.jacobian - 0.5 * D * np.log(2 * np.pi))
        if is_bayes:
            degrees, second = degrees - q.nu, second - q.nu * D  # P : B = nu D
            value -= np.sum(0.5 * q.nu * (a.log_det - D * np.log(2.0)) - q.log_gamma)
            if not g.zero_mean:
                beta, first, second = beta - q.beta, first - q.beta * a.mPm, second - q.beta * a.mPm
                value -= 0.5 * D * np.log(q.beta / (2 * np.pi)).sum()
        if has_prior:
            value += K * p.log_normaliser(shape)
            if not g.zero_mean:
                value += 0.5 * K * D * np.log(p.beta / (2 * np.pi))
        value += 0.5 * float(degrees @ q.Elog) - 0.5 * second.sum()
        if not g.zero_mean:
            value += first.sum() - 0.5 * float(beta @ (a.mPm + q.mean_uncertainty))
        return float(value)

    def tables(self, cols: np.ndarray) -> Clusters:
        return self._tables

    @cached_property
    def _tables(self) -> Clusters:
        device, g, q = self.device, self.settings, self.posterior
        (K, D), linear = self.total.first.shape, not g.zero_mean
        wide = g.dtype == "float64" or rounding_of(q.about.rounding, self.total.N, D) > TOLERANCE
        dtype, kind = (np.dtype(np.float64), "double") if wide else (np.dtype(np.float32), "float")
        F = len(features_of(D, "products", linear))
        W, centre = device.zeros((padded(K, 8), F), dtype), device.empty((K, D), dtype)
        given = {"P": q.P, "linear": q.Pm if linear else None, "m": q.m, "W": W, "centre": centre, "D": D, "F": F}
        device.launch(f"gaussian_weights_{kind}", K, 256, given)
        return Clusters(
            weights=made(device, D, "products", linear, W, K, dtype),
            constant=0.5 * (q.Elog - q.mean_uncertainty - q.about.mPm - D * np.log(2 * np.pi)),
            centre=centre,
            origin=g.frame.origin,
            A=np.ascontiguousarray(g.frame.scale),
            jacobian=self.jacobian,
            root=None,
            sums=lambda c, rows, m: DeviceGaussianStats(m.device, m.device.get(m.N), m.first, m.second),
        )
