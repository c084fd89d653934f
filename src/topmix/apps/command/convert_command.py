"""`topmix convert`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from topmix.apps.command import options
from topmix.apps.command.command import app_of, check_output, note, print_json
from topmix.apps.command.documents import FIT_GROUPS, DocumentsAt, read_data
from topmix.apps.command.models import load_model
from topmix.apps.export import EXPORTS, export
from topmix.base.checks import CorpusError
from topmix.base.fields import MODEL
from topmix.base.layout import read_header
from topmix.base.remote_file import open_binary
from topmix.estimators import LDA
from topmix.io.readers import FORMATS, write_corpus


def convert(
    source: Annotated[Path, typer.Argument(metavar="SOURCE", help="Documents as for `topmix fit`, or a model file.")],
    output: Annotated[Path, typer.Argument(metavar="OUTPUT", help="The file to write.")],
    to: Annotated[
        str | None,
        options.format(help=f"Of a corpus: {', '.join(FORMATS)}. Of a model: {', '.join(EXPORTS)}. Or by the name."),
    ] = None,
    corpus: Annotated[Path | None, options.docs(help="Documents of a model, which pyldavis and mallet need.")] = None,
    seed: options.Seed = 0,
    threads: options.Threads = None,
    as_json: options.AsJson = False,
    **settings: object,
) -> None:
    """Write a corpus in another format, or a model for another program.

    Texts are tokenized once, so fits from the saved corpus start at once. The corpus is built in the file, so it may
    be larger than memory.

    \b
    topmix convert docs/ docs.topmix               then: topmix fit docs.topmix -k 30 -o model
    topmix convert docword.kos.txt.gz kos.mtx.gz
    topmix convert model topics.csv
    topmix convert model vis.json --corpus docs/   for pyLDAvis.prepare
    """
    if to != "mallet":  # which is a folder
        check_output(output)
    about: dict[str, object]
    if is_model(source):
        model = load_model(source, threads)
        if model._takes == "groups":
            raise ValueError(f"{source}: a {type(model).__name__} mixes clusters in groups of rows: use it from Python")
        documents = None if corpus is None else read_data(model, corpus, settings).X
        export(model, output, to, documents)
        about = {"estimator": type(model).__name__}
    else:
        is_ours = to == "topmix" or (to is None and output.suffix == ".topmix")
        can_be_read = output.is_file() or not output.exists()  # not a device
        found = DocumentsAt.at(source, settings).to_fit(LDA(), output if is_ours and can_be_read else None)
        if not is_ours or found.path != output:
            write_corpus(found, output, to)
        about = {"n_docs": found.n_docs, "n_words": found.n_words, "n_tokens": found.n_tokens}
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


convert_app = app_of(convert, "stopped by Ctrl-C; nothing was written", FIT_GROUPS)
