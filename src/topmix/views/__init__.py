"""Fitted estimators as pages, exports, plots and the command read them; descriptions and scores of them."""
