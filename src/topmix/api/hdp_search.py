"""How the parameters of an HDP become a search for its number of topics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from topmix import _core
from topmix.data.corpus import Corpus
from topmix.data.shard import Batches
from topmix.models.topic_start import blended, restarted
from topmix.models.topics import TopicModel
from topmix.search import TopicSearch
from topmix.search.paused import Paused
from topmix.search.search import Limits, Search, Sources
from topmix.search.sizes import SizeSearch, largest_size


def search_for(
    hdp: Any, settings: TopicSearch, corpus: Corpus
) -> Callable[[Paused, Batches, np.random.Generator, int], Search]:
    """What starts the search of a fit, once its documents are dealt and its workers are there."""

    def begin(fit: Paused, batches: Batches, rng: np.random.Generator, n_passes: int) -> Search:
        X, numbers = sp.csr_array(corpus.to_scipy()), np.arange(corpus.n_docs)
        order = np.concatenate([numbers[rows] for rows in batches])

        def new_topics(sizes: np.ndarray, n: int) -> np.ndarray:
            counts = restarted(corpus, np.append(np.full(n, -1.0), sizes), rng)
            return np.zeros((corpus.n_words, n)) if counts is None else counts.counts()[:, :n]

        def polished(model: TopicModel) -> TopicModel:
            return hdp._with_posterior(model, hdp._inference().posterior, is_searching=False)

        allowed = settings.max_topics or max(1, corpus.n_docs // 2)
        most, posterior = largest_size(min(allowed, _core.MAX_TOPICS)), hdp._inference().posterior
        quarter = hdp.max_iter // 4
        limits = Limits(
            max_iter=hdp.max_iter,
            quiet_gain=hdp.tol * max(corpus.n_tokens, 1.0),
            warm_up=min(settings.warm_up, quarter) if posterior == "collapsed" else 0,
            polish=min(settings.polish, quarter),
            polished=polished,
            max_topics=most,
        )
        sources = Sources(new_topics, lambda n: blended(corpus, n, rng).counts(), lambda docs: X[order[docs]], rng)
        chooses_size = isinstance(hdp.init, str) and not hdp._is_warm()
        return Search(fit, sources, limits, SizeSearch(most) if chooses_size else None, n_passes)

    return begin
