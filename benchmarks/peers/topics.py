"""LDA beside tomotopy with three settings, and on two corpora beside scikit-learn and gensim with two."""

from __future__ import annotations

from benchmarks.harness.jobs import Budget, Job, Write
from benchmarks.harness.methods import SETTINGS
from benchmarks.peers import scored

GROUP = "topics"
SEEDS = 3  # of ours; a peer has one
OUR_LIMIT = 60.0  # seconds; a default fit ends sooner
TOMOTOPY = {  # corpus: seconds at K = 200 and at 800
    "nips": (90.0, 90.0), "wiki": (120.0, 90.0), "20ng": (120.0, 90.0), "arxiv_100k": (120.0, 120.0),
    "kos": (60.0, None),
}  # fmt: skip
VARIATIONAL = {"nips": 60.0, "wiki": 60.0}  # seconds of scikit-learn and gensim, at K = 200
ALL = ("arxiv", 1000, 300.0, "optimised")  # all abstracts: one setting of one peer
LOADING = {"arxiv_100k": 15.0, "20ng": 12.0, "arxiv": 80.0}  # seconds of reading beside a run; 7 for others
OURS = {"nips": 10, "wiki": 17, "20ng": 30, "arxiv_100k": 33, "kos": 5, "arxiv": 120}  # seconds of a default fit, about


def jobs(small: bool) -> list[Job]:
    if small:
        peers = [(m, s) for m in ("tomotopy", "sklearn", "gensim") for s in SETTINGS[m]]
        return [_job("generated", 20, m, s, 0, 1.0, 1) for m, s in [*peers, (scored.OURS, "default")]]
    found = []
    for corpus, seconds in TOMOTOPY.items():
        for K, s in zip((200, 800), seconds):
            if s is not None:
                rank = 1 if K == 200 else 4
                found += [_job(corpus, K, "tomotopy", setting, 0, s, rank) for setting in SETTINGS["tomotopy"]]
                found += [_job(corpus, K, scored.OURS, "default", seed, OUR_LIMIT, rank) for seed in range(SEEDS)]
    for corpus, seconds in VARIATIONAL.items():
        for method in ("sklearn", "gensim"):
            found += [_job(corpus, 200, method, setting, 0, seconds, 2) for setting in SETTINGS[method]]
    corpus, K, seconds, setting = ALL
    found.append(_job(corpus, K, "tomotopy", setting, 0, seconds, 3))
    found.append(_job(corpus, K, scored.OURS, "default", 0, 2 * OUR_LIMIT, 3))
    return found


def _job(corpus: str, K: int, method: str, setting: str, seed: int, seconds: float, rank: int) -> Job:
    about = {"corpus": corpus, "K": K, "method": method, "setting": setting, "seed": seed, "seconds": seconds}
    expected = OURS.get(corpus, 5) * (1.5 if K > 200 else 1.0) if method == scored.OURS else seconds
    return Job(GROUP, "run", about, expected + LOADING.get(corpus, 7.0) + 0.03 * K, rank, scored.THREADS)


def run(
    write: Write, budget: Budget, corpus: str, K: int, method: str, setting: str, seed: int, seconds: float
) -> None:  # fmt: skip
    settings = scored.default_fit() if method == scored.OURS else None
    scored.run(write, budget, corpus, K, method, setting, seed, seconds, settings)
