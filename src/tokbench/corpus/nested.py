"""Names of fields that lead into nested objects and structures."""

from collections.abc import Container, Sequence
from typing import Any

import pyarrow as pa


def steps_of(field: str, names: Container[str]) -> list[str]:
    """Return the keys that lead to a field: its name where a key has it, else the parts between dots."""
    return [field] if field in names else field.split(".")


def type_of(schema: pa.Schema, steps: Sequence[str]) -> pa.DataType | None:
    """Return the type of a column or of a field of a structure; None where there is none."""
    if steps[0] not in schema.names:
        return None
    kind = schema.field(steps[0]).type
    for step in steps[1:]:
        if not pa.types.is_struct(kind) or kind.get_field_index(step) < 0:
            return None
        kind = kind.field(step).type
    return kind


def column_of(batch: pa.RecordBatch, steps: Sequence[str]) -> Any:
    """Return a column, or a field of a structure with empty cells where the structure is empty."""
    from pyarrow.compute import struct_field

    column = batch.column(steps[0])
    return struct_field(column, list(steps[1:])) if steps[1:] else column
