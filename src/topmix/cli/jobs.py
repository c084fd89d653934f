"""A command that runs on a cluster and is watched from here: `--engine.address http://HEAD:8265`, where Ray takes jobs.

The same command, with the cluster's own address, becomes a job of the cluster. This process shows what it says. If the
connection is lost, or this process ends, the job goes on; the same command again finds it, as long as it runs.
"""

from __future__ import annotations

import hashlib
import shlex
import sys
import time
from collections.abc import Sequence
from typing import Protocol

from topmix.cli.command import INTERRUPTED, tell

ADDRESS = "--engine.address"
SECONDS = 1.0  # between two looks at the job
PATIENCE = 300.0  # seconds without an answer
OVER = ("SUCCEEDED", "FAILED", "STOPPED")


class Jobs(Protocol):
    """What is used of ray.job_submission.JobSubmissionClient."""

    def submit_job(self, *, entrypoint: str, submission_id: str) -> str: ...
    def list_jobs(self) -> Sequence[Job]: ...
    def get_job_status(self, job_id: str) -> str: ...
    def get_job_logs(self, job_id: str) -> str: ...


class Job(Protocol):
    submission_id: str | None
    status: str


def takes_jobs(address: object) -> bool:
    return isinstance(address, str) and address.startswith(("http://", "https://"))


def run_there(address: str, command: str, arguments: Sequence[str]) -> int:
    """The exit code of the command, which runs on the cluster."""
    return watch(_client(address), address, command, arguments)


def watch(jobs: Jobs, address: str, command: str, arguments: Sequence[str]) -> int:
    entrypoint = shlex.join(["topmix", command, *there(arguments)])
    name = f"topmix-{hashlib.sha256(entrypoint.encode()).hexdigest()[:12]}"
    running = [job.submission_id for job in jobs.list_jobs() if job.status not in OVER]
    found = next((job for job in running if job is not None and job.startswith(name)), None)
    job = found or jobs.submit_job(entrypoint=entrypoint, submission_id=f"{name}-{time.time_ns()}")
    began = "found" if found else "began"
    tell(f"{began} job {job}; it goes on without this program, and the same command finds it again")
    try:
        status = _followed(jobs, job)
    except KeyboardInterrupt:
        tell(f"the job goes on; `ray job stop {job} --address {address}` ends it")
        return INTERRUPTED
    if status != "SUCCEEDED":
        tell(f"job {job}: {status.lower()}")
    return 0 if status == "SUCCEEDED" else 1


def there(arguments: Sequence[str]) -> list[str]:
    """The arguments with the address that the cluster has for itself."""
    kept, skip = list[str](), False
    for argument in arguments:
        if skip:
            skip = False
        elif argument == ADDRESS:
            skip = True
        elif not argument.startswith(f"{ADDRESS}="):
            kept.append(argument)
    return [*kept, ADDRESS, "auto"]


def _followed(jobs: Jobs, job: str) -> str:
    """Shows what the job says, and how it ended. A cluster that does not answer is asked again for a while."""
    shown, lost = 0, None
    while True:
        try:
            status, said = str(jobs.get_job_status(job)), jobs.get_job_logs(job)
        except (OSError, RuntimeError) as error:
            if lost is None:
                lost = time.monotonic()
                said = " ".join(str(error).split())[:100]
                tell(f"no answer from the cluster ({said}); the job goes on, and this program tries again")
            elif time.monotonic() - lost > PATIENCE:
                raise ConnectionError(
                    f"no answer from the cluster for {PATIENCE:.0f} seconds; the same command finds the job again"
                ) from error
            time.sleep(SECONDS)
            continue
        lost = None
        sys.stderr.write(said[shown:])
        sys.stderr.flush()
        shown = len(said)
        if status in OVER:
            return status
        time.sleep(SECONDS)


def _client(address: str) -> Jobs:
    try:
        from ray.job_submission import JobSubmissionClient

        client: Jobs = JobSubmissionClient(address)
    except (ImportError, RuntimeError) as error:
        raise ImportError(f"jobs need Ray with its dashboard: pip install 'ray[default]' ({error})") from error
    except ConnectionError as error:
        raise ConnectionError(f"no cluster takes jobs at {address}: {error}") from error
    return client
