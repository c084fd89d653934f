"""Wrote the first-format checkpoints in this folder (*-1.checkpoint), with topmix 0.1.0, the last that wrote them.

    PYTHONPATH=<src of topmix 0.1.0> python tests/formats/make_first_checkpoints.py

It speaks the parameters of that version and does not run with later ones. Each checkpoint is of a fit that was
interrupted. The JSON beside it has what the same fit gave when it was not interrupted; tests/test_old_checkpoints.py
continues each checkpoint to the same numbers.
"""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import numpy as np

from topmix import HDP, LDA
from topmix.data import Corpus

FOLDER = Path(__file__).parent
MEMOIZED: dict[str, Any] = {"n_components": 4, "max_iter": 7, "batch_size": 20, "doc_tol": 0.001}
LEARNED = {"doc_topic_prior": "auto", "topic_word_prior": "auto"}
PRIORS = {"doc_topic_prior": np.linspace(0.1, 0.3, 4), "topic_word_prior": np.linspace(0.01, 0.1, 30)}
FITS: dict[str, tuple[type, dict[str, Any], tuple[int, ...]]] = {
    "LDA-collapsed": (LDA, MEMOIZED, (1, 3)),
    "LDA-collapsed-learned": (LDA, MEMOIZED | LEARNED, (1, 3)),
    "LDA-collapsed-many": (LDA, MEMOIZED | {"n_components": 20}, (1,)),  # some topics start again after the first pass
    "LDA-variational": (LDA, MEMOIZED | {"posterior": "variational"}, (1, 3)),
    "LDA-variational-learned": (LDA, MEMOIZED | LEARNED | {"posterior": "variational"}, (1, 3)),
    "LDA-given": (LDA, MEMOIZED | PRIORS | {"cold_visits": None, "own_discount": 0.0}, (3,)),
    "LDA-stochastic": (LDA, MEMOIZED | {"learner": "stochastic"}, (3,)),
    "LDA-batch": (LDA, MEMOIZED | {"learner": "batch", "local_step": "fixed_point"}, (3,)),
    "HDP-fixed": (HDP, MEMOIZED | {"adapt": False, "doc_topic_prior": "auto"}, (3,)),
    "HDP-search": (HDP, MEMOIZED | {"max_iter": 60, "batch_size": 30}, (12, 30)),
    "HDP-search-variational": (
        HDP,
        MEMOIZED | {"max_iter": 60, "batch_size": 30, "posterior": "variational", "topic_word_prior": "auto"},
        (40,),
    ),
}


class Crash(Exception):
    pass


def documents() -> Corpus:
    """As in make.py."""
    d, v = np.ogrid[:60, :30]
    X = np.where(v // 10 == d % 3, (7 * d + 3 * v) % 5, (d * v) % 11 == 1)
    return Corpus.from_scipy(X.astype(np.float32), vocabulary=[f"wörd{v}" for v in range(30)])


def main() -> None:
    corpus = documents()
    for name, (estimator, parameters, stops) in FITS.items():
        how = parameters | {"random_state": 0, "n_jobs": 1} | ({} if name.startswith("HDP-s") else {"tol": -np.inf})
        whole = estimator(**how).fit(corpus)
        for stop in stops:
            path = FOLDER / f"{name}-after-{stop}-1.checkpoint"
            if path.exists():
                continue

            def crash(record: Any, model: Any, stop: int = stop) -> None:
                if record.n_pass > stop:
                    raise Crash

            with contextlib.suppress(Crash):
                estimator(**how, callbacks=[crash]).fit(corpus, checkpoint=path)
            said = {
                "estimator": estimator.__name__,
                "objectives": [record.objective for record in whole.history_],
                "moves": [sorted(record.moves) for record in whole.history_],
                "components": whole.components_.tolist(),
                "doc_topic_prior": np.asarray(whole.doc_topic_prior_).tolist(),
                "converged": bool(whole.converged_),
            }
            path.with_suffix(".json").write_text(json.dumps(said))


if __name__ == "__main__":
    main()
