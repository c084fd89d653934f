# %% [markdown]
# # Programmes of genes in single cells
#
# Cells are documents, genes are words, and topics are programmes of genes that are active together. The counts here
# are generated: 1,200 cells of 500 genes. There are three kinds of cells, a programme for each, and one that every cell
# may switch on, such as a response to stress. With an AnnData, `fit(adata, layer="counts")` reads it, and
# `annotate(adata)` writes the results into it.

# %%
import numpy as np
import scipy.sparse as sp

rng = np.random.default_rng(0)
n_cells, n_genes = 1200, 500
genes = np.array([f"gene{g}" for g in range(n_genes)])
programmes = rng.dirichlet(np.full(n_genes, 0.2), 4)
programmes[:, :40] *= 0.02
for k in range(4):
    programmes[k, 10 * k : 10 * k + 10] = 0.03  # ten marker genes each
programmes /= programmes.sum(axis=1, keepdims=True)
kind = rng.integers(3, size=n_cells)
stress = rng.beta(0.4, 1.2, n_cells)  # in cells of every kind
mix = (0.9 * np.eye(4)[kind] + 0.1 / 3) * (1 - stress)[:, None]
mix[:, 3] = stress
mix /= mix.sum(axis=1, keepdims=True)
depth = rng.poisson(rng.gamma(4.0, 150.0, n_cells))
counts = sp.csr_array(np.array([rng.multinomial(n, p @ programmes) for n, p in zip(depth, mix)]))
counted = counts.nnz / np.prod(counts.shape)
print(f"{counts.shape[0]} cells, {counts.shape[1]} genes, {counted:.0%} of all pairs have a count")

# %% [markdown]
# Counts go in as they are: no logarithm, and no normalisation. Cells of few counts simply say less.

# %%
from topmix import LDA

lda = LDA(4, random_state=0).fit(counts, feature_names=genes)
lda

# %% [markdown]
# Most of the ten best genes of each topic are markers of one programme. Proportions of topics describe a cell: its
# kind, and how much of the shared programme it has. A clustering would have to choose.

# %%
theta = lda.transform(counts)
markers = {f"gene{g}": g // 10 for g in range(40)}
of_topic = []
for k in range(4):
    of_topic.append(int(np.bincount([markers[g] for g in lda.top_words(10)[k] if g in markers]).argmax()))
    found = sum(markers.get(g) == of_topic[k] for g in lda.top_words(10)[k])
    print(f"topic {k}: programme {of_topic[k]}, {found} of its 10 markers among its 10 best genes")

# %%
import matplotlib.pyplot as plt

shared = of_topic.index(3)
fig, axes = plt.subplots(1, 2, figsize=(9, 3.4))
axes[0].scatter(stress, theta[:, shared], s=6, c=kind, cmap="viridis")
axes[0].set(xlabel="shared programme, as generated", ylabel=f"proportion of topic {shared}")
order = np.lexsort((stress, kind))
axes[1].stackplot(range(n_cells), theta[order].T, labels=[f"topic {k}" for k in range(4)], alpha=0.85)
axes[1].set(xlabel="cells, by kind and by stress", ylabel="proportion", xlim=(0, n_cells), ylim=(0, 1))
axes[1].legend(loc="lower right", fontsize="small")
fig.tight_layout()

# %%
error = np.abs(theta[:, shared] - stress).mean()
print(f"the shared programme is off by {error:.3f} of a cell's counts on average")
assert error < 0.1

# %% [markdown]
# Genes that must not define a programme, such as those of the cell cycle, can be banned from topics, and known markers
# pinned to one: `LDA(4, seeds=Seeds(pin={0: ["gene0"]}))`. Files larger than memory are read in blocks: see
# [Single cells](../single-cells.md).
