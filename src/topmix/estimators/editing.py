"""Topics edited by hand, on a fitted topic model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from topmix.data.corpus import Corpus
from topmix.estimators.frames import frame
from topmix.estimators.inputs import as_corpus
from topmix.estimators.merges import nearest_pairs, sampled, weighed
from topmix.estimators.priors import word_prior_as_given
from topmix.estimators.seeding import Seed, seed_counts, seed_weights, word_places
from topmix.estimators.topic_view import view_of
from topmix.models import edit
from topmix.models.topics import TopicModel
from topmix.parameters.checks import count_of_components, whole_number
from topmix.search.split import split_of


class EditMixin:
    """`merge_topics`, `suggest_merges`, `split_topic`, `drop_topics`, `seed_topics`, `ban_words`, `pin_words`,
    `freeze_topics`, `unfreeze_topics` and `move_document`, for topic models.

    An edit changes the fitted topics and n_components. Where priors or `init` were given topic by topic, they are
    changed in the same way; history_ and elbo_ stay those of the last fit. To continue learning from the edited topics,
    fit with warm_start=True.
    """

    model_: TopicModel
    n_components: int
    doc_topic_prior: Any
    topic_word_prior: Any
    init: Any
    topic_names_: Any
    frozen_: list[int]
    _set_model: Callable[[TopicModel], None]
    _fitted_copy: Callable[[TopicModel], Any]
    _proportions: Callable[[Corpus, bool, bool], Any]

    def merge_topics(self, groups: Iterable[Sequence[int]]) -> Self:
        """Makes one topic of each pair (or larger group) of topics, for instance [(2, 7), (3, 4)].

        It has the words of all, in the place of the lowest; later topics move up. Pairs that share a topic join:
        [(0, 1), (1, 2)] is [(0, 1, 2)]. The prior of a merged topic is the sum of theirs.
        """
        check_is_fitted(self, "model_")
        joined: list[set[int]] = []
        for given in groups:
            group = set(self._known_topics(given))
            if len(group) < 2:
                raise ValueError(f"{tuple(given)!r} is not two topics or more, to be merged")
            overlapping = [other for other in joined if other & group]
            joined = [other for other in joined if not other & group] + [group.union(*overlapping)]
        self._rename_without([k for group in joined for k in sorted(group)[1:]])
        return self._edited(edit.merged(self.model_, [sorted(group) for group in joined]))

    def suggest_merges(self, X: Any, *, n_pairs: int = 10, max_docs: int = 2000, random_state: int = 0) -> Any:
        """The nearest pairs of topics, and what merging each alone would do to the objective of documents X: a table.

        `distance` is the Hellinger distance of the two topics, and `share` what both have of all tokens. `change` is
        how `score(X)` per token would change: near 0 if the two say the same, and negative if documents need both. The
        best pair to merge is first. At most `max_docs` random documents are used. Nothing is merged:
        `merge_topics([(2, 7)])` does it.
        """
        check_is_fitted(self, "model_")
        n, most = whole_number(n_pairs, "n_pairs"), whole_number(max_docs, "max_docs")
        corpus = sampled(as_corpus(self, X, reset=False), most, whole_number(random_state, "random_state", least=0))
        view, names = view_of(self), self.topic_names_
        pairs = weighed(
            self, lambda pair: self._fitted_copy(edit.merged(self.model_, [pair])), nearest_pairs(view, n), corpus
        )
        columns = {
            "topic": [pair.topic for pair in pairs],
            "other": [pair.other for pair in pairs],
            "name": [names[pair.topic] for pair in pairs],
            "other_name": [names[pair.other] for pair in pairs],
            "distance": [pair.distance for pair in pairs],
            "share": [float(view.share[[pair.topic, pair.other]].sum()) for pair in pairs],
            "change": [pair.change for pair in pairs],
        }
        return frame(self, columns)

    def split_topic(self, X: Any, topic: int, *, max_docs: int = 5000, random_state: int = 0) -> Self:
        """Makes two topics of one, by the documents X that have most of it: their words in it fall into two kinds.

        The topic keeps its place and its name, and the other kind of words becomes the last topic. Another
        `random_state` may find another cut; at most `max_docs` random documents are looked at. Raises ValueError where
        too few documents have the topic.
        """
        check_is_fitted(self, "model_")
        [k] = self._known_topics([topic])
        count_of_components(self.model_.n_components + 1)
        seed = whole_number(random_state, "random_state", least=0)
        corpus = sampled(as_corpus(self, X, reset=False), whole_number(max_docs, "max_docs"), seed)
        alpha, words = self.model_.prior.alpha, self.model_.words
        tokens = sp.csr_array(self._proportions(corpus, False, True))
        tokens.data -= alpha[tokens.indices]
        table = words.tables(np.arange(words.shape[0], dtype=np.int32)).table
        found = split_of(k, corpus.to_scipy(), tokens, table, alpha, np.random.default_rng(seed))
        if found is None:
            raise ValueError(f"topic {k} cannot be split: too few documents have it")
        return self._edited(edit.split(self.model_, k, found.share, found.weight))

    def drop_topics(self, topics: Iterable[int]) -> Self:
        """Removes topics; later ones move up. Their tokens go to other topics when documents are next visited."""
        check_is_fitted(self, "model_")
        gone = sorted(set(self._known_topics(topics)))
        if len(gone) == self.model_.n_components:
            raise ValueError(f"all {len(gone)} topics would be dropped; one has to stay")
        self._rename_without(gone)
        return self._edited(edit.dropped(self.model_, gone))

    def seed_topics(self, seeds: Iterable[Seed], *, topics: Iterable[int] | None = None, strength: float = 0.1) -> Self:
        """Adds a topic for each seed, or pulls existing `topics`, one for each seed, towards its words.

        A seed is a list of words, or a table {word: weight}; words are names, or column numbers. It adds pseudo-counts
        to the prior of the topic: `strength` x weight x the tokens of that word in all topics, and at least one. With
        strength=1 the topic has as much of the word, before it sees a document, as the corpus has.

        The seeds stay in the prior as long as learning continues from this model (warm_start=True, partial_fit, or the
        saved model); `seed_counts_` has them. topic_word_prior="auto" is not learned any more.
        """
        check_is_fitted(self, "model_")
        if not (np.isfinite(strength) and strength > 0):
            raise ValueError(f"strength must be positive, got {strength!r}")
        columns = [self._seed_column(seed, strength) for seed in seeds]
        if not columns:
            raise ValueError("no seeds were given")
        where = None if topics is None else self._known_topics(topics)
        if where is not None and len(set(where)) != len(columns):
            raise ValueError(f"{len(columns)} seeds need as many different topics, got {where}")
        if stay := sorted(set(where or ()) & set(self.frozen_)):
            raise ValueError(f"topic {stay[0]} is frozen, and cannot be pulled to words: unfreeze_topics([{stay[0]}])")
        if where is None:
            count_of_components(self.model_.n_components + len(columns))
        return self._edited(edit.seeded(self.model_, sp.csc_array(sp.hstack(columns)), where))

    def ban_words(self, topic: int, words: Iterable[str | int]) -> Self:
        """Keeps words out of a topic, as long as learning continues from this model: their tokens go to the topics that
        have them too. Words are names, or column numbers. topic_word_prior="auto" is not learned any more.

        A document whose topics all lack a word still has its tokens in one of them; the topic does not learn it.
        """
        check_is_fitted(self, "model_")
        [k] = self._known_topics([topic])
        ids = self._given_words(words)
        if self.model_.n_components < 2 or len(ids) >= self.model_.words.shape[0]:
            raise ValueError("the words must have another topic to go to, and the topic must keep some words")
        return self._edited(edit.banned(self.model_, [k], ids))

    def pin_words(self, topic: int, words: Iterable[str | int]) -> Self:
        """Keeps words in a topic and out of all others, as long as learning continues from this model: the topic gets
        their tokens. Words are names, or column numbers. topic_word_prior="auto" is not learned any more.
        """
        check_is_fitted(self, "model_")
        [k] = self._known_topics([topic])
        if k in self.frozen_:
            raise ValueError(f"topic {k} is frozen, and cannot get words: unfreeze_topics([{k}])")
        ids = self._given_words(words)
        if self.model_.n_components < 2 or len(ids) >= self.model_.words.shape[0]:
            raise ValueError("a pinned word needs other topics to stay out of, and they must keep some words")
        return self._edited(edit.pinned(self.model_, k, ids))

    def freeze_topics(self, topics: Iterable[int]) -> Self:
        """Keeps the words of topics as they are now, as long as learning continues from this model. Documents still use
        them as much as they like. topic_word_prior="auto" is not learned any more. `frozen_` has them.
        """
        check_is_fitted(self, "model_")
        return self._edited(edit.frozen(self.model_, self._known_topics(topics)))

    def unfreeze_topics(self, topics: Iterable[int]) -> Self:
        """Lets topics learn again."""
        check_is_fitted(self, "model_")
        return self._edited(edit.frozen(self.model_, self._known_topics(topics), is_frozen=False))

    def move_document(self, X: Any, document: int, topic: int) -> Self:
        """Takes the tokens of one document, a row of X, out of the topics that it uses now, and puts them all into one
        topic. It is meant for documents that the model was fitted on.

        This changes the words of the topics by the weight of one document, and nothing else: no document is tied to a
        topic. When learning continues, the document is looked at anew, and stays where it was moved if it fits there.
        """
        check_is_fitted(self, "model_")
        [k] = self._known_topics([topic])
        corpus = as_corpus(self, X, reset=False)
        if not isinstance(document, int | np.integer) or not 0 <= document < corpus.n_docs:
            raise ValueError(f"{document!r} is not a document: they are numbered from 0 to {corpus.n_docs - 1}")
        row = corpus[int(document) : int(document) + 1]
        if not row.nnz:
            raise ValueError(f"document {document} has no word that the model knows")
        return self._edited(edit.moved(self.model_, self._tokens_by_topic(row), k))

    def _tokens_by_topic(self, row: Corpus) -> sp.csc_array:  # [V, K]
        """The tokens of a document, divided among its topics."""
        theta, words = sp.csr_array(self._proportions(row, False, True)), self.model_.words
        alpha = self.model_.prior.alpha[theta.indices]
        used = theta.indices[theta.data > alpha] if (theta.data > alpha).any() else theta.indices
        weight = theta.toarray()[0, used] * words.tables(row.index).table[:, used].astype(np.float64)
        tokens = row.value[:, None] * weight / weight.sum(axis=1, keepdims=True)
        where = (np.repeat(row.index, len(used)), np.tile(used, len(row.index)))
        return sp.csc_array((tokens.ravel(), where), shape=words.shape)

    def _given_words(self, words: Iterable[str | int]) -> list[int]:
        given: list[str | int] = [words] if isinstance(words, str | int) else list(words)
        if not given:
            raise ValueError("no words were given")
        return sorted(set(self._word_ids(given)))

    def _rename_without(self, gone: list[int]) -> None:
        """Names stay with their topics where those before them are removed."""
        kept = {k: name for k, name in getattr(self, "names_", {}).items() if k not in gone}
        self.names_ = {k - sum(other < k for other in gone): name for k, name in kept.items()}

    def _known_topics(self, topics: Any) -> list[int]:
        K = self.model_.n_components
        if not isinstance(topics, Iterable) or isinstance(topics, str):
            raise ValueError(f"topics are given as a list, such as [{topics!r}], and pairs to merge as [(2, 7)]")
        found = list(topics)
        for k in found:
            if not isinstance(k, int | np.integer) or isinstance(k, bool) or not 0 <= k < K:
                raise ValueError(f"{k!r} is not a topic: they are numbered from 0 to {K - 1}")
        return [int(k) for k in found]

    def _seed_column(self, seed: Seed, strength: float) -> sp.csc_array:  # [V, 1]
        weights = seed_weights(seed)
        ids = self._word_ids(list(weights))
        total = self.model_.words.total
        tokens = np.maximum(total.rows(np.asarray(ids, np.int64)), 0.0).sum(axis=1)
        counts = seed_counts(weights.values(), tokens, strength)
        return sp.csc_array((counts, (ids, np.zeros(len(ids), int))), shape=(self.model_.words.shape[0], 1))

    def _word_ids(self, words: list[str | int]) -> list[int]:
        names = getattr(self, "feature_names_in_", None)
        V = self.model_.words.shape[0]
        ids = word_places(words, names, V)
        unknown = [word for word, v in zip(words, ids) if v < 0]
        if unknown:
            listed = ", ".join(map(repr, unknown[:5])) + (" and others" if len(unknown) > 5 else "")
            hint = " (the model was fitted without names of words: give column numbers)" if names is None else ""
            raise ValueError(f"not among the {V} words of this model: {listed}{hint}")
        return ids

    def _edited(self, model: TopicModel) -> Self:
        if np.ndim(self.doc_topic_prior):
            self.doc_topic_prior = model.prior.alpha
        if np.ndim(self.topic_word_prior):
            self.topic_word_prior = word_prior_as_given(model.words.eta)
        if not isinstance(self.init, str):
            self.init = np.maximum(model.words.total.counts().T, 0.0)
        self.n_components = model.n_components
        self._set_model(model)
        return self
