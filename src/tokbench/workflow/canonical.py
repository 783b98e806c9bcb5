"""Values as canonical text, because the workflow engine compares rule parameters as text."""

import json
from typing import Any

from pydantic import BaseModel

from tokbench.pretokenization import Pretokenization

ESCAPED = {code: f"\\u{code:04x}" for code in (*range(0x7F, 0xA0), 0x2028, 0x2029, 0xFEFF, 0xFFFE, 0xFFFF)}
"""Characters to JSON, and ends of lines or none at all to YAML, by which command lines are read."""


def canonical_setting(scheme: Pretokenization) -> str:
    """A pre-tokenization as an argument of the command line: its name, or its setting as canonical JSON."""
    return scheme.setting if isinstance(scheme.setting, str) else canonical(scheme.setting)


def canonical(value: Any) -> str:
    """A value as canonical JSON that YAML reads alike: sorted keys, no spaces."""
    plain = value.model_dump(mode="json") if isinstance(value, BaseModel) else value
    return json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False).translate(ESCAPED)
