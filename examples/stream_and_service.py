"""Learn from batches as they come, save the model, and answer over HTTP what a text is about.

python examples/stream_and_service.py
"""

import inspect
import json
import tempfile
from pathlib import Path
from urllib.request import Request, urlopen

import numpy as np
import scipy.stats

from topmix import LDA, Stream
from topmix.service import ModelFile, service
from topmix.web import Server

texts = sorted({inspect.getdoc(f) or "" for module in (np, scipy.stats) for f in vars(module).values()})
stream = Stream(LDA(n_components=8, random_state=0), admit=3)  # a word is learned when three documents have it
for begin in range(0, len(texts), 100):
    stream.learn(texts[begin : begin + 100])
print("documents:", len(texts), " words:", stream.model.n_features_in_, " topics:", stream.model.topic_names_[:3])
with tempfile.TemporaryDirectory() as folder:
    stream.model.save(model := Path(folder, "model"))
    server = Server(service(ModelFile(model), "docs")).start()  # `topmix serve model` does the same
    body, headers = b'{"text": "samples of a distribution"}', {"Authorization": f"Bearer {server.token}"}
    print(json.load(urlopen(Request(server.address + "topics", body, headers))))
    server.stop()
