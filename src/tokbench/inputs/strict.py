"""What every option takes as a number, whatever its own type says beside: a rule of all classes of options at once."""

from typing import Any

from tokbench.inputs.numbers import LARGEST_COUNT

EXACT = ("int", "float", "bool")
"""Kinds of value that nothing else is converted to: a truth value is no number, and text is neither."""
NOT_SCHEMAS = ("default", "default_factory", "metadata", "serialization", "expected", "function", "cls")
"""Keys below which no schema lies, only values and code."""


def exact(schema: Any) -> Any:
    """A core schema whose whole numbers, real numbers and truth values are taken as they are written or not at all.

    A whole number for which no upper bound is stated gets the general one. Numbers that are not finite are rejected by
    the setting ``allow_inf_nan`` of the class.
    """
    if isinstance(schema, list | tuple):
        return type(schema)(map(exact, schema))
    if not isinstance(schema, dict):
        return schema
    kept = {key: value if key in NOT_SCHEMAS else exact(value) for key, value in schema.items()}
    if kept.get("type") in EXACT:
        kept["strict"] = True
        if kept["type"] == "int" and not {"le", "lt"} & kept.keys():
            kept["le"] = LARGEST_COUNT
    return kept
