"""A fit that is a job of a cluster: submitted once, found again, and watched through lost connections."""

import pytest
from typer.testing import CliRunner

from topmix.cli import app, jobs

FIT = ["s3://bucket/texts", "-k", "5", "-o", "s3://bucket/model", "--engine", "ray"]


class Cluster:
    """Jobs that say a line at each look, and end after three; some looks find no connection."""

    def __init__(self, end="SUCCEEDED", lost=()):
        self.entrypoints, self.looks, self.end, self.lost = {}, 0, end, lost

    def submit_job(self, *, entrypoint, submission_id):
        self.entrypoints[submission_id] = entrypoint
        return submission_id

    def list_jobs(self):
        return [Found(name, "RUNNING" if self.looks < 3 else self.end) for name in self.entrypoints]

    def get_job_status(self, job_id):
        self.looks += 1
        if self.looks in self.lost:
            raise ConnectionError("the line is dead")
        return "RUNNING" if self.looks < 3 else self.end

    def get_job_logs(self, job_id):
        return "".join(f"pass {n}\n" for n in range(1, self.looks + 1))


class Found:
    def __init__(self, submission_id, status):
        self.submission_id, self.status = submission_id, status


@pytest.fixture
def at_once(monkeypatch):
    monkeypatch.setattr(jobs, "SECONDS", 0.0)


def call(cluster, monkeypatch, *more):
    monkeypatch.setattr(jobs, "_client", lambda address: cluster)
    return CliRunner().invoke(app, ["fit", *FIT, *more])


@pytest.mark.parametrize("address", [("--engine.address", "http://head:8265"), ("--engine.address=http://head:8265",)])
@pytest.mark.usefixtures("at_once")
def test_the_cluster_runs_the_same_command_with_its_own_address(monkeypatch, address):
    done = call(cluster := Cluster(), monkeypatch, *address, "--max-iter", "3")
    assert done.exit_code == 0, done.output
    [entrypoint] = cluster.entrypoints.values()
    assert entrypoint == f"topmix fit {' '.join(FIT)} --max-iter 3 --engine.address auto"
    assert [line for line in done.stderr.splitlines() if line.startswith("pass")] == ["pass 1", "pass 2", "pass 3"]


@pytest.mark.usefixtures("at_once")
def test_the_same_command_finds_its_job_and_another_one_does_not(monkeypatch):
    cluster = Cluster()
    command = [*FIT, "--engine.address", "http://head:8265"]
    cluster.submit_job(entrypoint="other", submission_id="topmix-of-somebody-else")
    monkeypatch.setattr(cluster, "get_job_status", lambda job_id: (_ for _ in ()).throw(KeyboardInterrupt))
    assert jobs.watch(cluster, "http://head:8265", "fit", command) == 130
    monkeypatch.undo()
    monkeypatch.setattr(jobs, "SECONDS", 0.0)
    assert jobs.watch(cluster, "http://head:8265", "fit", command) == 0
    assert len(cluster.entrypoints) == 2
    assert jobs.watch(cluster, "http://head:8265", "fit", command) == 0  # the first is over: this is another
    assert len(cluster.entrypoints) == 3


@pytest.mark.usefixtures("at_once")
def test_a_lost_connection_is_said_once_and_no_line_is_missing(monkeypatch):
    done = call(Cluster(lost=(1, 2)), monkeypatch, "--engine.address", "http://head:8265")
    assert done.exit_code == 0
    assert done.stderr.count("no answer from the cluster (the line is dead)") == 1
    assert "pass 1\npass 2\npass 3" in done.stderr


@pytest.mark.usefixtures("at_once")
def test_a_job_that_fails_is_an_error_and_a_cluster_that_is_gone_too(monkeypatch):
    done = call(Cluster(end="FAILED"), monkeypatch, "--engine.address", "http://head:8265")
    assert done.exit_code == 1
    assert done.stderr.rstrip().endswith("failed")
    monkeypatch.setattr(jobs, "PATIENCE", 0.0)
    done = call(Cluster(lost=range(100)), monkeypatch, "--engine.address", "http://head:8265")
    assert done.exit_code == 1
    assert "the same command finds the job again" in done.stderr
