"""Clusters of vectors in scikit-learn's way: a pipeline, a search for the number of clusters, labels to compare with.

python examples/vectors.py
"""

import warnings

from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from topmix import GaussianMixture, VonMisesFisherMixture

X, digit = load_digits(return_X_y=True)
pipeline = make_pipeline(PCA(20, random_state=0), GaussianMixture(random_state=0))
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # some sizes need more passes than max_iter
    search = GridSearchCV(pipeline, {"gaussianmixture__n_components": [5, 10, 20]}, cv=3).fit(X)
print("clusters with the best likelihood of unseen rows:", search.best_params_)
model = search.best_estimator_.set_params(gaussianmixture__n_components=10).fit(X)
print(f"ten clusters and ten digits agree by {adjusted_rand_score(digit, model.predict(X)):.2f} (Rand index, adjusted)")
directions = VonMisesFisherMixture(10, random_state=0).fit(X)  # such as embeddings, where length means nothing
print(f"by direction alone: {adjusted_rand_score(digit, directions.labels_):.2f}")
