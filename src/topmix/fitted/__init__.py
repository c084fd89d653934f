"""What is told of a fitted model: its topics in one form, descriptions, scores, words of clusters."""
