"""What `import topmix` and `topmix --help` load. Modules are counted, not seconds, which depend on the machine."""

import re
import subprocess
import sys

import pytest

HEAVY = ("sklearn", "scipy", "pandas", "polars", "pyarrow", "matplotlib", "ray", "grpc", "cupy", "starlette", "uvicorn")
HELP = """
import contextlib, io
from topmix.apps.command import main
with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
    main()
"""


def modules_after(code, *arguments):
    said = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print(' '.join(sys.modules))", *arguments],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    return said.split()


@pytest.mark.parametrize(
    ("code", "arguments", "forbidden", "most"),
    [
        ("import topmix", (), ("numpy", "typer", "rich"), 80),
        (HELP, ("--help",), ("numpy",), 400),
    ],
)
def test_starting_loads_little(code, arguments, forbidden, most):
    before = set(modules_after(""))
    after = modules_after(code, *arguments)
    heavy = {name.partition(".")[0] for name in after} & {*HEAVY, *forbidden}
    assert not heavy, f"loaded before anything was asked for: {sorted(heavy)}"
    assert len(set(after) - before) < most


def test_a_short_command_leaves_out_what_scikit_learn_imports_for_others():
    """test_cli.py has the demo."""
    after = {*modules_after(HELP, "topics", "--help")}
    assert "topmix.estimators.lda" in after
    assert not after & {"scipy.stats._stats_py", "scipy.optimize", "pandas.core.api", "sklearn.metrics"}
    assert len(after) < 1400


def test_a_module_that_waits_is_whole_when_it_is_used():
    code = """
import sys
from topmix.apps.command import Deferring
with Deferring():
    import pandas, scipy.stats
assert "pandas.core.api" not in sys.modules
from scipy.stats import rankdata
assert pandas.Series([3, 1]).rank().tolist() == rankdata([3, 1]).tolist() == [2, 1]
"""
    assert "pandas.core.api" in modules_after(code)


WITHOUT_EXTRAS = """
import os, sys
for name in ("starlette", "uvicorn", "prometheus_client", "pyarrow", "matplotlib", "anndata", "ray", "cupy", "fsspec"):
    sys.modules[name] = None
sys.modules["snowballstemmer"] = None
from typer.testing import CliRunner
from topmix import *
import topmix
from topmix.apps.command import app

os.chdir(sys.argv[1])
texts = ["rose garden soil", "soil rose", "orbit moon", "moon star orbit"] * 5
model = LDA(2, max_iter=1, random_state=0).fit(texts)
model.save("model")


def command(*arguments):
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 1
    raise ImportError(done.output.removeprefix("topmix: "))


for extra, ask in (
    ("explorer", lambda: explore(model, texts)),
    ("explorer", lambda: topmix.explorer),
    ("explorer", lambda: command("serve", "model")),
    ("explorer", lambda: command("explore", "model", "--corpus", "nowhere")),
    ("explorer", lambda: command("fit", "nowhere", "-o", "other", "--explore")),
    ("parquet", lambda: topmix.export.export(model, "topics.parquet")),
    ("parquet", lambda: topmix.data.read_corpus("model", format="parquet")),
    ("plot", lambda: topmix.plot.topic_map(model)),
    ("anndata", lambda: topmix.data.read_corpus("model", format="h5ad")),
    ("languages", lambda: LDA(2, vectorizer=topmix.data.Vectorizer(stemmer="german")).fit(texts)),
    ("cloud", lambda: topmix.data.read_corpus("s3://bucket/texts.jsonl")),
    ("cloud", lambda: topmix.load("https://127.0.0.1/model")),
    ("ray", lambda: LDA(2, engine="ray").fit(texts)),
    ("cuda", lambda: LDA(2, engine="cuda").fit(texts)),
):
    try:
        ask()
    except (ImportError, topmix.data.CorpusError) as error:
        print(extra, " ".join(str(error).split()), sep=": ")
"""


def test_without_the_extras_all_names_import_and_each_use_says_in_the_same_words_what_to_install(tmp_path):
    run = [sys.executable, "-c", WITHOUT_EXTRAS, str(tmp_path)]
    said = subprocess.run(run, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    assert len(said) == 14
    sentence = r"(\w+): .+ needs .+: pip install 'topmix\[\1\]' \((import of|No module named) .+\)"
    assert [line for line in said if not re.fullmatch(sentence, line)] == []
