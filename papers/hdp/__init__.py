"""Hughes, Kim & Sudderth, Reliable and Scalable Variational Inference for the HDP (2015)."""
