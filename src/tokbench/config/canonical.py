"""Values as canonical text, because the workflow engine compares rule parameters as text."""

import json
from typing import Any

from pydantic import BaseModel


def canonical(value: Any) -> str:
    """A value as canonical JSON: sorted keys, no spaces."""
    plain = value.model_dump(mode="json") if isinstance(value, BaseModel) else value
    return json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
