"""Asynchronous learning (Zhang et al. 2019) against batch and stochastic learning: bound and perplexity by the second.

Results are one JSON file: {"machine": {...}, "curves": [...]}, where a curve is

    {"panel": "fig4", "corpus": "nips", "K": 128, "method": "asynchronous", "settings": {...},
     "seconds": [...], "elbo": [...], "perplexity": [...]}

`panel` is the figure of the paper that it belongs to (fig3, fig4, fig6, fig7, fig8); `seconds` counts initialisation;
`elbo` is the bound on all training documents, and `perplexity` that of held-out ones, or [] where none was asked for.
papers/esvi.py draws them.
"""
