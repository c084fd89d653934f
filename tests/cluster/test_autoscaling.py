"""Ray's own autoscaler, which starts machines when workers wait for room: here as further nodes on this machine."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import textwrap
import time
from contextlib import suppress
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.slow,  # a cluster of its own; test_elastic.py has machines that join one
    pytest.mark.timeout(400),
    pytest.mark.skipif(sys.platform != "linux", reason="finds the processes of a cluster in /proc"),
    pytest.mark.xdist_group("autoscaler"),
]
OPEN = {"RAY_AUTH_MODE": "disabled"}  # else `ray start` asks for the token of the home directory
MOST, CPUS = 3, 2  # machines, and cores of each; the head has none
PROGRAM = """
    import json, logging, sys, time
    from topmix import LDA
    from topmix.data import sample_lda
    from topmix.engines import Ray, ray_pool
    from topmix.learners import Memoized

    class Said(logging.Handler):
        def emit(self, record):
            said.append(record.getMessage())

    said, ray_pool.MORE_SECONDS = [], 0.5  # the fit begins with the first worker
    logging.getLogger("topmix.ray").addHandler(Said())
    engine, corpus = Ray(**json.loads(sys.argv[1])), sample_lda(360, 300, 6, doc_length=60, random_state=0).corpus

    def wait(record, view):
        pool = ray_pool.pool_of(engine)  # by the same address, while connected
        deadline = time.monotonic() + 120
        while record.n_pass == 2 and len(pool.alive()) < int(sys.argv[2]) and time.monotonic() < deadline:
            pool.look_around()
            time.sleep(0.1)

    def fit(engine, **more):
        learner = Memoized(batch_size=30, batches_per_update=3)
        return LDA(6, max_iter=5, tol=0.0, random_state=0, learner=learner, engine=engine, **more).fit(corpus)

    found = fit(engine, callbacks=[wait])
    same = bool((found.components_ == fit("threads").components_).all())
    asked = len(ray_pool.pool_of(engine).peers)
    workers = [record.workers["workers"] for record in found.history_]
    print(json.dumps({"same": same, "workers": workers, "asked": asked, "said": said}))
"""


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """Of a cluster whose head has no cores, and whose autoscaler starts machines and removes idle ones."""
    folder = tmp_path_factory.mktemp("r")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    provider = {"type": "fake_multinode", "gcs_address": f"127.0.0.1:{port}"}
    provider |= dict.fromkeys(
        ("use_node_id_as_ip", "disable_node_updaters", "disable_launch_config_check"), True
    )  # no ssh, and all have the address of this machine
    machine = {"resources": {"CPU": CPUS, "object_store_memory": 10**8}, "node_config": {}, "max_workers": MOST}
    config = {
        "cluster_name": "test",
        "max_workers": MOST,
        "provider": provider,
        "head_node_type": "ray.head.default",
        "available_node_types": {"ray.head.default": {"resources": {}, "node_config": {}}, "machine": machine},
        "upscaling_speed": 10.0,
        "idle_timeout_minutes": 0.1,
        "file_mounts_sync_continuously": False,
        **{what: {} for what in ("auth", "docker", "file_mounts")},
        **{f"{what}_commands": [] for what in ("initialization", "setup", "head_setup", "worker_setup")},
        **{f"{what}_start_ray_commands": [] for what in ("head", "worker")},
        "cluster_synced_files": [],
    }
    (folder / "config.json").write_text(json.dumps(config))
    command = [sys.executable, "-m", "ray.scripts.scripts", "start", "--head", f"--port={port}", "--block"]
    command += ["--node-ip-address=127.0.0.1", "--num-cpus=0", "--object-store-memory=100000000"]
    command += ["--include-dashboard=false", "--disable-usage-stats", f"--temp-dir={folder}"]
    usual = {**os.environ, **OPEN, "RAY_FAKE_CLUSTER": "1", "AUTOSCALER_UPDATE_INTERVAL_S": "1"}
    log, ready = folder / "log", b"Ray runtime started"
    try:
        with open(log, "wb") as out:
            autoscaling = f"--autoscaling-config={folder}/config.json"
            head = subprocess.Popen([*command, autoscaling], env=usual, stdout=out, stderr=out)
        deadline = time.monotonic() + 120
        while ready not in log.read_bytes():
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.2)
        yield f"127.0.0.1:{port}"
    finally:
        while left := of_folder(folder):
            for pid in left:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            head.poll()


def of_folder(folder: Path) -> list[int]:
    """Processes whose command names a folder: those of a cluster, also its machines' own."""
    found = []
    for command in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if str(folder).encode() in command.read_bytes():
                found.append(int(command.parent.name))
    return found


def run(wait_for, **engine):
    command = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(PROGRAM), json.dumps(engine), str(wait_for)]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **OPEN})


def test_without_a_number_a_machine_is_filled_and_no_further_one_is_wanted(address):
    # first: no machine is there yet
    done = run(CPUS, address=address)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["same"]
    assert found["asked"] == found["workers"][-1] == CPUS


def test_workers_wait_for_machines_that_the_autoscaler_starts(address):
    done = run(3, address=address, workers=3, cpus_per_worker=CPUS)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["same"]
    assert found["workers"][0] < 3
    assert found["workers"][2:] == [3, 3, 3]
    assert any("the others will join when there is room" in line for line in found["said"])


def test_when_no_machine_comes_the_error_says_what_to_do(address):
    done = run(1, address=address, workers=1, cpus_per_worker=CPUS + 1, start_seconds=5)
    assert re.search(
        rf"no worker of {CPUS + 1} CPUs could be started within 5 seconds: .* give it more time", done.stderr
    )
