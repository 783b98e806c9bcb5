"""Generator of envs/*.yaml, the conda environments of the rules, from pyproject.toml and requirements.lock.

Run after a change to either: ``python tools/make_environments.py``; ``make lock`` does.
"""

import re
import tomllib
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
BUILD = ("cython", "setuptools")
"""Packages that each post-deploy script needs to install Tokbench."""
REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)(\[[^]]*\])?")


class Environment(NamedTuple):
    """Packages of an environment in addition to the requirements of Tokbench.

    Attributes:
        purpose: comment at the top of the file.
        extras: extras of Tokbench whose requirements it includes.
        packages: further single packages of other extras.
    """

    purpose: str
    extras: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()


ENVIRONMENTS = {
    "language_models": Environment(
        "Byte language models, pretraining and evaluation.", ("language-models",), ("torch",)
    ),
    "tokenizers": Environment(
        "Corpora, built and external tokenizers, measures, statistics and reports.",
        ("existing", "code"),
        ("transformers",),
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
    python = project["requires-python"].partition(",")[0].removeprefix(">=")
    lines = (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()
    locked = dict(line.split("==") for line in lines)
    made = {}
    for name, environment in ENVIRONMENTS.items():
        wanted = list(project["dependencies"])
        for extra in environment.extras:
            wanted += project["optional-dependencies"][extra]
        chosen = {*map(_named, wanted), *environment.packages} - set(BUILD)
        pins = [f"{package}=={locked[package.partition('[')[0]]}" for package in (*BUILD, *sorted(chosen))]
        head = HEAD.format(purpose=environment.purpose, python=python)
        made[ROOT / "envs" / f"{name}.yaml"] = head + "".join(f"      - {pin}\n" for pin in pins)
    return made


def _named(requirement: str) -> str:
    """Return a requirement without its version."""
    found = REQUIREMENT.match(requirement)
    assert found is not None
    return found[0]


if __name__ == "__main__":
    for path, text in environments().items():
        path.write_text(text, encoding="utf-8")
