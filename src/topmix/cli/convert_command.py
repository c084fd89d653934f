"""`topmix convert`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from topmix.cli.command import (
    AsJson,
    Seed,
    Threads,
    app_of,
    check_output,
    check_output_folder,
    note,
    one_line_errors,
    print_json,
)
from topmix.cli.flags import Flag, Settings, with_flags
from topmix.cli.models import PREFERRED, component_flags, configure, estimator_class, load_model, model_flags
from topmix.cli.sources import CLI_DEFAULTS, FIT_GROUPS, read_all_for, read_to_fit
from topmix.data import CorpusError, write_corpus
from topmix.data.formats import FORMATS
from topmix.data.layout import read_header
from topmix.data.remote_file import open_binary
from topmix.export import EXPORTS, export
from topmix.files.store import MODEL

ENGINE: dict[str, Flag] = {"engine": model_flags()["engine"], **component_flags("engine")}


@with_flags({**FIT_GROUPS, "Who counts the texts of Parquet files": list(ENGINE.values())}, CLI_DEFAULTS)
def convert(
    source: Annotated[Path, typer.Argument(metavar="SOURCE", help="Documents as for `topmix fit`, or a model file.")],
    output: Annotated[Path, typer.Argument(metavar="OUTPUT", help="The file to write.")],
    to: Annotated[
        str | None,
        typer.Option(
            help=f"For a corpus: {', '.join(FORMATS)}. For a model: {', '.join(EXPORTS)}. If not given, the name of "
            "OUTPUT decides.",
            metavar="FORMAT",
        ),
    ] = None,
    corpus: Annotated[
        Path | None, typer.Option(help="For a model: documents that pyldavis and mallet need.", metavar="DOCS")
    ] = None,
    seed: Seed = 0,
    threads: Threads = None,
    as_json: AsJson = False,
    **settings: object,
) -> None:
    """Write a corpus in another format, or a model for another program.

    Texts are tokenized once, so fits from the saved corpus start at once. The corpus is built in the file, so it may
    be larger than memory.

    \b
    topmix convert docs/ docs.topmix               then: topmix fit docs.topmix -k 30 -o model
    topmix convert texts/ docs.topmix --engine ray       workers of a cluster count Parquet files
    topmix convert docword.kos.txt.gz kos.mtx.gz
    topmix convert model topics.csv
    topmix convert model model.gensim
    topmix convert model vis.json --corpus docs/   for pyLDAvis.prepare
    """
    with one_line_errors("stopped by Ctrl-C; nothing was written"):
        if not source.exists():
            raise ValueError(f"{source}: there is no such file or folder")
        if to == "mallet":
            check_output_folder(output)
        else:
            check_output(output)
        if is_model(source):
            found = load_model(source, threads)
            documents = None if corpus is None else read_all_for(found, corpus, settings).corpus
            export(found, output, to, documents)
            about: dict[str, object] = {"estimator": type(found).__name__}
        else:
            about = {**_convert_corpus(source, output, to, settings)}
        if as_json:
            print_json({"source": str(source), "output": str(output), **about})
        else:
            note(f"wrote {output}")


def is_model(path: Path) -> bool:
    if not path.is_file():
        return False
    try:
        with open_binary(path) as file:
            return read_header(file, path)[1].get("format") == MODEL
    except CorpusError:
        return False


def _convert_corpus(source: Path, output: Path, to: str | None, settings: Settings) -> dict[str, float]:
    ours = to == "topmix" or (to is None and output.suffix == ".topmix")
    can_be_read = output.is_file() or not output.exists()  # not a device
    estimator = estimator_class(PREFERRED)()
    configure(estimator, {name: settings.pop(name) for name in ENGINE if name in settings})
    found = read_to_fit(source, settings, output if ours and can_be_read else None, estimator._engine())
    if not ours or found.path != output:
        write_corpus(found, output, to)
    return {"n_docs": found.n_docs, "n_words": found.n_words, "n_tokens": found.n_tokens}


app = app_of(convert)
