"""One shape for whatever people look at: topics, tables, maps and scores of any fitted model of words."""
