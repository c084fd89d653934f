"""`topmix serve`."""

from __future__ import annotations

from typing import Annotated

import typer

from topmix.apps.command import options
from topmix.apps.command.command import app_of, print_json, tell
from topmix.apps.command.models import check_model_file

HOST = "127.0.0.1"
MEGABYTE = 1 << 20


def serve(
    model: options.ModelFile,
    host: Annotated[str, options.text(help="The address; the default is seen by this machine alone.")] = HOST,
    port: Annotated[int, options.number(help="The port; 0 takes one that is free.", min=0, max=65535)] = 8000,
    token: Annotated[
        str | None,
        options.text(help="The secret of requests; a new one if not given.", envvar="TOPMIX_TOKEN"),
    ] = None,
    no_token: Annotated[bool, typer.Option("--no-token", help="Answer everybody who can reach the address.")] = False,
    allow_host: Annotated[
        list[str] | None, options.text(help="Another name of this server, such as that of a proxy; may be repeated.")
    ] = None,
    max_body: Annotated[int, options.number(help="Megabytes of a request, at most.", min=1, max=1024)] = 1,
    seed: options.Seed = 0,
    threads: options.Threads = None,
    as_json: options.AsJson = False,
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
    if token is not None and no_token:
        raise typer.BadParameter("the secret cannot go with --no-token", param_hint="--token")
    check_model_file(model)
    from topmix.apps import service  # says what to install
    from topmix.apps.web import checked_token
    from topmix.apps.web.server import Server

    checked_token(token)
    server = Server(
        service.service(service.ModelFile(model), model.name, threads), host=host, port=port, hosts=allow_host or (),
        token=None if no_token else token or "", open_paths=service.OPEN_PATHS, max_body=max_body * MEGABYTE,
    )  # fmt: skip
    if as_json:
        print_json({"model": str(model), "address": server.address, "token": server.token})
    else:
        typer.echo(f"Serving {model} at {server.address}")
        if server.token is not None and token is None:
            typer.echo(f"Token: {server.token}")
    if not server.is_private:
        tell("other machines can reach this address, and HTTP hides nothing: put a proxy with TLS before it")
    server.run()


serve_app = app_of(serve, "stopped by Ctrl-C")
