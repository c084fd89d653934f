"""Figures 2 and 3 of Hughes, Kim & Sudderth, Reliable and Scalable Variational Inference for the HDP (2015).

    python -m papers.hdp [--quick] [--figures 2 3] [--corpus nips]

Is the surrogate a bound, and do restarts help a document?

2   the surrogate of E[c_Dir(alpha beta)], their Eq. (12), beside the exact value: over alpha, for several beta; and
    what one more topic that nobody uses costs, by the exact value, by the surrogate and by a point estimate of beta
3   one document's local step, K = 100: the bound of the document in runs from random starts, and in one run that then
    tries to do without its smallest topics; and where in N_dk those runs end

Their figure 3 has one document of Science, and does not say how it was chosen. Here some documents of nips (generated
ones with --quick) are solved; what is printed is of them all, and the one that gains most by restarts is drawn, since a
document whose first run is already the best shows nothing. The main numbers are printed too.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.special import digamma, gammaln

from benchmarks.harness import arguments, datasets, drawing
from benchmarks.harness.methods import ours
from benchmarks.harness.results import Results
from papers import FIGURES
from topmix.allocations.topic_sticks import Sticks
from topmix.numerics import dirichlet

ALPHAS = np.logspace(-3, 3, 61)
GHOST = 1e-3  # tokens; a topic with fewer has left, and there is nothing to be gained by trying without it


def pieces(u: np.ndarray) -> np.ndarray:
    """[..., K] sticks to [..., K + 1] pieces, the leftover last."""
    left = np.cumprod(1.0 - u, axis=-1)
    before = np.concatenate([np.ones((*u.shape[:-1], 1)), left[..., :-1]], axis=-1)
    return np.concatenate([u * before, left[..., -1:]], axis=-1)


def surrogate(alpha: np.ndarray | float, u: np.ndarray) -> np.ndarray:
    """Eq. (12)."""
    K = u.shape[-1]
    return K * np.log(alpha) + np.log(u).sum(axis=-1) + np.log1p(-u) @ np.arange(K, 0, -1.0)


def figure_2(draws: int, folder: Path, out: Results) -> None:
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
    out.add({"change_by_empty_topics": cost}, {"figure": 2, "draws": draws})
    page = drawing.page(folder, "hdp_2.png", (8.4, 3.4), columns=2)
    if page is None:
        return
    left, right = page.panels[0]
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
    page.save()


def empty_topics(alpha: float = 0.5, gamma: float = 10.0, D: int = 100) -> dict[str, np.ndarray]:
    """What empty topics change per document, if D documents have 20 tokens in each of 5 topics.

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
        """n iterations from N [K]. Returns N, and the bound after each iteration. A zero stays zero."""
        trace = []
        for _ in range(n):
            with np.errstate(divide="ignore"):
                weight = np.where(N > 0, digamma(np.maximum(N + self.prior[:-1], 1e-300)), -np.inf)
            s = weight + self.log_phi
            top = s.max(axis=1, keepdims=True)
            r = np.exp(s - top)
            r /= r.sum(axis=1, keepdims=True)
            N = self.c @ r
            N[N < GHOST] = 0.0
            trace.append(self.bound(N, r))
        return N, trace

    def bound(self, N: np.ndarray, r: np.ndarray) -> float:
        """With q(pi) at its best, without terms that do not depend on r; docs/math.md Eq. (3.9)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            words = np.where(r > 0, r * (self.log_phi - np.log(r)), 0.0)
        a = self.prior[:-1]
        return float(self.c @ words.sum(axis=1) + np.sum(gammaln(N + a) - gammaln(a)))

    def restarts(
        self, N: np.ndarray, trace: list[float], n: int, tries: int = 5
    ) -> tuple[np.ndarray, list[float], list[np.ndarray], int]:
        """Tries to do without each of the smallest topics; keeps what is higher after n iterations."""
        trace, stops, tried = list(trace), [N], 0
        failed: set[int] = set()
        while True:
            smallest = [int(k) for k in np.argsort(N, kind="stable") if N[k] > 0 and int(k) not in failed][:tries]
            better = False
            for k in smallest:
                if np.count_nonzero(N) < 2:
                    break
                there, tried = N.copy(), tried + 1
                there[k] = 0.0
                there, climbed = self.ascend(there, n)
                if climbed[-1] > trace[-1]:
                    N, better = there, True
                    stops.append(N)
                    trace += climbed
                else:
                    failed.add(k)
            if not better:
                return N, trace, stops, tried


class Solved(NamedTuple):
    """One document from many random starts, the first of them with restarts as well."""

    tokens: float
    runs: list[tuple[np.ndarray, list[float]]]  # N and the trace of each start
    N: np.ndarray
    trace: list[float]
    stops: list[np.ndarray]  # N at each fixed point on the way
    tried: int

    def gain(self) -> float:
        return (self.trace[-1] - self.runs[0][1][-1]) / self.tokens


def figure_3(
    data: datasets.Dataset, K: int, documents: int, starts: int, iterations: int, folder: Path, out: Results
) -> None:  # fmt: skip
    hdp = ours.hdp(K, inference="variational", search=None, max_iter=15, random_state=0).fit(data.train)
    lam = hdp.components_.T
    expected = digamma(lam) - digamma(lam.sum(axis=0))
    prior = hdp.concentration_ * np.append(hdp.topic_shares_, 1.0 - hdp.topic_shares_.sum())
    rng = np.random.default_rng(0)
    all_solved = []
    for d in range(min(documents, data.scored.shape[0])):
        row = slice(data.scored.indptr[d], data.scored.indptr[d + 1])
        counts = data.scored.data[row].astype(np.float64)
        document = OneDocument(counts, expected[data.scored.indices[row]], prior)
        runs = [document.ascend(counts.sum() * rng.dirichlet(np.ones(K)), iterations) for _ in range(starts)]
        all_solved.append(Solved(counts.sum(), runs, *document.restarts(*runs[0], n=max(3, iterations // 10))))
    gains = np.array([s.gain() for s in all_solved])
    beaten = np.array([np.mean([s.trace[-1] >= t[-1] for _, t in s.runs]) for s in all_solved])
    before = np.mean([np.count_nonzero(s.runs[0][0]) for s in all_solved])
    after = np.mean([np.count_nonzero(s.N) for s in all_solved])
    accepted = sum(len(s.stops) - 1 for s in all_solved) / max(1, sum(s.tried for s in all_solved))
    print(f"Figure 3: {len(gains)} documents of {data.name}, K = {K}, {starts} starts of {iterations} iterations each")
    print(f"  of restarts accepted {accepted:.0%}, topics per document {before:.1f} before and {after:.1f} after")
    print(f"  bound per token: {gains.mean():+.4f} by restarts, {gains.max():+.4f} where it is most")
    print(f"  as high as {beaten.mean():.0%} of the starts or higher; the best of them in {np.mean(beaten == 1):.0%}")
    found = {"gains": gains, "share_of_starts_reached": beaten, "topics": [before, after], "accepted": accepted}
    out.add(found, {"figure": 3, "K": K, "starts": starts, "iterations": iterations}, data)
    draw_restarts(all_solved[int(np.argmax(gains))], folder)


def draw_restarts(s: Solved, folder: Path) -> None:
    page = drawing.page(folder, "hdp_3.png", (8.4, 3.4), columns=2)
    if page is None:
        return
    left, right = page.panels[0]
    order = np.argsort(-np.max(s.stops, axis=0), kind="stable")[:20]
    shown = [s.stops[i] for i in sorted({0, len(s.stops) // 2, len(s.stops) - 1})]
    names = (
        ["the first start", "on the way", "with restarts"] if len(shown) == 3 else ["the first start", "with restarts"]
    )
    width = 0.8 / len(shown)
    for i, (N, name) in enumerate(zip(shown, names)):
        color = drawing.GREY if i == 0 else drawing.RED if i == len(shown) - 1 else drawing.SKY
        left.bar(np.arange(len(order)) + (i - 1) * width, N[order], width, color=color, label=name)
    left.set(xlabel="topics, by use", ylabel="tokens, N_dk", yscale="symlog")
    left.legend()
    for i, (_, t) in enumerate(s.runs):
        named = "random starts" if i == 0 else f"_{i}"
        at = np.arange(1, len(t) + 1)
        right.plot(at, np.array(t) / s.tokens, "--", color=drawing.GREY, lw=0.6, alpha=0.7, label=named)
    at = np.arange(1, len(s.trace) + 1)
    right.plot(at, np.array(s.trace) / s.tokens, color=drawing.RED, lw=2, label="with restarts")
    values = [v / s.tokens for _, t in s.runs for v in t[5:]] + [v / s.tokens for v in s.trace[5:]]
    drawing.zoom(right, values, above=0.1)
    right.set(xscale="log", xlabel="iterations", ylabel="bound of the document, nats per token")
    right.legend()
    page.save()


def main(argv: list[str] | None = None) -> int:
    p = arguments.parser(__doc__, quick="a generated corpus, few documents and draws")
    arguments.add_corpus(p, "nips")
    p.add_argument("--figures", nargs="+", default=["2", "3"], choices=["2", "3"])
    arguments.add_draw(p, FIGURES)
    a = p.parse_args(argv)
    out = Results(a.out, "papers.hdp")
    if "2" in a.figures:
        figure_2(20 if a.quick else 2000, a.draw, out)
    if "3" in a.figures:
        data = datasets.load(datasets.GENERATED if a.quick else a.corpus, split=a.split, role=a.role)
        K, documents, starts, iterations = (30, 5, 5, 60) if a.quick else (100, 20, 20, 100)
        figure_3(data, K, documents, starts, iterations, a.draw, out)
    return 0


if __name__ == "__main__":
    arguments.command(main)
