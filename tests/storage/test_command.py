"""The command reads and writes URLs."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import topmix
from tests.storage.conftest import BUCKET
from topmix.apps.command import app
from topmix.base.paths import path_of
from topmix.data import Corpus

TEXTS = ["wind sail boat water"] * 12 + ["rook bishop board king"] * 12


def call(*args):
    return CliRunner().invoke(app, [str(arg) for arg in args])


@pytest.fixture
def bucket(storage, tmp_path):
    """Texts in Parquet, in two files."""
    import fsspec
    import pyarrow as pa
    import pyarrow.parquet as pq

    for n in range(2):
        pq.write_table(pa.table({"text": TEXTS[12 * n :][:12]}), tmp_path / "part.parquet")
        fsspec.filesystem("s3").put_file(str(tmp_path / "part.parquet"), f"bucket/texts/part-{n}.parquet")
    return storage


def test_a_model_is_learned_in_object_storage_alone(bucket):
    fit = ("fit", f"{BUCKET}/texts/*.parquet", "-k", "2", "-o", f"{BUCKET}/model", "--max-iter", "3", "--json")
    done = call(*fit, "--checkpoint", f"{BUCKET}/checkpoint")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["model"] == f"{BUCKET}/model"
    model = topmix.load(f"{BUCKET}/model")
    np.testing.assert_array_equal(model.components_, topmix.LDA(2, max_iter=3, random_state=0).fit(TEXTS).components_)
    done = call("convert", f"{BUCKET}/texts", f"{BUCKET}/corpus.topmix")
    assert done.exit_code == 0, done.output
    assert Corpus.open(f"{BUCKET}/corpus.topmix").n_docs == 24
    for command in (
        ("fit", f"{BUCKET}/corpus.topmix", "-o", f"{BUCKET}/model", "--resume", "--max-iter", "1", "-q"),
        ("infer", f"{BUCKET}/model", f"{BUCKET}/corpus.topmix", "-o", f"{BUCKET}/theta.csv"),
        ("report", f"{BUCKET}/model", "-o", f"{BUCKET}/report.html"),
        ("topics", f"{BUCKET}/model"),
        ("convert", f"{BUCKET}/model", f"{BUCKET}/topics.csv"),
    ):
        done = call(*command)
        assert done.exit_code == 0, (command, done.output)
    assert len(path_of(f"{BUCKET}/theta.csv").read_text().splitlines()) == 25


def test_what_is_not_there_is_said_in_one_line(bucket):
    done = call("fit", f"{BUCKET}/none.csv", "-o", f"{BUCKET}/model")
    assert (done.exit_code, done.stderr) == (1, f"topmix: {BUCKET}/none.csv: there is no such file or folder\n")
    done = call("fit", f"{BUCKET}/texts", "-o", "s3://no-bucket/model")
    assert (done.exit_code, done.stderr) == (
        1, "topmix: s3://no-bucket/model: there is no such file, folder or bucket\n"
    )  # fmt: skip
    done = call("topics", f"{BUCKET}/none")
    assert done.exit_code == 1
    assert "there is no such model file" in done.stderr
