"""Validation errors as a user meets them: one line each, naming the key, what is wrong and the remedy."""

import types
from collections.abc import Iterator
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from tokbench.registry import nearest


def explain(error: ValidationError, model: type[BaseModel], name: str) -> str:
    """One line an error: ``name: key: what is wrong. Did you mean ...?``.

    Args:
        error: what pydantic found.
        model: the class that was validated, searched for the nearest known key.
        name: the file, or whatever else the values came from.
    """
    lines = []
    for details in error.errors():
        path, annotation = _follow(details["loc"], model)
        where = ".".join(path)
        lines.append(f"{name}: {where + ': ' if where else ''}{_reason(details, annotation)}")
    return "\n".join(dict.fromkeys(lines))


def _reason(details: ErrorDetails, parent: Any) -> str:
    value, context = details["input"], details.get("ctx", {})
    match details["type"]:
        case "extra_forbidden":
            known = sorted({key for model in _models(parent) for key in model.model_fields})
            near = nearest(str(details["loc"][-1]), known)
            return f"unknown key.{near or ' Known here: ' + ', '.join(known) + '.'}"
        case "missing":
            return "this key is missing; add it"
        case "literal_error" | "enum":
            choices = [choice.strip("'") for choice in context["expected"].replace(" or ", ", ").split(", ")]
            return f"{value!r} is not one of {', '.join(choices)}.{nearest(str(value), choices)}"
        case "union_tag_invalid":
            choices = [choice.strip("'") for choice in context["expected_tags"].split(", ")]
            near = nearest(str(context["tag"]), choices)
            return f"'{context['tag']}' is not one of {', '.join(choices)}.{near}"
        case "union_tag_not_found":
            return f"name it under {context['discriminator']}"
        case "value_error":
            return str(context["error"])
        case _:
            message = details["msg"]
            shown = "" if isinstance(value, dict | list) else f" (found {value!r})"
            return message[0].lower() + message[1:].removeprefix("nput ") + shown


def _follow(location: tuple[int | str, ...], model: type[BaseModel]) -> tuple[list[str], Any]:
    """The keys a user wrote (pydantic's own union tags left out) and the annotation of the last key's parent."""
    path: list[str] = []
    here: Any = model
    parent: Any = model
    for step in location:
        if isinstance(step, str) and _is_tag(step, here):
            here = _tagged(step, here)
            parent = here
            continue
        parent = here
        path.append(str(step))
        here = _inside(here, step)
    return path, parent


def _members(annotation: Any) -> Iterator[Any]:
    """The alternatives of an annotation, without ``Annotated`` and ``None``."""
    origin = get_origin(annotation)
    if origin in (Union, types.UnionType):
        for member in get_args(annotation):
            yield from _members(member)
    elif origin is not None and hasattr(annotation, "__metadata__"):
        yield from _members(get_args(annotation)[0])
    elif annotation is not type(None):
        yield annotation


def _models(annotation: Any) -> list[type[BaseModel]]:
    return [member for member in _members(annotation) if isinstance(member, type) and issubclass(member, BaseModel)]


def _tags(model: type[BaseModel]) -> set[str]:
    return {
        value
        for key in ("method", "type")
        if key in model.model_fields
        for value in get_args(model.model_fields[key].annotation)
        if isinstance(value, str)
    }


def _is_tag(step: str, annotation: Any) -> bool:
    models = _models(annotation)
    return any(step in _tags(model) and step not in model.model_fields for model in models)


def _tagged(step: str, annotation: Any) -> Any:
    return next(model for model in _models(annotation) if step in _tags(model))


def _inside(annotation: Any, step: int | str) -> Any:
    for member in _members(annotation):
        if isinstance(member, type) and issubclass(member, BaseModel):
            if step in member.model_fields:
                return member.model_fields[str(step)].annotation
        elif get_origin(member) in (dict, list, tuple) and get_args(member):
            return get_args(member)[-1]
    return Any
