"""What topics depend on, as the report and the explorer show it: effects of covariates, and words by version."""

from __future__ import annotations

import math

import numpy as np

from topmix.allocations.covariate_prior import CovariatePrior
from topmix.fitted.effects import effects
from topmix.fitted.mixture import FittedMixture
from topmix.fitted.names import relevant_words
from topmix.fitted.topics import FittedTopics, HardModel
from topmix.fitted.versions import versions_of
from topmix.fitted.view import TopicView

MOST_TERMS, MOST_VERSIONS, MOST_CELLS = 40, 60, 60_000  # that a page shows
WORDS = 7  # of a topic in a version


def depends(f: FittedTopics | FittedMixture) -> dict[str, object]:
    """{"depends": ...} with `effects`, terms and per topic and term [estimate, low, high], and `versions`, their names
    and per topic and version its share and words; nothing where topics depend on nothing."""
    if isinstance(f, FittedMixture) or isinstance(f.model, HardModel):
        return {}
    found: dict[str, object] = {}
    if isinstance(f.topics.prior, CovariatePrior):
        table = effects(f, 0.95)
        K, terms = f.n_topics, f.reading.design.names if f.reading.design is not None else []
        rows = np.stack([np.asarray(table[name], float).reshape(K, -1) for name in ("estimate", "low", "high")], axis=2)
        found["effects"] = {
            "terms": [term[:200] for term in terms[:MOST_TERMS]],
            "rows": [[[_number(x) for x in row] for row in of[:MOST_TERMS]] for of in rows.tolist()],
        }
    if f.versions is not None and f.reading.versions is not None:
        found["versions"] = _versions(f)
    return {"depends": found} if found else {}


def _versions(f: FittedTopics) -> dict[str, object]:
    """The largest versions, in their order."""
    versions, column = versions_of(f)
    sizes = versions.sizes()
    most = int(np.clip(MOST_CELLS // max(f.n_topics, 1), 1, MOST_VERSIONS))
    chosen = np.sort(np.argsort(-sizes.sum(axis=1), kind="stable")[:most]).tolist()
    share = sizes / np.maximum(sizes.sum(axis=1, keepdims=True), 1e-300)
    words = []
    for t in chosen:
        tokens = float(sizes[t].sum())
        view = TopicView(versions.mean(t), np.maximum(share[t], 1e-12), tokens, f.words)
        words.append(relevant_words(view, WORDS))
    return {
        "column": column.column[:200],
        "names": [column.names[t][:200] for t in chosen],
        "share": [[float(f"{share[t, k]:.4g}") for t in chosen] for k in range(f.n_topics)],
        "words": [[[word[:60] for word in of_version[k]] for of_version in words] for k in range(f.n_topics)],
    }


def _number(x: float) -> float | None:
    return float(f"{x:.4g}") if math.isfinite(x) else None
