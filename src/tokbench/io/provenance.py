"""Provenance and manifests of outputs: versions of packages, revision of the source, hardware, settings."""

import json
import os
import platform
import subprocess
import time
from collections.abc import Iterable
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGES = ("tokbench", "numpy", "polars", "torch", "transformers", "tokenizers", "llm-foundry", "lm-eval", "snakemake")


@cache
def provenance() -> dict[str, Any]:
    """Return package versions, source revision and hardware, without names of users or hosts."""
    return {
        "versions": versions_of(PACKAGES),
        "revision": _revision(),
        "hardware": {
            "processor": platform.machine(),
            "cores": os.cpu_count(),
            "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
            "system": platform.system(),
            "python": platform.python_version(),
        },
    }


def versions_of(packages: Iterable[str]) -> dict[str, str]:
    """Return the versions of the packages that are installed."""
    return {package: version for package in packages if (version := _version(package))}


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _revision() -> str | None:
    """Return the commit of the source tree, with ``+`` if files were changed; None outside of our own checkout.

    The package may be installed inside another repository. So the tree must have our layout, and this file must be
    under version control.
    """
    here = Path(__file__).resolve()
    top = here.parents[3]
    try:
        if Path(_git(top, "rev-parse", "--show-toplevel")).resolve() != top or not (top / "pyproject.toml").is_file():
            return None
        _git(top, "ls-files", "--error-unmatch", str(here.relative_to(top)))
        return _git(top, "rev-parse", "HEAD") + ("+" if _git(top, "status", "--porcelain", "-uno") else "")
    except (OSError, subprocess.CalledProcessError):
        return None


def _git(folder: Path, *arguments: str) -> str:
    """Return the output of a git command in a folder, ignoring git's environment variables."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    asked = ["git", "-C", str(folder), *arguments]
    return subprocess.run(asked, capture_output=True, text=True, check=True, env=environment).stdout.strip()


def write_manifest(path: Path, settings: dict[str, Any], started: float) -> None:
    """Write the manifest of an output.

    Args:
        path: the manifest's file.
        settings: configuration and seeds.
        started: ``time.monotonic()`` at the start of the work.
    """
    manifest = {
        "settings": settings,
        "seconds": round(time.monotonic() - started, 3),
        "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        **provenance(),
    }
    path.write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")


def last_day(folders: Iterable[Path]) -> str:
    """Return the latest day on which artefacts in some folders were finished, as YYYY-MM-DD; empty where none says."""
    days = [""]
    for folder in folders:
        try:
            days.append(str(json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["finished"])[:10])
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return max(days)


def settings_of(folder: Path) -> dict[str, Any]:
    """Return the settings in a folder's manifest; empty if it cannot be read."""
    try:
        settings: dict[str, Any] = dict(json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["settings"])
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    return settings
