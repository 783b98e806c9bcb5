"""``tokbench methods``: list constructions, segmentations, schemes, metrics and resources with their options."""

import json
import re
import shutil
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import click

from tokbench.construction import constructions
from tokbench.errors import TokbenchError, nearest, shortened
from tokbench.metric import metrics
from tokbench.pretokenization import schemes
from tokbench.registry import Method, Registry
from tokbench.resource import resource_types
from tokbench.segmentation import segmentations

REFERENCE = re.compile(r":mod:`tokbench\.reference\.(\w+)`")
"""How a method's module names its plain-Python twin."""
KINDS: dict[str, Registry[Any]] = {
    "construction": constructions,
    "segmentation": segmentations,
    "pre-tokenization": schemes,
    "metric": metrics,
    "resource": resource_types,
}


@click.command("methods")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.argument("names", nargs=-1)
def command(as_json: bool, names: tuple[str, ...]) -> None:
    """List constructions, segmentations, pre-tokenizations, metrics and types of resource, or only NAMES.

    Each comes with its options and their defaults.
    """
    known = {method.name for registry in KINDS.values() for method in registry.methods()}
    for name in names:
        if name not in known:
            raise TokbenchError(f"'{shortened(name)}' is not a method of any kind.{nearest(name, known)}")
    chosen = {
        kind: [method for method in registry.methods() if not names or method.name in names]
        for kind, registry in KINDS.items()
    }
    if as_json:
        described = {kind: {method.name: _described(method) for method in methods} for kind, methods in chosen.items()}
        click.echo(json.dumps(described, indent=2, ensure_ascii=False))
        return
    width = min(shutil.get_terminal_size().columns, 110)
    for kind, methods in chosen.items():
        if methods:
            click.secho(f"{kind}s".capitalize(), bold=True)
            for method in methods:
                click.echo("\n".join(_lines(method, width)))
            click.echo()


def options_of(method: Method) -> list[dict[str, Any]]:
    """The method's options: name, type, default and meaning, in the order in which they are declared."""
    schema = method.options.model_json_schema()
    defaults = method.options.model_construct()
    return [
        {
            "option": name,
            "type": _type(properties),
            "default": getattr(defaults, name, None),
            "meaning": " ".join(properties.get("description", "").split()),
        }
        for name, properties in schema.get("properties", {}).items()
    ]


def attributes_of(method: Method) -> dict[str, Any]:
    """What is known of a method beyond what methods of every kind have."""
    common = {field.name for field in fields(Method)}
    return {field.name: getattr(method, field.name) for field in fields(method) if field.name not in common}


def _described(method: Method) -> dict[str, Any]:
    return {"summary": method.summary, **attributes_of(method), "options": options_of(method)}


def _type(properties: dict[str, Any]) -> str:
    if "enum" in properties:
        return " | ".join(map(str, properties["enum"]))
    if "anyOf" in properties:
        return " | ".join(_type(part) for part in properties["anyOf"])
    return str(properties.get("const", properties.get("type", "any")))


def _lines(method: Method, width: int) -> Iterator[str]:
    attributes = attributes_of(method)
    pattern = attributes.get("pattern")
    summary = f"{method.summary} {pattern}" if pattern else method.summary
    yield from _wrapped(f"  {method.name}", summary, width)
    if "segmentation" in attributes:
        yield from _wrapped("", f"Segmentation by {attributes['segmentation']} unless another is named.", width)
    if reference := REFERENCE.search(sys.modules[method.function.__module__].__doc__ or ""):
        yield from _wrapped("", f"In plain Python: python -m tokbench.reference {reference[1]}", width)
    for option in options_of(method):
        default = json.dumps(option["default"])
        yield from _wrapped(f"    {option['option']}", f"{option['type']} = {default}. {option['meaning']}", width)


def _wrapped(head: str, text: str, width: int, indent: int = 26) -> list[str]:
    lines = textwrap.wrap(text, width - indent, break_long_words=False, break_on_hyphens=False) or [""]
    start = head.ljust(indent) if len(head) < indent else head + " "
    return [start + lines[0], *(" " * indent + line for line in lines[1:])]
