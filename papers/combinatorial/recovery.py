"""Tables 2 and 3, and figure 2: how well true topics are recovered."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.harness import drawing
from benchmarks.harness.methods import ours
from benchmarks.harness.synthetic import SYNTHETIC
from papers.combinatorial.fits import Sizes, gibbs, priors, topics_by_method
from papers.combinatorial.reported import TABLE2, TABLE3
from topmix.data import sample_lda
from topmix.metrics import match_topics, topic_recovery_error

PENALTIES = {"SynthA": 10.0, "SynthB": 8.0}  # of table 2
PENALTY_SEMI = 30.0  # of table 3: the best of 11, 20, 30 on other samples (random_state=7) of such models


def table2(s: Sizes) -> None:
    print("\nTable 2: mean l1 error of recovered topics; ours (paper's)")
    for name in SYNTHETIC:
        samples = [s.synthetic(name, n) for n in s.many_docs]
        K = len(samples[0].topic_word)
        errors: dict[str, list[float]] = {}
        for x in samples:
            mixture = ours.multinomial_mixture(K, n_active=1, random_state=0, n_jobs=s.threads).fit(x.corpus)
            topics = {"k-means": mixture.topic_word_}
            topics |= topics_by_method(s, x.corpus, K, *priors(name), PENALTIES[name])
            for method, phi in topics.items():
                errors.setdefault(method, []).append(topic_recovery_error(phi, x.topic_word))
        print(f"{name:<16}" + "".join(f"{x.corpus.n_docs:>16}" for x in samples))
        for method, found in errors.items():
            paper = TABLE2.get((name, method), ())
            cells = [f"{e:.3f}" for e in found]
            cells = [f"{c} ({paper[i]:.3f})" if i < len(paper) and not s.quick else c for i, c in enumerate(cells)]
            print(f"{method:<16}" + "".join(f"{c:>16}" for c in cells), flush=True)
            s.write({"errors": found}, table=2, synthetic=name, method=method, documents=s.many_docs)


def table3(s: Sizes) -> None:
    """And figure 2: how errors are spread over topics."""
    alpha, beta, K = 0.5 / s.K_semi, s.beta, s.K_semi
    print(f"\nTable 3: recovery error on {s.n_semi} documents from models of kos / nips with beta = {beta}; ", end="")
    print(f"lambda = {PENALTY_SEMI:.0f} (paper: semiEnron/semiNYTimes)")
    spread: dict[str, dict[str, np.ndarray]] = {}
    for name in ("kos", "nips"):
        phi = gibbs(s, s.real(name).train, K, alpha, beta).topic_word_
        how: dict[str, Any] = {"doc_length": 200, "length_distribution": "fixed", "doc_topic_prior": alpha}
        X = sample_lda(s.n_semi, topic_word=phi, random_state=1, **how).corpus
        found = topics_by_method(s, X, K, alpha, beta, PENALTY_SEMI)
        spread[name] = {method: match_topics(phi, topics).distance for method, topics in found.items()}
    for method in spread["kos"]:
        errors = {name: spread[name][method].mean() for name in spread}
        print(f"{method:<16}{'/'.join(f'{e:.3f}' for e in errors.values()):>14}   ({TABLE3.get(method, '-')})")
        s.write({"errors": errors}, table=3, method=method, documents=s.n_semi, K=K, beta=beta)
    page = drawing.page(s.draw, "combinatorial_figure2.png", (9, 4), columns=2)
    if page is not None:
        for axes, name in zip(page.panels[0], spread):
            draw_densities(axes, name, spread[name])
        page.save()


def draw_densities(axes: Any, name: str, spread: dict[str, np.ndarray]) -> None:
    from scipy.stats import gaussian_kde

    at = np.linspace(0, 2, 300)
    for method, errors in spread.items():
        if errors.std() > 0:
            axes.plot(at, gaussian_kde(errors)(at), label=method)
    axes.set(xlabel="l1 error of a topic", ylabel="density", title=f"semi-synthetic {name}")
    axes.legend()
