"""Views of fitted models for people: topics, tables, maps and scores, the same for all estimators."""
