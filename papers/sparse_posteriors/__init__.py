"""Hughes & Sudderth, Fast Learning of Clusters and Topics via Sparse Posteriors (2016)."""
