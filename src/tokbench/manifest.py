"""Manifests: what made an artefact."""

import json
import os
import platform
import subprocess
import time
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGES = ("tokbench", "numpy", "polars", "torch", "transformers", "tokenizers", "llm-foundry", "lm-eval", "snakemake")


def write_manifest(path: Path, settings: dict[str, Any], started: float) -> None:
    """Write what made the artefact in this folder.

    Args:
        path: the manifest's file.
        settings: configuration and seeds.
        started: ``time.monotonic()`` when the work began.
    """
    manifest = {
        "settings": settings,
        "seconds": round(time.monotonic() - started, 3),
        "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        **provenance(),
    }
    path.write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")


@cache
def provenance() -> dict[str, Any]:
    """Package versions, source revision and hardware; nothing that names a user or a host."""
    return {
        "versions": {package: found for package in PACKAGES if (found := _version(package))},
        "revision": _revision(),
        "hardware": {
            "processor": platform.machine(),
            "cores": os.cpu_count(),
            "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
            "system": platform.system(),
            "python": platform.python_version(),
        },
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _revision() -> str | None:
    """Commit of the source tree, with ``+`` where it has been changed since; None outside a checkout."""
    git = ["git", "-C", str(Path(__file__).parent)]
    try:
        commit = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
        changed = subprocess.run([*git, "status", "--porcelain", "-uno"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return commit + ("+" if changed.stdout.strip() else "")
