"""What runs on the first host: fits on the cluster, compared with the same fits here. Says each pass, then JSON."""

import json
import logging
import sys
import time
from dataclasses import replace

import numpy as np

from topmix import LDA, GaussianMixture
from topmix.data import Corpus, sample_lda
from topmix.engines.ray_engine import Ray
from topmix.learners import Memoized

PAUSE = 0.2  # seconds after each pass, so that something can happen
said: list[str] = []


class Said(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        said.append(record.getMessage())


def pause(*_: object) -> None:
    print("pass", flush=True)
    time.sleep(PAUSE)


def documents() -> Corpus:
    return sample_lda(360, 300, 6, doc_length=60, random_state=0).corpus


def lda(engine: object, X: object, checkpoint: str | None = None, **given: object) -> np.ndarray:
    learner = Memoized(batch_size=30, batches_per_update=3)
    model = LDA(6, max_iter=8, tol=0.0, random_state=0, learner=learner, engine=engine, **given)
    return model.fit(X, checkpoint=checkpoint).components_


def memoized(engine: Ray) -> object:
    return {"same": bool((lda(engine, documents(), callbacks=[pause]) == lda("threads", documents())).all())}


def mixture(engine: Ray) -> object:
    X = np.random.default_rng(0).normal(size=(900, 5))
    here, there = (GaussianMixture(4, max_iter=6, random_state=0, engine=e).fit(X) for e in ("threads", engine))
    return {"same": bool((here.means_ == there.means_).all())}


def travelling(engine: Ray) -> object:
    X = documents()
    how = {"inference": "variational", "learner": "asynchronous", "max_iter": 8, "tol": 0.0, "random_state": 0}
    there = LDA(6, engine=engine, callbacks=[pause], **how).fit(X)
    return {"passes": len(there.history_), "last": there.history_[-1].objective, "first": there.history_[0].objective}


def storage(engine: Ray) -> object:
    """A corpus and texts that no two hosts have on their disks."""
    import fsspec
    import pyarrow as pa
    import pyarrow.parquet as pq

    fsspec.filesystem("s3").mkdir("bucket")
    documents().save("s3://bucket/corpus.topmix")
    there = lda(engine, "s3://bucket/corpus.topmix", checkpoint="s3://bucket/checkpoint")
    texts = ["wind sail boat water"] * 40 + ["rook bishop board king"] * 40
    pq.write_table(pa.table({"text": texts}), "/tmp/part.parquet")
    fsspec.filesystem("s3").put_file("/tmp/part.parquet", "bucket/texts/part.parquet")
    with_folder = replace(engine, folder="s3://bucket/counts")
    of_texts, counted = (lda(e, "s3://bucket/texts/") for e in (engine, with_folder))
    same = (there == lda("threads", documents())).all() and (of_texts == lda("threads", texts)).all()
    alone = sum("this process counts the texts alone" in line for line in said)
    left = fsspec.filesystem("s3").find("bucket/counts")
    return {"same": bool(same and (counted == of_texts).all()), "alone": alone, "left": left}


if __name__ == "__main__":
    logging.getLogger("topmix.ray").addHandler(Said())
    found = globals()[sys.argv[1]](Ray(workers=int(sys.argv[2])))
    print(json.dumps({"found": found, "said": said}), flush=True)
