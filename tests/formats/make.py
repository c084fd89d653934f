"""Wrote the model files in this folder, which every later topmix must load (tests/test_io.py, "old files").

    python tests/formats/make.py

Run it once for a new format version or a new estimator, from the release that introduces it, and never again: a file
that is here is not to be written anew. Beside each model lies what it said of a few documents, as JSON.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from topmix.files.model_file import FORMAT_VERSION

from topmix import HDP, LDA, CombinatorialLDA, GaussianMixture, GibbsLDA, MultinomialMixture, VonMisesFisherMixture
from topmix.data import Corpus

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


def main() -> None:
    corpus = documents()
    for model in (
        LDA(n_components=3, max_iter=5, topic_word_prior=np.full(30, 0.05), random_state=0),
        HDP(n_components=3, max_iter=5, adapt=False, random_state=0),
        MultinomialMixture(n_components=3, max_iter=5, random_state=0),
        GaussianMixture(n_components=3, max_iter=5, random_state=0),
        GibbsLDA(n_components=3, max_iter=20, random_state=0),
        CombinatorialLDA(n_components=3, max_iter=5, random_state=0),
        VonMisesFisherMixture(n_components=3, max_iter=5, random_state=0),
    ):
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


if __name__ == "__main__":
    main()
