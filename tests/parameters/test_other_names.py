"""Parameters under the names of other libraries: the error says what they are called here."""

import copy
import pickle

import pytest
from sklearn.base import clone

from topmix import HDP, LDA, CombinatorialLDA, GaussianMixture, GibbsLDA


@pytest.mark.parametrize(
    ("estimator", "name", "says"),
    [
        (LDA, "num_topics", "it is called n_components here"),
        (CombinatorialLDA, "k", "it is called n_components here"),
        (GibbsLDA, "alpha", "it is called doc_topic_prior here"),
        (GaussianMixture, "n_clusters", "it is called n_components here"),
        (LDA, "batch_size", r"learner=Memoized\(batch_size=...\)"),
        (LDA, "min_topic_mass", r"inference=Collapsed\(min_topic_mass=...\)"),
        (HDP, "max_topics", r"search=TopicSearch\(max_topics=...\)"),
        (LDA, "max_itre", "did you mean max_iter?"),
        (LDA, "colour", "LDA has no parameter 'colour'$"),
    ],
)
def test_the_error_says_what_it_is_called(estimator, name, says):
    with pytest.raises(TypeError, match=says):
        estimator(**{name: 3})


def test_copies_and_subclasses_are_made_as_before():
    class Named(LDA):
        def __init__(self, label, **parameters):
            super().__init__(**parameters)
            self.label = label

    assert Named("a", max_iter=3).max_iter == 3
    model = LDA(4, max_iter=2)
    for made in (clone(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert made.get_params() == model.get_params()
