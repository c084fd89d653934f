"""The completion score as a scikit-learn scorer, for GridSearchCV, cross_val_score and other tuners."""

from __future__ import annotations

from typing import Any

from topmix.metrics.completion import completion_score
from topmix.metrics.engine import MeasuringEngine


def completion_scorer(estimator: Any, X: Any, y: Any = None) -> float:
    """Mean log probability of held-out words of X under the topics of a fitted estimator, in nats per token.

    Pass it as `scoring=`. `score` of a topic model is a bound that has seen the words; it is not a held-out score, and
    cannot be compared between two kinds of inference. A model with engine="cuda" is scored on the GPU. The last step of
    a Pipeline must be a topic model.
    """
    for _, step in getattr(estimator, "steps", ())[:-1]:
        X = X if step is None or step == "passthrough" else step.transform(X)
    model = estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator
    if not hasattr(model, "topic_word_"):
        raise ValueError(f"completion_scorer needs a fitted topic model, and a {type(model).__name__} has no topics")
    engine = model._engine() if hasattr(model, "_engine") else None
    return completion_score(model, X, engine=engine if isinstance(engine, MeasuringEngine) else None)
