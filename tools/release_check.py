"""Whether this commit can be released, as far as files say: `make release-check`. Exits with 1 where something is to be
changed in the repository, and lists what is left for a person.

    python tools/release_check.py [v0.1.0]      the tag that is to be published
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOR_A_PERSON = (
    "PyPI: a project `topmix`, and a trusted publisher for .github/workflows/release.yml with the environment `pypi`",
    "GitHub: the environment `pypi` with a reviewer, and Pages from the branch gh-pages",
    "Zenodo: switch the repository on, so that the release gets a DOI; put it into CITATION.cff afterwards",
)


def problems(tag: str | None) -> list[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    version, found = project["version"], []
    if tag is not None and tag != f"v{version}":
        found.append(f"the tag {tag} is not v{version}, the version of pyproject.toml")
    citation = (ROOT / "CITATION.cff").read_text()
    if f"\nversion: {version}\n" not in citation:
        found.append(f"CITATION.cff does not say `version: {version}`")
    if "\nrepository-code:" not in citation:
        found.append("CITATION.cff has no repository-code: the address of the repository")
    if "urls" not in project:
        found.append("pyproject.toml has no [project.urls]")
    heading = re.search(r"^## \[?([^\]\n]*)\]?(.*)$", (ROOT / "CHANGELOG.md").read_text(), re.M)
    if heading is None or heading[1] != version or not re.search(r"\d{4}-\d\d-\d\d", heading[2]):
        found.append(f"CHANGELOG.md does not begin with `## [{version}] - ` and the date of the release")
    named = {c.rpartition(" ")[2] for c in project["classifiers"] if re.search(r"Python :: 3\.\d+$", c)}
    least = project["requires-python"].removeprefix(">=")
    if least not in named:
        found.append(f"requires-python is >={least}, and no classifier names {least}")
    built = set(re.findall(r"cp3(\d+)-\*", (ROOT / "pyproject.toml").read_text()))
    if missing := sorted(named - {f"3.{minor}" for minor in built}):
        found.append(f"no wheel is tested on Python {', '.join(missing)}, which classifiers name")
    return found


if __name__ == "__main__":
    found = problems(sys.argv[1] if len(sys.argv) > 1 else None)
    print("\n".join([*(f"to change: {each}" for each in found), *(f"for a person: {each}" for each in FOR_A_PERSON)]))
    sys.exit(bool(found))
