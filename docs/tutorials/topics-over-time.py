# %% [markdown]
# # Following topics over time
#
# A small newspaper, written by a program: 900 texts of three years on four subjects. Chess becomes popular, gardening
# is a matter of the season, and the other two stay. The model does not see the dates; they are used afterwards.

# %%
import numpy as np
import pandas as pd

rng = np.random.default_rng(0)
subjects = {
    "sea": "boat sail wind harbour anchor mast rope wave tide captain crew deck",
    "chess": "rook pawn queen king board mate opening gambit castle knight bishop clock",
    "garden": "soil seed rose compost leaf bloom root weed shovel tulip hedge lawn",
    "music": "chord violin tune tempo piano melody octave rhythm concert singer cello drum",
}
words = [text.split() for text in subjects.values()]
days = pd.date_range("2021-01-01", "2023-12-31", periods=900)


def shares(day):
    chess = 0.1 + 0.5 * (day - days[0]) / (days[-1] - days[0])
    garden = 0.25 + 0.2 * np.sin(2 * np.pi * (day.day_of_year - 100) / 365)
    return np.array([0.25, chess, garden, 0.25]) / (0.5 + chess + garden)


def text(day):
    mix = rng.dirichlet(3.0 * shares(day))
    return " ".join(rng.choice(words[k]) for k in rng.choice(4, 15, p=mix))


papers = rng.choice(["north", "south"], 900)
table = pd.DataFrame({"date": days, "text": [text(day) for day in days], "paper": papers})
table.head(3)

# %% [markdown]
# A table goes in as it is; `text` names its column. Four topics are learned, and named by their words.

# %%
from topmix import LDA

lda = LDA(4, random_state=0).fit(table, text="text")
lda

# %% [markdown]
# `topics_over_time` says how much of the documents of each period belongs to each topic, with an interval by bootstrap
# over documents.

# %%
by_quarter = lda.topics_over_time(table, "date", freq="quarter")
by_quarter.head(4)

# %%
import matplotlib.pyplot as plt

fig, ax = plt.subplots(figsize=(8, 3.6))
for topic, rows in by_quarter.groupby("topic"):
    x = pd.to_datetime(rows["period"])
    [line] = ax.plot(x, rows["share"], label=f"{topic}: {' '.join(lda.top_words(3)[topic])}")
    ax.fill_between(x, rows["low"], rows["high"], color=line.get_color(), alpha=0.15, linewidth=0)
ax.set_ylabel("share of the documents")
[chess] = [k for k in range(4) if "rook" in lda.top_words(10)[k]]
rises = by_quarter[by_quarter["topic"] == chess]["share"].to_numpy()
assert rises[-1] > rises[0] + 0.2
ax.legend(frameon=False, ncols=2, loc="upper center", bbox_to_anchor=(0.5, 1.28))

# %% [markdown]
# Chess rises and gardening comes and goes, as they were written. Groups of documents work in the same way. The two
# papers were drawn at random, so their intervals should meet:

# %%
lda.topics_by(table, "paper")[["group", "topic", "name", "share", "low", "high"]]

# %% [markdown]
# For a stream that goes on for ever, with words that come and go, see `topmix.Stream`.
