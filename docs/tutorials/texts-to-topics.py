# %% [markdown]
# # From texts to topics
#
# The texts are the documentation of Python, NumPy, SciPy and scikit-learn that is installed on this machine: every
# fourth module, class and function. Nothing is downloaded. With texts of your own, pass a list of strings, a table or a
# path to `fit` instead.

# %%
from topmix import LDA, plot
from topmix.data import demo_corpus
from topmix.inference import Collapsed

corpus = demo_corpus()[::4]
corpus

# %% [markdown]
# `fit` learns the topics. A fitted model shows itself as a table of its largest topics and a map: topics with the same
# words are near each other, and the area of a circle is the share of the topic. (`sweeps=0` leaves out the sampling
# between the passes, so that this page is made quickly; the default finds better topics.)

# %%
lda = LDA(20, inference=Collapsed(sweeps=0), random_state=0).fit(corpus)
lda

# %% [markdown]
# Tables for further work: topics with their size, coherence and nearest topic, and documents with their main topic.

# %%
lda.topic_info(corpus)[["topic", "name", "share", "coherence", "nearest"]].head(8)

# %%
lda.document_info(corpus).head(5)

# %% [markdown]
# The words of one topic, with what they are in the whole corpus in white:

# %%
largest = int(lda.topic_info()["topic"].iloc[0])
plot.top_words(lda, largest, n=12)

# %% [markdown]
# You know better than the model which words belong together? Seed a topic, ban a word from one, or pin a word to one,
# and learn again. Bans and pins hold whatever the documents say.

# %%
from topmix import Seeds

words = [["matrix", "eigenvalues", "decomposition"]]
seeds = Seeds(words, pin={0: ["matrix", "eigenvalues"]}, ban={0: ["file"]})
steered = LDA(20, seeds=seeds, inference=Collapsed(sweeps=0), random_state=0)
steered.fit(corpus)
print("topic 0:", " ".join(steered.top_words(10)[0]))

# %% [markdown]
# How well does a model predict words that it has not seen? Split documents, and score the second half of the words
# given the first. Compare numbers of topics and settings by it, not by the objective.

# %%
from topmix.metrics import completion_score

train, test = corpus[: corpus.n_docs * 4 // 5], corpus[corpus.n_docs * 4 // 5 :]
for K in (5, 20, 40):
    model = LDA(K, inference=Collapsed(sweeps=0), random_state=0).fit(train)
    print(f"{K:3} topics: {completion_score(model.topic_word_, test):.3f} nats per word")

# %% [markdown]
# `lda.save("model")` keeps the model, and `topmix.load("model")` brings it back. `topmix explore model --corpus docs/`
# opens a page in the browser to read documents, edit topics and learn on.
