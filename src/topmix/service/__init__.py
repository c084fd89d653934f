"""`topmix serve`: topics of texts over HTTP.

app.py       what is answered: topics of texts, topics of the model, health and metrics
metrics.py   counts and times of requests, in the format of Prometheus

The token, the limits of size and the headers are those of every service: topmix/web.
"""

from topmix.service.app import service

__all__ = ["service"]
