"""Generator of envs/*.yaml, the conda environments of the rules, from pyproject.toml and the lock files.

Run after a change to them: ``python tools/make_environments.py``; ``make lock`` does.
"""

import re
import tomllib
from pathlib import Path
from typing import NamedTuple

from packaging.markers import Marker

ROOT = Path(__file__).parents[1]
BUILD = ("cython", "setuptools")
"""Packages that each post-deploy script needs to install Tokbench."""
REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)(\[[^]]*\])?")
MACHINE = {"platform_machine": "x86_64", "platform_system": "Linux", "sys_platform": "linux"}
"""Machine whose versions the environments have."""


class Environment(NamedTuple):
    """Packages of an environment in addition to the requirements of Tokbench.

    Attributes:
        purpose: comment at the top of the file.
        lock: file with the versions.
        python: version of Python.
        extras: extras of Tokbench whose requirements it includes.
        packages: further single packages of other extras.
    """

    purpose: str
    lock: str
    python: str
    extras: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()


ENVIRONMENTS = {
    "language_models": Environment(
        "Neural byte language models, pretraining, translation and evaluation.",
        "models.lock",
        "3.12",
        ("language-models",),
        ("torch",),
    ),
    "tokenizers": Environment(
        "Corpora, built and external tokenizers, measures, statistics and reports.",
        "requirements.lock",
        "3.13",
        ("existing", "hub", "code"),
    ),
}
HEAD = """\
# {purpose} Written by tools/make_environments.py.
channels:
  - conda-forge
  - nodefaults
dependencies:
  - python={python}
  - c-compiler
  - cxx-compiler
  - pip
  - pip:
"""


def environments() -> dict[Path, str]:
    """Return the text of every environment file by path."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    made = {}
    for name, environment in ENVIRONMENTS.items():
        locked = locked_versions(ROOT / environment.lock, environment.python)
        wanted = list(project["dependencies"])
        for extra in environment.extras:
            wanted += project["optional-dependencies"][extra]
        chosen = {*map(_named, wanted), *environment.packages} - set(BUILD)
        pins = [f"{package}=={locked[package.partition('[')[0]]}" for package in (*BUILD, *sorted(chosen))]
        head = HEAD.format(purpose=environment.purpose, python=environment.python)
        made[ROOT / "envs" / f"{name}.yaml"] = head + "".join(f"      - {pin}\n" for pin in pins)
    return made


def locked_versions(lock: Path, python: str) -> dict[str, str]:
    """Return the versions of a lock file by package, for a version of Python on :data:`MACHINE`."""
    machine = {**MACHINE, "python_version": python, "python_full_version": f"{python}.0"}
    versions = {}
    for line in lock.read_text(encoding="utf-8").splitlines():
        requirement, _, marker = line.partition(" ; ")
        if not marker or Marker(marker).evaluate(machine):
            name, version = requirement.split("==")
            versions[name] = version
    return versions


def _named(requirement: str) -> str:
    """Return a requirement without its version."""
    found = REQUIREMENT.match(requirement)
    assert found is not None
    return found[0]


if __name__ == "__main__":
    for path, text in environments().items():
        path.write_text(text, encoding="utf-8")
