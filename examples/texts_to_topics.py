"""A list of texts becomes a table of topics, the documents to read for each, and a page to explore.

python examples/texts_to_topics.py
"""

import inspect
import tempfile

import numpy as np
import scipy.signal
import scipy.stats

from topmix import LDA, export
from topmix.report import write_report

found = (inspect.getdoc(f) or "" for module in (np, scipy.stats, scipy.signal) for f in vars(module).values())
texts = sorted({text for text in found if len(text) > 400})  # or yours: a list, a DataFrame, "abstracts.csv"
lda = LDA(n_components=12, random_state=0).fit(texts)

topics = lda.topic_info(texts)  # the last ones are hardly worth reading, and `quality` says why
print(topics[["name", "share", "coherence", "quality"]].to_string())
print("left out of the words:", {reason: words[:4] for reason, words in lda.vectorizer_.left_out_.items()})
for _, row in lda.representative_documents(texts, n=1).head(3).iterrows():
    print(f"\n{row['name']} ({row['weight']:.0%}): {' '.join(row['text'].split())[:90]}")
with tempfile.TemporaryDirectory() as folder:
    write_report(lda, f"{folder}/report.html", texts)  # one file, to mail
print("\nfor pyLDAvis.prepare(**...):", *export.to_pyldavis(lda, texts))
