"""Clusters and topics of generated documents, with progress, early stopping, and the truth to compare with.

python examples/watch_a_fit.py
"""

import numpy as np

from topmix import LDA, MultinomialMixture
from topmix.data import sample_lda
from topmix.fitting import FitProgress

sample = sample_lda(n_docs=2000, n_words=500, n_topics=10, doc_length=80, random_state=0)
corpus = sample.corpus


def enough(record, view):
    """Callbacks see every pass; a true value ends the fit."""
    return record.seconds > 10


with FitProgress(n_passes=20, n_tokens=corpus.n_tokens, title="LDA") as progress:
    lda = LDA(n_components=10, max_iter=20, random_state=0, callbacks=[progress, enough]).fit(corpus)

closeness = np.sqrt(sample.topic_word) @ np.sqrt(lda.topic_word_).T  # 1 where two topics are the same
print(f"{lda.n_iter_} passes, {lda.history_[-1].objective / corpus.n_tokens:.3f} nats a token")
print("each true topic and its nearest:", " ".join(f"{c:.2f}" for c in closeness.max(axis=1)))

mixture = MultinomialMixture(n_components=10, random_state=0, verbose=1).fit(corpus)  # the same display, built in
print("documents in each cluster:", np.bincount(mixture.predict(corpus), minlength=10))
