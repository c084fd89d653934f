"""`topmix serve`."""

from __future__ import annotations

from typing import Annotated

import typer

from topmix.cli.command import ModelFile, Seed, Threads, app_of, number, one_line_errors, print_json, tell
from topmix.cli.models import check_model_file

MEGABYTE = 1 << 20


def serve(
    model: ModelFile,
    host: Annotated[
        str,
        typer.Option(help="The address to listen at. The default is seen by this machine alone.", metavar="ADDRESS"),
    ] = "127.0.0.1",
    port: Annotated[int, number(help="The port; 0 takes one that is free.", min=0, max=65535)] = 8000,
    token: Annotated[
        str | None,
        typer.Option(
            help="The secret that requests must have. If not given, a new one is made and printed.",
            envvar="TOPMIX_TOKEN",
            metavar="SECRET",
        ),
    ] = None,
    no_token: Annotated[bool, typer.Option("--no-token", help="Answer everybody who can reach the address.")] = False,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            help="A name of this server, besides its address, for instance that of a proxy before it; may be repeated.",
            metavar="NAME",
        ),
    ] = None,
    max_body: Annotated[int, number(help="Megabytes of a request, at most.", min=1, max=1024)] = 1,
    seed: Seed = 0,
    threads: Threads = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the address and the token as JSON.")] = False,
) -> None:
    """Answer over HTTP: the topics of texts, one at a time, with health and metrics.

    Needs topmix[explorer]. Requests have the header "Authorization: Bearer TOKEN"; /health needs none. The model is
    read into memory. When its file is replaced, the service goes on with the new model. Ctrl-C ends the service.

    \b
    topmix serve model
    curl localhost:8000/topics -H "Authorization: Bearer $TOKEN" -d '{"text": "wind and sails"}'
    {"topics":[{"topic":3,"weight":0.91,"name":"sail, wind, boat"}]}
    curl localhost:8000/topics -H "Authorization: Bearer $TOKEN"      the topics of the model
    curl localhost:8000/metrics -H "Authorization: Bearer $TOKEN"     counts and times, for Prometheus
    """  # fmt: skip
    with one_line_errors("stopped by Ctrl-C"):
        if token is not None and (no_token or len(token) < 8 or not token.isascii() or not token.isprintable()):
            why = "cannot go with --no-token" if no_token else "must have 8 or more plain characters"
            raise typer.BadParameter(f"the secret {why}", param_hint="--token")
        check_model_file(model)
        from topmix.pages.service import OPEN_PATHS, ModelFile
        from topmix.service import service  # says what to install
        from topmix.web import Server

        app = service(ModelFile(model), model.name, threads)
        server = Server(
            app,
            host=host,
            port=port,
            token=None if no_token else token or "",
            hosts=allow_host or (),
            open_paths=OPEN_PATHS,
            max_body=max_body * MEGABYTE,
        )
        if as_json:
            print_json({"model": str(model), "address": server.address, "token": server.token})
        else:
            typer.echo(f"Serving {model} at {server.address}")
            if server.token is not None and token is None:
                typer.echo(f"Token: {server.token}")
        if not server.is_private:
            tell("other machines can reach this address, and HTTP hides nothing: put a proxy with TLS before it")
        server.run()


app = app_of(serve)
