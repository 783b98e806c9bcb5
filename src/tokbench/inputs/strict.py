"""Rules of all classes of options at once: which values are numbers, and that lists have no entry twice."""

from typing import Any

from pydantic_core import core_schema

from tokbench.inputs.numbers import LARGEST_COUNT

EXACT = ("int", "float", "bool")
"""Kinds of value that nothing else is converted to: a truth value is no number, and text is neither."""
NOT_SCHEMAS = ("default", "default_factory", "metadata", "serialization", "expected", "function", "cls")
"""Keys below which no schema lies, only values and code."""


def exact(schema: Any) -> Any:
    """A core schema whose whole numbers, real numbers and truth values are taken as they are written or not at all.

    A whole number for which no upper bound is stated gets the general one. Numbers that are not finite are rejected by
    the setting ``allow_inf_nan`` of the class. A list of any length must have every text and every number once.
    """
    if isinstance(schema, list | tuple):
        return type(schema)(map(exact, schema))
    if not isinstance(schema, dict):
        return schema
    if schema.get("type") == "function-after" and schema["function"]["function"] is without_repetition:
        return schema  # Of a class within another class.
    kept = {key: value if key in NOT_SCHEMAS else exact(value) for key, value in schema.items()}
    if kept.get("type") in EXACT:
        kept["strict"] = True
        if kept["type"] == "int" and not {"le", "lt"} & kept.keys():
            kept["le"] = LARGEST_COUNT
    if kept.get("type") == "list" or "variadic_item_index" in kept:
        unique = {"pydantic_js_updates": {"uniqueItems": True}}
        return core_schema.no_info_after_validator_function(without_repetition, kept, metadata=unique)
    return kept


def without_repetition(entries: Any) -> Any:
    """Return a list as it is.

    Raises:
        ValueError: a text or a number is in it twice; the message names it.
    """
    seen = set()
    for entry in entries:
        if isinstance(entry, str | int | float):
            if entry in seen:
                raise ValueError(f"{entry!r} is listed twice; remove one")
            seen.add(entry)
    return entries
