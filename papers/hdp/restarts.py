"""Figure 3: one document's local step, from random starts and with restarts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.special import digamma, gammaln

from benchmarks.harness import datasets, drawing
from benchmarks.harness.methods import ours
from benchmarks.harness.results import Results
from topmix import _core
from topmix.data.shard import Shard
from topmix.local.solve import solve

GHOST = 1e-3  # tokens; a topic with fewer is gone, and a restart without it would gain nothing


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


def bounds_from_starts(fitted: Any, shard: Shard, starts: int, tries: int = 5, seed: int = 0) -> dict[str, Any]:
    """Documents solved by the kernel under the topics of a fitted HDP, from random starts, and with restarts.

    For each document: tokens, the bound per token of every start [documents, starts], that of the first start with
    restarts, and topics before and after. The kernel gives counts; their bound is computed in float64.
    """
    lam = fitted.components_.T
    expected = digamma(lam) - digamma(lam.sum(axis=0))
    prior = fitted.concentration_ * np.append(fitted.topic_shares_, 1.0 - fitted.topic_shares_.sum())
    K, rng = lam.shape[1], np.random.default_rng(seed)
    rows = [slice(*shard.indptr[d : d + 2]) for d in range(shard.n_rows)]
    columns = np.asarray(shard.cols)
    documents = [OneDocument(np.asarray(shard.value[r], float), expected[columns[shard.index[r]]], prior) for r in rows]
    tokens = np.array([document.c.sum() for document in documents])

    def solved(start: np.ndarray, restarts: int) -> tuple[np.ndarray, np.ndarray, tuple[int, int, int]]:
        options = replace(fitted.model_.documents, n_active=None, restarts=restarts, eps=GHOST, tol=1e-3)
        tables = replace(fitted.model_, documents=options).tables(shard.cols)
        found = solve(shard, tables, _core.TopicScratch(), start=start, want_words=False)
        N = np.zeros((shard.n_rows, K))
        N[np.repeat(np.arange(shard.n_rows), np.diff(found.docs.indptr)), found.docs.topic] = found.docs.count
        bounds = np.array([document.ascend(n, 1)[1][0] for document, n in zip(documents, N)])
        return N, bounds / tokens, found.effort

    first, bounds = None, []
    for _ in range(starts):
        start = tokens[:, None] * rng.dirichlet(np.ones(K), shard.n_rows)
        first = start if first is None else first
        bounds.append(solved(start, 0)[1])
    before = solved(first, 0)[0]
    after, with_restarts, effort = solved(first, tries)
    return {
        "tokens": tokens,
        "bounds": np.array(bounds).T,
        "with_restarts": with_restarts,
        "topics_before": (before > 0).sum(axis=1),
        "topics_after": (after > 0).sum(axis=1),
        "accepted": effort[2] / max(effort[1], 1),
        "N_before": before[:1],
        "N_after": after[:1],
    }


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
