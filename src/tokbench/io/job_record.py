"""Record of the job that made a result: its options, the fingerprint of its code and its inputs.

The workflow passes the record to a command in the environment variable :data:`VARIABLE`, and every output of the
command contains it: a folder in its :mod:`record <tokbench.io.folder_record>`, a JSON file under the key :data:`KEY`, a
Parquet file in its metadata, a page, a script and a bibliography in a comment at the end. So it is not lost when files
are copied or the engine's notes are removed. Outputs of commands that are called by hand have no record.
"""

import hashlib
import json
import os
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tokbench.errors import TokbenchError, on_one_line
from tokbench.io.paths import literal

VARIABLE = "TOKBENCH_JOB"
KEY = "job"
METADATA = "tokbench.job"
"""Key in the metadata of a Parquet file."""
DATE = "date"
"""Key in the record of a folder that a job of the workflow made: the time at which it was finished, in ns."""
FOLDER_RECORD = ".tokbench.json"
"""File in an output folder that contains the record, see :mod:`tokbench.io.folder_record`."""
COMMENTS = {".html": "<!-- tokbench job {} -->", ".bib": "% tokbench job {}", ".js": "// tokbench job {}"}
"""Comments that contain the record, by the ending of the file."""
IN_COMMENT = re.compile(r"tokbench job (\{.*\})")
IN_JSON = re.compile(rf'\s*\{{\s*"{KEY}"\s*:\s*')
SPECIAL = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>@"}
"""Characters with a meaning in HTML or BibTeX; in JSON they are only within strings, where they may be escaped."""
NOT_OPTIONS = ("wildcards", "inputs", "code", "content")
"""Parts of a record that do not say with which options a result was made."""
LONGEST = 1 << 20
"""Bytes at an end of a file in which its record is."""


def current_job() -> dict[str, Any]:
    """Return the record of the job that this process works for, under its key; empty outside of the workflow."""
    text = os.environ.get(VARIABLE)
    return {KEY: json.loads(text)} if text else {}


def job_metadata() -> dict[str, str]:
    """Return the record of this process's job as metadata of a Parquet file; empty outside of the workflow."""
    text = os.environ.get(VARIABLE)
    return {METADATA: text} if text else {}


def comment_of_job(ending: str) -> str:
    """Return a line with the record of this process's job as a comment, for a file with this ending; empty outside of
    the workflow."""
    text = os.environ.get(VARIABLE)
    return COMMENTS[ending].format(text.translate(SPECIAL)) + "\n" if text else ""


def digest_of_job(record: Mapping[str, Any]) -> str:
    """Return a digest of a record without the fingerprint of code: of the configuration only."""
    configured = {key: value for key, value in record.items() if key != "code"}
    return hashlib.sha256(json.dumps(configured, sort_keys=True).encode()).hexdigest()[:16]


def reject_other_jobs(expected: Mapping[str, str]) -> None:
    """Reject results that were made from something else than the configuration says. A result without a record is
    accepted, because a user may provide it.

    Args:
        expected: digest of the record by the path of the result, see :func:`digest_of_job`.

    Raises:
        TokbenchError: a result has another record; the message names its options.
    """
    for path, digest in expected.items():
        record = read_job(Path(path))
        if record is not None and digest_of_job(record) != digest:
            options = {key: value for key, value in record.items() if key not in NOT_OPTIONS}
            made = on_one_line(json.dumps(options, ensure_ascii=False))
            raise TokbenchError(
                f"{path}: made from other options than those of the configuration (found {made}); make it again: "
                f"snakemake --forcerun {shlex.quote(path)}"
            )


def read_job(path: Path) -> Mapping[str, Any] | None:
    """Return the record of the job that made an output; None if the output has none, or cannot be read."""
    try:
        record = _read(path)
    except (OSError, ValueError):
        return None
    return record if isinstance(record, dict) else None


def date_of_folder(folder: Path) -> int | None:
    """Return the time at which a job of the workflow finished a folder, in ns since 1970; None if it is not known."""
    try:
        date = json.loads((folder / FOLDER_RECORD).read_text(encoding="utf-8")).get(DATE)
    except (OSError, ValueError, AttributeError):
        return None
    return date if isinstance(date, int) else None


def _read(path: Path) -> Any:
    if path.is_dir():
        return json.loads((path / FOLDER_RECORD).read_text(encoding="utf-8")).get(KEY)
    if path.suffix == ".parquet":
        import pyarrow.parquet as pq

        return json.loads((pq.read_metadata(literal(path)).metadata or {}).get(METADATA.encode(), b"null"))
    with path.open("rb") as file:
        if path.suffix in COMMENTS:
            file.seek(max(0, os.fstat(file.fileno()).st_size - LONGEST))
        text = file.read(LONGEST).decode(errors="replace")
    if path.suffix in COMMENTS:
        comment = IN_COMMENT.search(text)
        return json.loads(comment[1]) if comment else None
    begin = IN_JSON.match(text)
    return json.JSONDecoder().raw_decode(text, begin.end())[0] if begin else None
