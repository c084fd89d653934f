"""The algorithms of some papers as they were published: ordinary estimators, with the settings of the paper."""

from topmix.estimators.presets import (
    batch_vb,
    cvb0,
    esvi_gmm,
    esvi_lda,
    gibbs,
    gsdmm,
    restarted_hdp,
    scvb0,
    sparse_gmm,
    sparse_lda,
    stochastic_vb,
    word_refine,
)

__all__ = [
    "batch_vb", "cvb0", "esvi_gmm", "esvi_lda", "gibbs", "gsdmm", "restarted_hdp", "scvb0", "sparse_gmm",
    "sparse_lda", "stochastic_vb", "word_refine",
]  # fmt: skip
