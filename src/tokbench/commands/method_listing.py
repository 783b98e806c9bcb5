"""Methods of every kind with their options, for ``tokbench methods``."""

import json
import re
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from tokbench.construction import constructions
from tokbench.corpus.formats import corpus_formats
from tokbench.errors import TokbenchError, nearest, shortened
from tokbench.metric import metrics
from tokbench.pretokenization import schemes
from tokbench.registry import RESERVED, Registry
from tokbench.resource import resource_types
from tokbench.segmentation import segmentations

if TYPE_CHECKING:
    from tokbench.registry import Method


REFERENCE = re.compile(r"Reference: (?:``(\w+)`` in )?:mod:`tokbench\.reference\.(\w+)`([^.]*)\.")
"""Reference to plain Python code in the docstring of a method's module, and the part of the method that it covers."""
LITERAL = re.compile(r"(?::\w+:)?(`+)~?(.*?)\1")
"""Code and cross-references in docstrings."""
KINDS: dict[str, Registry[Any]] = {
    "construction": constructions,
    "segmentation": segmentations,
    "pre-tokenization": schemes,
    "metric": metrics,
    "resource": resource_types,
    "corpus format": corpus_formats,
}


def methods_named(names: Sequence[str]) -> "dict[str, list[Method]]":
    """Return methods by kind, sorted by name: those of these names, or all if none is given.

    Raises:
        TokbenchError: no kind has a method of a name, or a construction names a segmentation that does not exist.
    """
    chosen = _named(names)
    for method in chosen["construction"]:
        method.own_segmentation()
    return chosen


def _named(names: Sequence[str]) -> dict[str, list[Any]]:
    if not names:
        return {kind: registry.methods() for kind, registry in KINDS.items()}
    methods_of = {kind: [registry.find(name) for name in sorted(set(names))] for kind, registry in KINDS.items()}
    chosen = {kind: [method for method in methods if method] for kind, methods in methods_of.items()}
    missing = set(names) - {method.name for methods in chosen.values() for method in methods}
    for name in names:
        if name in missing:
            known = {name for registry in KINDS.values() for name in registry}
            raise TokbenchError(f"'{shortened(name)}' is not a method of any kind.{nearest(name, known)}")
    return chosen


def as_json_text(chosen: "Mapping[str, Sequence[Method]]") -> str:
    """Return methods as JSON, by kind and name."""
    described = {kind: {method.name: _described(method) for method in methods} for kind, methods in chosen.items()}
    return json.dumps(described, indent=2, ensure_ascii=False)


def as_text(chosen: "Mapping[str, Sequence[Method]]", width: int) -> Iterator[tuple[str, str]]:
    """Yield each kind that has methods, with its methods as text for a terminal."""
    for kind, methods in chosen.items():
        if methods:
            yield kind, "\n".join(line for method in methods for line in _lines(method, width))


def as_lines(chosen: "Mapping[str, Sequence[Method]]", width: int | None) -> Iterator[tuple[str, str]]:
    """Yield each kind with one line for each of its methods: name, summary, and the paper in brackets.

    Args:
        chosen: methods by kind.
        width: columns of the terminal; longer summaries are truncated. None truncates nothing.
    """
    from tokbench.references import short_name

    margin = max(len(method.name) for methods in chosen.values() for method in methods) + 4
    for kind, methods in chosen.items():
        lines = []
        for method in methods:
            paper = f" [{short_name(method.cites[0])}]" if method.cites else ""
            summary = unmarked(method.summary)
            room = None if width is None else max(width - margin - len(paper), 1)
            if room is not None and len(summary) > room:
                summary = summary[: room - 1].rstrip(" ,;:") + "…"
            lines.append(f"  {method.name}".ljust(margin) + summary + paper)
        yield kind, "\n".join(lines)


def options_of(method: "Method") -> list[dict[str, Any]]:
    """Return the method's options in the order of declaration: name, type, default, whether required, and meaning.

    An option that only names the method is left out.
    """
    schema = method.options.model_json_schema()
    defaults = method.options.model_construct()
    return [
        {
            "option": name,
            "type": _type(properties),
            "default": getattr(defaults, name, None),
            "required": name in schema.get("required", ()),
            "meaning": unmarked(" ".join(properties.get("description", "").split())),
        }
        for name, properties in schema.get("properties", {}).items()
        if name not in RESERVED
    ]


def attributes_of(method: "Method") -> dict[str, Any]:
    """Return the attributes of a method that not all kinds of method have, without those hidden from its ``repr``."""
    from tokbench.registry import Method

    common = {field.name for field in fields(Method)}
    return {
        field.name: getattr(method, field.name) for field in fields(method) if field.repr and field.name not in common
    }


def patterns_of(method: "Method") -> tuple[str, ...]:
    """Return the regular expressions of a pre-tokenization, applied in turn; empty for other methods."""
    pattern = getattr(method, "pattern", None) or ()
    return (pattern,) if isinstance(pattern, str) else pattern


def reference_of(method: "Method") -> tuple[str, str] | None:
    """Return the plain Python reference that the docstring of the method's module names.

    Returns:
        Import path of its function or module, and the words after it (empty if it covers the method completely);
        None if the docstring names none.
    """
    named = REFERENCE.search(" ".join((sys.modules[method.module].__doc__ or "").split()))
    if named is None:
        return None
    function, module, part = named.groups()
    return ".".join(filter(None, ["tokbench.reference", module, function])), part


def unmarked(text: str) -> str:
    """Return documentation as plain text: code in quotes, as in messages."""
    return LITERAL.sub(r"'\2'", text)


def _described(method: "Method") -> dict[str, Any]:
    return {"summary": unmarked(method.summary), **attributes_of(method), "options": options_of(method)}


def _type(properties: dict[str, Any]) -> str:
    if "enum" in properties:
        return " | ".join(map(str, properties["enum"]))
    if "anyOf" in properties:
        return " | ".join(_type(part) for part in properties["anyOf"])
    return str(properties.get("const", properties.get("type", "any")))


def _lines(method: "Method", width: int) -> Iterator[str]:
    from tokbench.report.wording import words

    attributes = attributes_of(method)
    summary = " ".join([unmarked(method.summary), *patterns_of(method)])
    yield from _wrapped(f"  {method.name}", summary, width)
    if "segmentation" in attributes:
        yield from _wrapped("", f"Segmentation by {attributes['segmentation']} unless another is named.", width)
    for name, end in attributes.get("better", {}).items():
        yield from _wrapped("", f"Better end of {words(name)}: the {end}.", width)
    if reference := reference_of(method):
        path, part = reference
        yield from _wrapped("", f"In plain Python{part}: {path}", width)
    for option in options_of(method):
        given = "required" if option["required"] else f"= {json.dumps(option['default'])}"
        yield from _wrapped(f"    {option['option']}", f"{option['type']} {given}. {option['meaning']}", width)


def _wrapped(head: str, text: str, width: int, indent: int = 26) -> list[str]:
    lines = textwrap.wrap(text, width - indent, break_long_words=False, break_on_hyphens=False) or [""]
    start = head.ljust(indent) if len(head) < indent else head + " "
    return [start + lines[0], *(" " * indent + line for line in lines[1:])]
