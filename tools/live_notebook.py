"""A notebook in a program that runs notebooks, for tests and benchmarks: JupyterLab, Notebook 7 or marimo.

with running("jupyterlab", ["import topmix", ...], folder) as address:
    page.goto(address)
    run_cell(page, 0)
"""

from __future__ import annotations

import json
import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PATHS = {"jupyterlab": "lab/tree", "notebook": "notebooks"}


@contextmanager
def running(program: str, cells: Sequence[str], folder: Path) -> Iterator[str]:
    """The address of mine.ipynb in `folder` with these cells; of marimo, of a program whose cells have run."""
    command, env = [sys.executable, "-m", program], dict(os.environ)
    if program == "marimo":
        (folder / "mine.py").write_text(marimo_program(cells))
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        address = f"http://127.0.0.1:{port}/"
        command += ["run", "mine.py", "--headless", "--no-token", "--host=127.0.0.1", f"--port={port}"]
    else:
        (folder / "mine.ipynb").write_text(json.dumps(notebook(cells)))
        token = secrets.token_hex()
        settings = {"ServerApp.root_dir": folder, "IdentityProvider.token": token, "ServerApp.port": 0}
        command += ["--no-browser", "--allow-root", *(f"--{name}={value}" for name, value in settings.items())]
        env |= {"JUPYTER_RUNTIME_DIR": str(folder / "run"), "JUPYTER_CONFIG_DIR": str(folder / "config")}
    server = subprocess.Popen(command, cwd=folder, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        if program == "marimo":
            wait_for_port(port, server)
        else:
            address = f"{started(folder / 'run', server)}{PATHS[program]}/mine.ipynb?token={token}&reset"
        yield address
    finally:
        server.terminate()
        try:
            server.wait(30)
        except subprocess.TimeoutExpired:  # on a machine that is busy
            server.kill()
            server.wait()


def notebook(cells: Sequence[str]) -> dict[str, Any]:
    code = [
        {"cell_type": "code", "id": f"c{n}", "metadata": {}, "source": source, "outputs": [], "execution_count": None}
        for n, source in enumerate(cells)
    ]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return {"cells": code, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def marimo_program(cells: Sequence[str]) -> str:
    """The last line of a cell is what it shows."""
    parts = ["import marimo", "app = marimo.App()"]
    for source in cells:
        lines = source.strip().splitlines()
        parts.append("\n".join(["@app.cell", "def _():", *(f"    {line}" for line in lines), "    return"]))
    return "\n\n".join([*parts, 'if __name__ == "__main__":\n    app.run()\n'])


def run_cell(page: Any, cell: int) -> None:
    """Runs a cell of a Jupyter notebook. Keys that come before its kernel is there are lost, or open a dialog."""
    page.wait_for_selector(".jp-Notebook-ExecutionIndicator:is([data-status=idle], [data-status=busy])")
    prompt = page.locator(".jp-CodeCell").nth(cell).locator(".jp-InputPrompt")
    for _ in range(20):
        page.locator(".jp-CodeCell").nth(cell).locator(".cm-content").click()
        page.keyboard.press("Shift+Enter")
        page.wait_for_timeout(1000)
        if prompt.inner_text().strip() != "[ ]:":
            return
    raise AssertionError("the cell does not run")


def started(folder: Path, server: subprocess.Popen[bytes]) -> str:
    """The address of a Jupyter server, as it writes it."""
    for _ in range(600):
        for path in folder.glob("jpserver-*.json"):
            if written := read(path):
                return str(written["url"])
        assert server.poll() is None, "the server ended"
        time.sleep(0.1)
    raise AssertionError("the server did not start")


def wait_for_port(port: int, server: subprocess.Popen[bytes]) -> None:
    for _ in range(600):
        assert server.poll() is None, "the server ended"
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.1)
    raise AssertionError("the server did not start")


def read(path: Path) -> Any:
    """JSON in a file; None while it is being written."""
    try:
        return json.loads(path.read_text())
    except ValueError:
        return None
