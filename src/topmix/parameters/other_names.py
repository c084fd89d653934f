"""Parameters under names that are not ours: the error says what they are called here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches

# How scikit-learn, gensim, tomotopy, MALLET and papers call what we have.
OURS = {
    "n_components": ("num_topics", "n_topics", "k", "K", "T", "n_clusters", "num_clusters"),
    "max_iter": ("passes", "iterations", "num_iterations", "n_iter", "n_iterations", "n_epochs"),
    "doc_topic_prior": ("alpha",),
    "topic_word_prior": ("eta", "beta"),
    "n_jobs": ("workers", "num_workers", "threads", "num_threads", "n_threads"),
    "random_state": ("seed", "random_seed"),
    "reg_covar": ("regularization",),
}
THEIRS = {theirs: ours for ours, names in OURS.items() for theirs in names}


def refuse_unknown(owner: str, given: Iterable[str], known: Iterable[str], inside: Mapping[str, str]) -> None:
    """A TypeError for the first name that is not known. `inside` are settings of components, and where they belong."""
    names = list(known)
    for name in given:
        if name in names:
            continue
        said = f"{owner} has no parameter {name!r}"
        if THEIRS.get(name) in names:
            raise TypeError(f"{said}; it is called {THEIRS[name]} here")
        if name in inside:
            raise TypeError(f"{said}; it is a setting of {inside[name]}")
        close = get_close_matches(name, names, n=1)
        raise TypeError(said + (f"; did you mean {close[0]}?" if close else ""))
