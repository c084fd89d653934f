"""Twin of cpp/steps/document.hpp and cpp/steps/topics.hpp: one document at a time, float64, no lanes.

Float32 and float64 part ways where a decision hangs by a hair: a topic that holds almost exactly eps tokens, two
weights that tie at the cut. A document here remembers how close its closest decision was (`margin`), so that a test
can compare the documents whose path is not in doubt.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, gammaln, logsumexp, xlogy

from tests.twins.top_l import normalise_top_l, select

Array = NDArray[np.float64]
Extra = tuple[NDArray[np.int64], NDArray[np.uint16], Array]  # indptr [V + 1], topics and values


@dataclass(frozen=True)
class Options:
    """DocumentOptions of cpp/steps/document_options.hpp, field by field."""

    posterior: str = "collapsed"
    exclude: bool = True
    select_often: bool = False
    mean_change: bool = False
    L: int = 16
    eps: float = 0.0
    max_iter: int = 100
    tol: float = 0.05
    restarts: int = 0
    restart_iter: int = 3
    own_discount: float = 0.0


class LastVisit(NamedTuple):
    """What tables hold of the documents at hand, and how they were scaled."""

    docs: Array  # [D, K]
    scale: Array  # [words]
    norm: Array  # [K]
    least: float  # the smallest prior count of a word


class Responses(NamedTuple):
    """Of documents, classes (precision 0) or numbers: twin of cpp/steps/response.hpp."""

    eta: Array  # [outputs, K]
    y: Array  # [documents]
    precision: float
    weight: float


class Tilt:
    """The response of one document of n tokens."""

    def __init__(self, all: Responses, d: int, topics: NDArray[np.int64], n: float):
        self.eta, self.n, self.weight, self.precision = all.eta[:, topics], n, all.weight, all.precision
        self.y = int(all.y[d]) if self.precision == 0 else float(all.y[d])
        self.state = np.eye(len(self.eta))[int(self.y)] if self.precision == 0 else np.array([self.y])

    def shares(self, N: Array) -> tuple[Array, Array, Array]:
        """n (exp(eta / n) - 1) [classes, topics], its mean over tokens, and log p(class) bar a constant."""
        A = self.n * np.expm1(self.eta / self.n)
        return A, A @ N / self.n, self.n * np.log1p(A @ N / self.n**2)

    def follow(self, N: Array) -> None:
        w, n = self.weight, self.n
        if self.precision:
            m = float(self.eta[0] @ N) / n
            v = float((self.eta[0] - m) ** 2 @ N) / n
            self.state = self.state + (m - self.state) / (1 + w * self.precision * v / n)
            return
        A, mean, logits = self.shares(N)
        q = np.exp(logits - logits.max())
        q /= q.sum()
        step = 1 + w / n * float(q @ ((A - mean[:, None]) ** 2 @ N) / n)
        self.state = self.state + (q / (1 + mean / n) - self.state) / step

    def of(self, N: Array) -> Array:
        n, eta = self.n, self.eta
        if self.precision:
            m = float(eta[0] @ N) / n
            tilt = self.precision * ((self.y - self.state) * eta[0] - (eta[0] - m) ** 2 / (2 * n))
        else:
            tilt = eta[int(self.y)] - self.state @ self.shares(N)[0]
        return np.asarray(self.weight / n * (tilt - tilt.max()))

    def log_likelihood(self, N: Array) -> float:
        if self.precision == 0:
            return float(self.weight * (self.eta[int(self.y)] @ N / self.n - logsumexp(self.shares(N)[2])))
        m = float(self.eta[0] @ N) / self.n
        v = float((self.eta[0] - m) ** 2 @ N) / self.n
        left = (self.y - m) ** 2 + v / self.n
        return float(self.weight * 0.5 * (np.log(self.precision / (2 * np.pi)) - self.precision * left))


class Document:
    """The fixed point of one document with words E [U, K] and counts [U], from start counts N [K].

    `last` has what the last visit left of this document [K], and of its words [U, K] what a token adds to E.
    """

    def __init__(
        self,
        E: Array,
        counts: Array,
        alpha: Array,
        N: Array,
        opt: Options,
        last: tuple[Array, Array, float] | None = None,
        response: tuple[Responses, int] | None = None,
    ):
        self.opt, self.K, self.margin = opt, len(N), np.inf
        self.iterations = self.tried = self.accepted = 0
        self.near_eps(N)
        active = np.flatnonzero(opt.eps < N)
        self.topic = active if len(active) else np.array([np.argmax(N)])  # never empty
        self.N, self.alpha, self.E, self.counts = N[self.topic], alpha[self.topic], E[:, self.topic], counts
        if last is not None:
            given, token = self.E * last[0][self.topic], last[1][:, self.topic]
            s = given.sum(axis=1, keepdims=True)
            given *= counts[:, None] / np.where(s > 0, s, 1.0)
            self.E = np.where(given > 0, np.maximum(self.E - opt.own_discount * given * token, last[2] * token), self.E)
        self.tilt = None if response is None else Tilt(*response, self.topic, float(counts.sum()))
        self.R = np.zeros_like(self.E)  # last responsibilities, for exclusion
        self.M = np.zeros_like(self.E)  # the word table where it was selected

        self.fixed_point(opt.max_iter)
        if opt.restarts > 0 and len(self.topic) > 1:
            self.propose_restarts()

    def near(self, distance: Array) -> None:
        """A decision was this far from going the other way."""
        self.margin = min(self.margin, float(np.min(distance, initial=np.inf)))

    def near_eps(self, N: Array) -> None:
        if self.opt.eps > 0:  # at eps = 0 only an exact zero leaves
            self.near(np.abs(N - self.opt.eps)[N > 0])

    @property
    def excludes(self) -> bool:
        return self.opt.exclude and self.opt.posterior == "collapsed"

    @property
    def table(self) -> Array:
        return self.M if self.opt.select_often and len(self.topic) > self.opt.L else self.E

    def weights(self) -> tuple[Array, Array]:
        """P_k, zero for a topic that left, and the least that exclusion may leave of it."""
        if self.opt.posterior == "collapsed":
            least = np.where(self.N > 0, self.alpha, 0.0)
            P = self.N + least
        else:
            with np.errstate(divide="ignore"):
                log_p = np.where(self.N > 0, digamma(self.N + self.alpha), -np.inf)
            P, least = np.exp(log_p - log_p.max()), np.zeros_like(self.N)
        if self.tilt is None:
            return P, least
        return P * np.exp(self.tilt.of(self.N)), least

    def word_weights(self) -> Array:
        """[U, n] weights of each word's topics, a token not counting itself when it is excluded."""
        P, least = self.weights()
        return self.table * (
            np.maximum(P - np.minimum(self.counts, 1.0)[:, None] * self.R, least) if self.excludes else P
        )

    def sweep(self) -> Array:
        """N from P."""
        w = self.word_weights()
        s = w.sum(axis=1, keepdims=True)
        r = np.divide(w, s, out=np.zeros_like(w), where=s > 0)
        if self.excludes:
            self.R = r
        self.iterations += 1
        return self.counts @ r

    def fixed_point(self, max_iter: int) -> None:
        left = True
        for it in range(max_iter):
            if left or it < 5 or it % 10 == 0:  # when a topic left, its tokens need another
                self.select()
            N = self.sweep()
            change = np.abs(N - self.N)
            self.N = N
            self.follow()
            left = self.drop_small()
            moved = change.sum() / self.K if self.opt.mean_change else change.max()
            if not left:
                self.near(np.abs(np.atleast_1d(moved) - self.opt.tol))
                if moved < self.opt.tol:
                    break
        if left:
            self.select()

    def follow(self) -> None:
        if self.tilt is not None:
            self.tilt.follow(self.N)

    def drop_small(self) -> bool:
        """Topics at or under eps leave, but for the largest. True if one with tokens left."""
        self.near_eps(self.N)
        small = ~(self.opt.eps < self.N)
        small[np.argmax(self.N)] = False
        left = bool(np.any(self.N[small] > 0))
        keep = ~small
        self.topic, self.N, self.alpha = self.topic[keep], self.N[keep], self.alpha[keep]
        self.E, self.R, self.M = self.E[:, keep], self.R[:, keep], self.M[:, keep]
        if self.tilt is not None:
            self.tilt.eta = self.tilt.eta[:, keep]
        return left

    def select(self) -> None:
        if not self.opt.select_often or len(self.topic) <= self.opt.L:
            return
        P, _ = self.weights()
        self.M = np.zeros_like(self.E)
        for u, e in enumerate(self.E):
            chosen = self.top(P * e)
            self.M[u, chosen] = e[chosen]

    def top(self, w: Array) -> NDArray[np.int64]:
        L = self.opt.L
        if len(w) > L:
            ranked = np.sort(w)[::-1]
            if ranked[L - 1] > 1e-4 * ranked[0]:  # below that, either choice comes to the same
                self.near(np.atleast_1d(1 - ranked[L] / ranked[L - 1]))
        return select(w, L)

    def judge(self) -> float:
        """The objective less a constant at the responsibilities that N implies: the L best of each word, nothing
        excluded."""
        P, _ = self.weights()
        w = self.table * P
        if len(self.topic) > self.opt.L and not self.opt.select_often:
            kept = np.zeros_like(w)
            for u, row in enumerate(w):
                chosen = self.top(row)
                kept[u, chosen] = row[chosen]
            w = kept
        s = w.sum(axis=1, keepdims=True)
        N = self.counts @ np.divide(w, s, out=np.zeros_like(w), where=s > 0)
        log_s = self.counts @ np.log(np.maximum(s[:, 0], 1e-37))
        said = 0.0 if self.tilt is None else self.tilt.log_likelihood(N)
        return float(log_s + np.sum(gammaln(N + self.alpha) - gammaln(self.alpha) - xlogy(N, P)) + said)

    def propose_restarts(self) -> None:
        now = self.judge()
        smallest = np.argsort(self.N, kind="stable")
        self.near(np.diff(np.sort(self.N[self.N > 0])[: self.opt.restarts + 1]))
        live = np.count_nonzero(self.N > 0)
        tries = 0
        for j in smallest:
            if not self.N[j] > 0:
                continue
            if tries == self.opt.restarts or live < 2:
                break
            tries += 1
            self.tried += 1
            saved = self.N
            self.N = np.where(np.arange(len(saved)) == j, 0.0, saved)
            for it in range(self.opt.restart_iter):
                if it == 0:
                    self.select()
                self.N = self.sweep()
                self.follow()
            then = self.judge()
            self.near(np.atleast_1d(abs(then - now)))
            if then > now:
                now, self.accepted, live = then, self.accepted + 1, live - 1
            else:
                self.N = saved
        self.drop_small()
        self.fixed_point(2)

    def responsibilities(self) -> tuple[Array, Array]:
        """[U, K] the final r, at most L of a row positive, and the entropy of each row."""
        r, H = np.zeros((len(self.E), self.K)), np.zeros(len(self.E))
        for u, w in enumerate(self.word_weights()):
            self.top(w)  # for the margin
            idx, shares, H[u] = normalise_top_l(w, self.opt.L)
            r[u, self.topic[idx]] = shares
        return r, H


class TopicResult(NamedTuple):
    S: Array  # [words, K]
    docs: Array  # [D, K] N_dk
    entropy: Array  # [D] sum_u c_u H[r_u]
    margin: Array  # [D]
    effort: tuple[int, int, int]  # iterations, restarts tried, accepted
    shares: list[Array]  # [U, K] c_u r_u of each document


def topics_step(
    indptr: NDArray[np.int64],
    index: NDArray[np.int32],
    value: NDArray[np.float32],
    table: NDArray[np.float32],
    alpha: Array,
    opt: Options,
    start: Array | None = None,
    last: LastVisit | None = None,
    responses: Responses | None = None,
) -> TopicResult:
    """Every document cold (from its words' own top-L lists), or from start [D, K]."""
    E_all = np.asarray(table, np.float64)
    n_docs, K = len(indptr) - 1, E_all.shape[1]
    S, docs = np.zeros(E_all.shape), np.zeros((n_docs, K))
    out = TopicResult(S, docs, np.zeros(n_docs), np.full(n_docs, np.inf), (0, 0, 0), [])
    first = np.zeros(E_all.shape)
    for v, e in enumerate(E_all):
        idx, shares, _ = normalise_top_l(e, opt.L)
        first[v, idx] = shares
    effort = np.zeros(3, np.int64)
    for d in range(n_docs):
        entries = slice(indptr[d], indptr[d + 1])
        words, counts = index[entries], value[entries].astype(np.float64)
        if len(words) == 0:
            continue
        own = None if last is None else (last.docs[d], 1 / np.outer(last.scale[words], last.norm), last.least)
        N = counts @ first[words] if start is None else start[d]
        response = None if responses is None else (responses, d)
        document = Document(E_all[words], counts, alpha, N, opt, own, response)
        r, H = document.responsibilities()
        np.add.at(out.S, words, counts[:, None] * r)
        out.docs[d], out.entropy[d], out.margin[d] = counts @ r, counts @ H, document.margin
        out.shares.append(counts[:, None] * r)
        effort += (document.iterations, document.tried, document.accepted)
    return out._replace(effort=(int(effort[0]), int(effort[1]), int(effort[2])))


def word_prior(eta: Array, extra: Extra | None, V: int, K: int) -> Array:
    """Twin of cpp/models/word_prior.hpp: [V, K] eta [V or 1, K or 1] and the extra counts, written out."""
    prior = np.array(np.broadcast_to(eta, (V, K)), np.float64)
    if extra is not None:
        indptr, topic, value = extra
        prior[np.repeat(np.arange(V), np.diff(indptr)), topic] += value
    return prior


def topic_bound(posterior: str, counts: Array, prior: Array) -> tuple[float, Array]:
    """Twin of cpp/models/topic_bound.hpp: the sum over words and topics, and the sums [K] over words."""
    x = np.maximum(counts, 0.0) + prior
    return float(xlogy(x, x).sum() if posterior == "collapsed" else gammaln(x).sum()), x.sum(axis=0)


def merged_entropy(shares: list[Array], partner: NDArray[np.int32]) -> Array:
    """Twin of cpp/steps/merged.hpp: [K] at the lower topic of each pair."""
    lost = np.zeros(len(partner))
    for x in shares:
        for j, k in enumerate(partner):
            if k > j:
                both = x[:, j] + x[:, k]
                lost[j] += np.sum(xlogy(both, both) - xlogy(x[:, j], x[:, j]) - xlogy(x[:, k], x[:, k]))
    return lost


def variational_loop(X: Array, table: Array, alpha: Array, n_iter: int) -> tuple[Array, Array]:
    """The textbook fixed point, dense and with logarithms (Blei, Ng and Jordan 2003, Fig. 6): N [D, K] and S [V, K].

    X [D, V] counts; documents start from responsibilities proportional to the table.
    """
    log_table = np.log(np.asarray(table, np.float64))
    N_all, S = np.zeros((len(X), len(alpha))), np.zeros(table.shape)
    for d, counts in enumerate(X):
        log_r = log_table
        for _ in range(n_iter + 2):  # once for the start, once for the final responsibilities
            r = np.exp(log_r - log_r.max(axis=1, keepdims=True))
            r /= r.sum(axis=1, keepdims=True)
            N = counts @ r
            log_r = log_table + digamma(N + alpha)
        N_all[d] = N
        S += counts[:, None] * r
    return N_all, S
