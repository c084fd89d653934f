"""Wrote the files in this folder, which every later topmix must read: models (tests/test_old_models.py) and
checkpoints of interrupted fits (tests/test_old_checkpoints.py; those of the first format: make_first_checkpoints.py).

    python tests/formats/make.py

Run it once for a new format version or a new estimator, from the release that introduces it, and never again: a file
that is here is not to be written again. Beside each model lies what it said of a few documents, as JSON, and beside
each checkpoint what the fit gave that was not interrupted.
"""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from topmix import HDP, LDA, CombinatorialLDA, GaussianMixture, GibbsLDA, MultinomialMixture, VonMisesFisherMixture
from topmix.data import Corpus
from topmix.files.store import FORMAT_VERSION
from topmix.inference import Collapsed, Variational
from topmix.learners import Memoized, Stochastic
from topmix.search import TopicSearch

FOLDER = Path(__file__).parent


def documents() -> Corpus:
    """Sixty documents over thirty words, by arithmetic, because random streams change. Old models are asked of them."""
    d, v = np.ogrid[:60, :30]
    X = np.where(v // 10 == d % 3, (7 * d + 3 * v) % 5, (d * v) % 11 == 1)
    return Corpus.from_scipy(X.astype(np.float32), vocabulary=[f"wörd{v}" for v in range(30)])


def rows(model: Any, corpus: Corpus) -> Any:
    """The documents as this model takes them."""
    if isinstance(model, GaussianMixture):
        return pd.DataFrame(corpus.to_scipy().toarray()[:, :8], columns=list(corpus.vocabulary or ())[:8])
    if isinstance(model, VonMisesFisherMixture):  # no row may be zero
        return pd.DataFrame(corpus.to_scipy().toarray()[:, :8] + 1, columns=list(corpus.vocabulary or ())[:8])
    return corpus


def answer(model: Any, corpus: Corpus) -> np.ndarray:
    return model.transform(corpus) if hasattr(model, "transform") else model.predict_proba(rows(model, corpus))


def models() -> list[Any]:
    """One of each estimator, with parameters of every kind: numbers, arrays, components and tables of arrays."""
    means = np.linspace(0.0, 3.0, 24).reshape(3, 8)
    return [
        LDA(
            n_components=3,
            inference=Collapsed(min_topic_mass=1.5),
            learner=Memoized(batch_size=20, batches_per_update=2),
            max_iter=5,
            topic_word_prior=np.full(30, 0.05),
            random_state=0,
        ),
        HDP(n_components=3, inference=Variational(), search=TopicSearch(polish=2), max_iter=12, random_state=0),
        MultinomialMixture(n_components=3, learner=Stochastic(batch_size=20), max_iter=5, random_state=0),
        GaussianMixture(n_components=3, init_params={"means": means}, max_iter=5, random_state=0),
        GibbsLDA(n_components=12, max_iter=20, random_state=0),
        CombinatorialLDA(n_components=3, max_iter=5, random_state=0),
        VonMisesFisherMixture(n_components=3, max_iter=5, random_state=0),
    ]


def interrupted() -> dict[str, tuple[Any, int]]:
    """Fits by name, and the pass after which each was interrupted."""
    few = Memoized(batch_size=20, batches_per_update=2)
    return {
        "LDA-rounds": (LDA(4, learner=few, doc_topic_prior="auto", tol=-np.inf, max_iter=7, random_state=0), 3),
        "HDP-rounds": (HDP(4, inference=Variational(doc_tol=0.001), learner=few, max_iter=60, random_state=0), 30),
    }


def whole_fit(model: Any, corpus: Corpus) -> dict[str, Any]:
    """What a fit gave, as JSON."""
    model.fit(corpus)
    return {
        "estimator": type(model).__name__,
        "objectives": [record.objective for record in model.history_],
        "moves": [sorted(record.moves) for record in model.history_],
        "components": model.components_.tolist(),
        "doc_topic_prior": np.asarray(model.doc_topic_prior_).tolist(),
        "converged": bool(model.converged_),
    }


class Crash(Exception):
    pass


def main() -> None:
    corpus = documents()
    for model in models():
        path = FOLDER / f"{type(model).__name__}-{FORMAT_VERSION}.topmix"
        if path.exists():
            continue
        model.fit(rows(model, corpus)).save(path)
        learned = model.means_ if hasattr(model, "means_") else model.components_
        said = {
            "components": learned.round(6).tolist(),
            "answer": answer(model, corpus[:5]).round(6).tolist(),
        }
        path.with_suffix(".json").write_text(json.dumps(said))
    for name, (model, stop) in interrupted().items():
        path = FOLDER / f"{name}-after-{stop}-{FORMAT_VERSION}.checkpoint"
        if path.exists():
            continue

        def crash(record: Any, view: Any, stop: int = stop) -> None:
            if record.n_pass > stop:
                raise Crash

        with contextlib.suppress(Crash):
            model.set_params(callbacks=[crash]).fit(corpus, checkpoint=path)
        path.with_suffix(".json").write_text(json.dumps(whole_fit(model.set_params(callbacks=None), corpus)))


if __name__ == "__main__":
    main()
