"""Figures 2 and 3 of Hughes, Kim & Sudderth, Reliable and Scalable Variational Inference for the HDP (2015).

    python papers/hdp.py [--quick] [--out papers/figures] [--figures 2 3] [--corpus nips]

2   the surrogate of E[c_Dir(alpha beta)], their Eq. (12), beside the exact value: over alpha, for several beta; and
    what one more topic that nobody uses costs, by the exact value, by the surrogate and by a point estimate of beta
3   one document's local step, K = 100: the bound of the document in runs from random starts, and in one run that then
    tries to do without its smallest topics; and where in N_dk those runs end

Their figure 3 has a document of Science; here it is one of nips, or a generated one with --quick, the same for every
run. Needs matplotlib to draw, and prints the figures' main numbers without.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
from scipy.special import digamma, gammaln

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))

import datasets
import drawing
from topmix import HDP, dirichlet
from topmix.allocations.topic_sticks import Sticks

ALPHAS = np.logspace(-3, 3, 61)


def pieces(u: np.ndarray) -> np.ndarray:
    """[..., K] sticks to [..., K + 1] pieces, the leftover last."""
    left = np.cumprod(1.0 - u, axis=-1)
    before = np.concatenate([np.ones((*u.shape[:-1], 1)), left[..., :-1]], axis=-1)
    return np.concatenate([u * before, left[..., -1:]], axis=-1)


def surrogate(alpha: np.ndarray | float, u: np.ndarray) -> np.ndarray:
    """Eq. (12)."""
    K = u.shape[-1]
    return K * np.log(alpha) + np.log(u).sum(axis=-1) + np.log1p(-u) @ np.arange(K, 0, -1.0)


def figure_2(draws: int, folder: Path) -> None:
    rng = np.random.default_rng(0)
    print("Figure 2: c_Dir(alpha beta) and the surrogate")
    print(f"  {'K':>5}{'gamma':>8}{'least gap':>14}{'gap at alpha = 0.5':>20}{'at alpha = 10':>16}")
    shown = []
    for K in (2, 10, 100):
        for gamma in (1.0, 10.0):
            u = np.clip(rng.beta(1.0, gamma, (draws, K)), 1e-9, 1.0 - 1e-9)
            beta = np.maximum(pieces(u), 1e-290)
            gap = np.array([dirichlet.log_normaliser(a * beta, axis=1) - surrogate(a, u) for a in ALPHAS])
            at = [gap[np.argmin(np.abs(ALPHAS - a))].mean() for a in (0.5, 10.0)]
            print(f"  {K:>5}{gamma:>8g}{gap.min():>14.2e}{at[0]:>20.4f}{at[1]:>16.4f}")
            if gap.min() < -1e-6 * np.abs(gap).max():
                raise AssertionError(f"the surrogate is above c_Dir by {-gap.min():.3g}")
            shown.append((K, gamma, gap.mean(axis=1)))
    cost = empty_topics()
    print("  one document's change of the bound, for 1 to 20 empty topics beside 5:")
    for name, values in cost.items():
        print(f"    {name:<28}{values[1]:>10.4f}{values[5]:>10.4f}{values[20]:>10.4f}   (1, 5, 20)")
    plt = drawing.pyplot()
    if plt is None:
        return
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.4, 3.4), layout="constrained")
    for (K, gamma, gap), color in zip(shown, drawing.PALETTE):
        left.plot(ALPHAS, np.maximum(gap, 1e-8), color=color, label=f"K = {K}, γ = {gamma:g}")
    left.set(xscale="log", yscale="log", xlabel="α", ylabel="c_Dir(αβ) − surrogate, mean of draws")
    left.set_title("the surrogate is never above")
    left.legend()
    styles = zip(cost.items(), (drawing.BLUE, drawing.RED, drawing.BLACK), ("o", "s", "^"))
    for (name, values), color, mark in styles:
        right.plot(np.arange(len(values)), values, color=color, marker=mark, label=name)
    right.set(xlabel="empty topics beside 5", ylabel="change of the bound, one document")
    right.axhline(0.0, color=drawing.GREY, lw=0.8)
    right.set_title("empty topics cost a little, or are rewarded")
    right.legend()
    drawing.save(figure, folder / "hdp_2.png")
    plt.close(figure)


def empty_topics(alpha: float = 0.5, gamma: float = 10.0, D: int = 100) -> dict[str, np.ndarray]:
    """What empty topics change, a document, where D documents have 20 tokens in each of 5 topics.

    Empty topics have 0.002 of the sticks each, taken from the 0.2 that are left over. A point estimate has the exact
    c_Dir(alpha beta), and the density of its sticks in the place of a divergence.
    """
    N = np.full(5, 20.0)
    out: dict[str, list[float]] = {"surrogate": [], "point estimate of β": []}
    for n in range(21):
        shares = np.concatenate([np.full(5, 0.16), np.full(n, 0.002)])
        sticks = Sticks.of_shares(shares, float(D), gamma)
        prior = alpha * sticks.shares()
        theta = prior + np.concatenate([N, np.zeros(n + 1)])
        T = digamma(theta) - digamma(theta.sum())
        rest = -dirichlet.log_normaliser(theta) + float(np.concatenate([N, np.zeros(n + 1)]) @ T)
        rest -= float((theta - prior) @ T)
        out["surrogate"].append(rest + sticks.log_normaliser(alpha) - sticks.divergence(gamma) / D)
        density = float(np.sum(np.log(gamma) + (gamma - 1.0) * np.log1p(-sticks.rho))) / D
        out["point estimate of β"].append(rest + float(dirichlet.log_normaliser(prior)) + density)
    return {name: np.array(values) - values[0] for name, values in out.items()}


class OneDocument:
    """Coordinate ascent on one document under fixed topics: r, then theta, as in their Eqs. (13) and (14)."""

    def __init__(self, counts: np.ndarray, log_phi: np.ndarray, prior: np.ndarray):
        self.c, self.log_phi, self.prior = counts, log_phi, prior  # [U], [U, K], [K + 1]

    def ascend(self, N: np.ndarray, n: int) -> tuple[np.ndarray, list[float]]:
        """n iterations from N [K]; returns where it got, and the bound after each. What is zero stays so."""
        trace = []
        for _ in range(n):
            with np.errstate(divide="ignore"):
                weight = np.where(N > 0, digamma(np.maximum(N + self.prior[:-1], 1e-300)), -np.inf)
            s = weight + self.log_phi
            top = s.max(axis=1, keepdims=True)
            r = np.exp(s - top)
            r /= r.sum(axis=1, keepdims=True)
            N = self.c @ r
            N[N < 1e-12] = 0.0
            trace.append(self.bound(N, r))
        return N, trace

    def bound(self, N: np.ndarray, r: np.ndarray) -> float:
        """With q(pi) at its best, less what does not depend on r; docs/math.md Eq. (3.9)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            words = np.where(r > 0, r * (self.log_phi - np.log(r)), 0.0)
        a = self.prior[:-1]
        return float(self.c @ words.sum(axis=1) + np.sum(gammaln(N + a) - gammaln(a)))

    def restarts(
        self, N: np.ndarray, trace: list[float], n: int, tries: int = 5
    ) -> tuple[np.ndarray, list[float], int]:
        """Without each of the smallest topics in turn; what is higher after n iterations is kept."""
        trace, accepted = list(trace), 0
        tried: set[int] = set()
        while True:
            smallest = [int(k) for k in np.argsort(N, kind="stable") if N[k] > 0 and int(k) not in tried][:tries]
            better = False
            for k in smallest:
                if np.count_nonzero(N) < 2:
                    break
                tried.add(k)
                there = N.copy()
                there[k] = 0.0
                there, climbed = self.ascend(there, n)
                if climbed[-1] > trace[-1]:
                    N, better, accepted = there, True, accepted + 1
                    trace += climbed
            if not better:
                return N, trace, accepted


def figure_3(corpus: str, K: int, starts: int, iterations: int, folder: Path) -> None:
    data = datasets.load(corpus)
    hdp = HDP(K, posterior="variational", adapt=False, max_iter=8, random_state=0).fit(data.train)
    X = data.test
    d = int(np.argsort(np.asarray(X.sum(axis=1)).ravel(), kind="stable")[X.shape[0] // 2])
    words, counts = X.indices[X.indptr[d] : X.indptr[d + 1]], X.data[X.indptr[d] : X.indptr[d + 1]].astype(np.float64)
    lam = hdp.components_.T
    log_phi = digamma(lam[words]) - digamma(lam.sum(axis=0))
    prior = hdp.concentration_ * np.append(hdp.topic_shares_, 1.0 - hdp.topic_shares_.sum())
    document = OneDocument(counts, log_phi, prior)
    rng = np.random.default_rng(0)
    runs = [document.ascend(counts.sum() * rng.dirichlet(np.ones(K)), iterations) for _ in range(starts)]
    N, trace, accepted = document.restarts(*runs[0], n=max(3, iterations // 10))
    ends = np.array([t[-1] for _, t in runs])
    tokens = counts.sum()
    print(
        f"Figure 3: a document of {corpus}, {tokens:.0f} tokens, K = {K}, {iterations} iterations from {starts} starts"
    )
    least, mean, highest = (value / tokens for value in (ends.min(), ends.mean(), ends.max()))
    print(f"  bound a token   least {least:.4f}   mean {mean:.4f}   highest {highest:.4f}")
    share = np.mean(trace[-1] > ends)
    print(f"  the first {ends[0] / tokens:.4f}, with restarts {trace[-1] / tokens:.4f} ({accepted} accepted)")
    print(f"  that is higher than {share:.0%} of the starts")
    used = [np.count_nonzero(n > 0.5) for n, _ in runs]
    print(f"  topics in use: {min(used)} to {max(used)} from random starts, {np.count_nonzero(N > 0.5)} with restarts")
    plt = drawing.pyplot()
    if plt is None:
        return
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.4, 3.4), layout="constrained")
    order = np.argsort(-np.max([n for n, _ in runs], axis=0), kind="stable")[:25]
    best = runs[int(np.argmax(ends))][0]
    left.bar(np.arange(25) - 0.27, runs[0][0][order], 0.27, color=drawing.GREY, label="the first start")
    left.bar(np.arange(25), best[order], 0.27, color=drawing.SKY, label="highest of the starts")
    left.bar(np.arange(25) + 0.27, N[order], 0.27, color=drawing.RED, label="the first, with restarts")
    left.set(xlabel="topics, by use", ylabel="tokens, N_dk")
    left.legend()
    for i, (_, t) in enumerate(runs):
        at = np.arange(1, len(t) + 1)
        named = "random starts" if i == 0 else f"_{i}"
        right.plot(at, np.array(t) / tokens, "--", color=drawing.GREY, lw=0.6, alpha=0.7, label=named)
    right.plot(np.arange(1, len(trace) + 1), np.array(trace) / tokens, color=drawing.RED, lw=2, label="with restarts")
    drawing.zoom(right, [v / tokens for _, t in runs for v in t[2:]] + [v / tokens for v in trace[2:]], above=0.1)
    right.set(xscale="log", xlabel="iterations", ylabel="bound of the document, nats a token")
    right.legend()
    drawing.save(figure, folder / "hdp_3.png")
    plt.close(figure)


def main(argv: list[str] | None = None) -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--quick", action="store_true")
    p.add_argument("--figures", nargs="+", default=["2", "3"], choices=["2", "3"])
    p.add_argument("--corpus", default="nips")
    p.add_argument("--out", type=Path, default=Path(__file__).resolve().parent / "figures")
    a = p.parse_args(argv)
    if "2" in a.figures:
        figure_2(20 if a.quick else 2000, a.out)
    if "3" in a.figures:
        corpus, K, starts = (datasets.GENERATED, 30, 10) if a.quick else (a.corpus, 100, 50)
        figure_3(corpus, K, starts, 60 if a.quick else 200, a.out)


if __name__ == "__main__":
    main()
