"""Learn topics, keep them in a file, and ask the file what a new text is about.

python examples/new_documents.py
"""

import tempfile
from pathlib import Path

import topmix
from topmix import LDA
from topmix.data import Vectorizer, demo_corpus

corpus = demo_corpus()  # or topmix.data.from_texts(texts, stop_words="english", min_df=5)
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "topics.model"
    LDA(n_components=40, random_state=0).fit(corpus).save(path)
    model = topmix.load(path)

# A model remembers how its texts were cut into words, so new ones are cut the same way.
vectorizer = Vectorizer.from_dict(model.tokenizer_, vocabulary=model.feature_names_in_)
texts = [
    "A rank test of the hypothesis that two independent samples come from one distribution, with its p-value.",
    "Open a socket, connect to the server, send the request and read the response until the timeout.",
    "Sparse matrices store the rows and columns of entries; convert them to csr format before arithmetic.",
]
top_words = model.top_words(6)
for text, shares in zip(texts, model.transform(vectorizer.transform(texts))):
    best = int(shares.argmax())
    print(f"{text}\n    {shares[best]:.0%} topic {best}: {' '.join(top_words[best])}")
