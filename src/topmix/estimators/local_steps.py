"""Which local step a topic model learns with."""

from __future__ import annotations

LOCAL_STEPS = ("auto", "fixed_point", "scvb0", "cvb0")


def kind_of_step(local_step: str, posterior: str, learner: str) -> str:
    """ "auto" is what the papers call these combinations: collapsed and stochastic is SCVB0, collapsed batch CVB0."""
    if local_step not in LOCAL_STEPS:
        raise ValueError(f"local_step={local_step!r} is not one of {', '.join(map(repr, LOCAL_STEPS))}")
    if local_step == "auto":
        own = {"stochastic": "scvb0", "batch": "cvb0"} if posterior == "collapsed" else {}
        return own.get(learner, "fixed_point")
    if local_step != "fixed_point" and posterior != "collapsed":
        raise ValueError(f"local_step={local_step!r} needs posterior='collapsed', got {posterior!r}")
    if local_step == "cvb0" and learner == "stochastic":
        raise ValueError("local_step='cvb0' remembers every document, so learner='stochastic' cannot use it")
    return local_step
