"""JSON for programs: numbers are numbers, and what is no number in JSON, such as NaN, is null."""

import json
import math
from collections.abc import Mapping
from typing import Any


def written(value: Any) -> str:
    """A value as JSON of the strict kind, in lines, with one at its end."""
    return json.dumps(plain(value), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def plain(value: Any) -> Any:
    """The same with null in place of numbers that JSON does not have."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return value
