"""The manifest of a corpus: what was cut, tagged, left out, removed or read as bytes when it was prepared."""

import json
from pathlib import Path

from tokbench.inputs.json import read_json

MANIFEST = "manifest.json"
"""In the folder of a corpus with such findings, and in no other's."""
Findings = dict[str, str | list[str]]
"""Sentences by subject: ``cut_documents``, ``untagged_documents``, ``left_out``, ``byte_order_marks``, ``not_utf8``,
``bad_lines``, ``empty_lines``, ``duplicates`` and ``equal_files``."""


def write_findings(folder: Path, findings: Findings) -> None:
    """Write the manifest of a corpus, if there is anything to say."""
    if findings:
        (folder / MANIFEST).write_text(json.dumps(findings, ensure_ascii=False) + "\n", encoding="utf-8")


def read_findings(folder: Path) -> Findings:
    """Return what the manifest in a folder says; nothing where there is none.

    Raises:
        TokbenchError: it cannot be read; the message names it.
    """
    manifest = folder / MANIFEST
    return read_json(manifest, "prepare the corpus again") if manifest.is_file() else {}


def lines_of(findings: Findings) -> list[str]:
    """Return the sentences of a manifest, one a line."""
    return [line for found in findings.values() for line in ([found] if isinstance(found, str) else found)]
