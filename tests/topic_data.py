"""Small documents and the options of a step, for tests of the topics kernel."""

from dataclasses import asdict

import numpy as np

from topmix.data import Corpus
from topmix.models.topics import DocumentOptions

POSTERIORS = ["variational", "collapsed"]


def make_corpus(rng, n_docs=20, V=60, K=40, length=40, counts=True) -> Corpus:
    """Documents of a few topics each; the third is empty, the fourth has one word once, the fifth one word often."""
    phi = rng.dirichlet(np.full(V, 0.05), K)
    theta = rng.dirichlet(np.full(K, 0.1), n_docs)
    X = np.array([rng.multinomial(rng.poisson(length), p) for p in theta @ phi], np.float32)
    if n_docs >= 5:
        X[2:5] = 0
        X[3, 1], X[4, 7] = 1, 9
    if not counts:
        X *= rng.uniform(0.2, 1.5, X.shape).astype(np.float32)
    return Corpus.from_scipy(X)


def native_shard(core, shard):
    """A shard as kernels of this build take it."""
    return core.Shard(shard.indptr, shard.index, shard.value, shard.starts, shard.order)


def dense_docs(docs, n_docs, K):
    indptr, topic, count = docs
    N = np.zeros((n_docs, K))
    N[np.repeat(np.arange(n_docs), np.diff(indptr)), topic] = count
    return N


def document_options(opt):
    """The twin's options as a model holds them."""
    settings = asdict(opt)
    del settings["posterior"]
    return DocumentOptions(n_active=settings.pop("L"), **settings)
