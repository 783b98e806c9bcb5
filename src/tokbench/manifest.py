"""Manifests: what made an artefact."""

import json
import time
from pathlib import Path
from typing import Any

from tokbench.provenance import provenance


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


def settings_of(folder: Path) -> dict[str, Any]:
    """What a folder's manifest says of how it was made; nothing where none can be read."""
    try:
        settings: dict[str, Any] = dict(json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["settings"])
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    return settings
