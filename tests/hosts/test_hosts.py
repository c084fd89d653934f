"""Fits on hosts that share no network, no memory and no temporary files, and what happens when one is cut off."""

import json
import subprocess
import sys
import threading
import time

import pytest

from tools.hosts import PORT, Hosts, missing

pytestmark = [
    pytest.mark.slow,  # a cluster of three Ray nodes; tests/cluster has three nodes that share a network
    pytest.mark.skipif(missing() is not None, reason=str(missing())),
    pytest.mark.timeout(600),
    pytest.mark.xdist_group("hosts"),
    pytest.mark.filterwarnings("ignore:subprocess .* is still running:ResourceWarning"),
]
LAST = 2
S3 = {  # on all hosts: each reads for itself
    "AWS_ENDPOINT_URL": f"http://{Hosts.address(0)}:5000",
    "AWS_ACCESS_KEY_ID": "nobody",
    "AWS_SECRET_ACCESS_KEY": "nothing",
    "AWS_DEFAULT_REGION": "us-east-1",
}


@pytest.fixture(scope="module")
def hosts():
    with pytest.MonkeyPatch.context() as patch, Hosts(3, ms=10, mbit=1000, loss=0.001) as made:
        for name, value in S3.items():
            patch.setenv(name, value)
        patch.setenv("RAY_ADDRESS", made.start_ray())
        yield made


def run(hosts, what, at_pass=None, act=None):
    """What a program on the first host says. `act` is called when so many passes are over."""
    program = hosts.start(0, [sys.executable, "-m", "tests.hosts.program", what, "3"], stdout=subprocess.PIPE)
    n_passes, lines = 0, []
    for line in program.stdout:
        if line == b"pass\n":
            n_passes += 1
            if n_passes == at_pass:
                act()
        else:
            lines.append(line)
    program.stdout.close()
    assert program.wait() == 0, lines
    return json.loads(lines[-1])


def test_hosts_share_no_files_no_memory_and_no_time(hosts):
    for folder in ("/tmp", "/dev/shm"):
        assert hosts.start(0, ["touch", f"{folder}/mine"]).wait() == 0
        assert hosts.start(0, ["test", "-e", f"{folder}/mine"]).wait() == 0
        assert hosts.start(1, ["test", "-e", f"{folder}/mine"]).wait() == 1
    connect = (
        "import socket, time; begin = time.monotonic()\n"
        f"socket.create_connection(('{hosts.address(0)}', {PORT}), 30)\n"
        "assert time.monotonic() - begin >= .02"  # there and back
    )
    before = hosts.sent(1)[0]
    assert hosts.start(1, [sys.executable, "-c", connect]).wait() == 0
    assert hosts.sent(1)[0] > before


@pytest.mark.parametrize("what", ["memoized", "mixture"])
def test_a_fit_has_the_bits_of_threads(hosts, what):
    assert run(hosts, what)["found"]["same"]


def test_topics_travel_between_hosts(hosts):
    found = run(hosts, "travelling")["found"]
    assert found["passes"] == 8
    assert found["last"] > found["first"]


def test_hosts_meet_in_object_storage(hosts):
    server = ["-m", "moto.server", "-H", "0.0.0.0", "-p", "5000"]
    hosts.start(0, [sys.executable, *server], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait = f"import socket; socket.create_connection(('{hosts.address(0)}', 5000), 1)"
    while hosts.start(0, [sys.executable, "-c", wait], stderr=subprocess.DEVNULL).wait():
        time.sleep(0.5)
    found = run(hosts, "storage")["found"]
    assert found["same"]
    assert found["alone"] == 1  # without a folder that all hosts see
    assert not found["left"]


@pytest.mark.parametrize("seconds", [5, 60, None])
def test_a_host_that_is_cut_off_changes_no_bit(hosts, seconds):
    """It comes back after so many seconds, or not before the fit has ended."""
    timer = threading.Timer(seconds or 0, hosts.join, [LAST])

    def cut():
        hosts.cut(LAST)
        if seconds is not None:
            timer.start()

    answer = run(hosts, "memoized", 3, cut)
    if seconds is None:
        timer.start()
    timer.join()
    if seconds != 5:  # Ray has given it up: its processes end when they hear of it
        hosts.kill(LAST)
        hosts.start_node(LAST)
    assert answer["found"]["same"]
    assert any("has not answered" in line or "was lost" in line for line in answer["said"]), answer["said"]


def test_a_host_that_is_lost_changes_no_bit(hosts):
    answer = run(hosts, "memoized", 3, lambda: hosts.kill(LAST))
    assert answer["found"]["same"]
    hosts.start_node(LAST)
    assert any("was lost" in line for line in answer["said"]), answer["said"]
