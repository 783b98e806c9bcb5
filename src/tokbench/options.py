"""Base class of all configuration options: typed, strict and immutable.

Validation errors are one line each, with the key, the problem and the remedy. Numbers are not converted from strings or
Booleans, and lists have no duplicates. Attribute docstrings become descriptions in the JSON schema.
"""

import ast
import inspect
import json
import re
import sys
import types
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    ValidationError,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, ErrorDetails, core_schema

from tokbench.errors import TokbenchError, nearest
from tokbench.io.numbers import LARGEST_COUNT, LARGEST_SEED, LARGEST_VOCABULARY


def meanings(described: type) -> dict[str, str]:
    """Return the attribute docstrings of a class and its bases, by attribute.

    Classes without source code, such as dynamic ones, have none.
    """
    texts: dict[str, str] = {}
    for ancestor in reversed(described.__mro__):
        module = sys.modules[ancestor.__module__]
        if getattr(module, "__file__", None):
            texts |= _of_module(ancestor.__module__).get(ancestor.__qualname__, {})
    return texts


@cache
def _of_module(name: str) -> dict[str, dict[str, str]]:
    """Return the attribute docstrings of all classes of a module, by qualified name."""
    try:
        tree = ast.parse(inspect.getsource(sys.modules[name]))
    except OSError:
        return {}
    return dict(_of_classes(tree, ""))


def _of_classes(scope: ast.Module | ast.ClassDef, prefix: str) -> Iterator[tuple[str, dict[str, str]]]:
    for statement in scope.body:
        if isinstance(statement, ast.ClassDef):
            yield prefix + statement.name, _of_attributes(statement)
            yield from _of_classes(statement, f"{prefix}{statement.name}.")


def _of_attributes(described: ast.ClassDef) -> dict[str, str]:
    return {
        attribute.target.id: inspect.cleandoc(below.value.value)
        for attribute, below in pairwise(described.body)
        if isinstance(attribute, ast.AnnAssign)
        and isinstance(attribute.target, ast.Name)
        and isinstance(below, ast.Expr)
        and isinstance(below.value, ast.Constant)
        and isinstance(below.value.value, str)
    }


ESCAPED = {code: f"\\u{code:04x}" for code in (*range(0x7F, 0xA0), 0x2028, 0x2029, 0xFEFF, 0xFFFE, 0xFFFF)}
"""Characters that are valid in JSON, but line ends or invalid in YAML, which is the parser of command lines."""
EXACT = ("int", "float", "bool")
"""Types without conversion from other types."""
NOT_SCHEMAS = ("default", "default_factory", "metadata", "serialization", "expected", "function", "cls")
"""Schema keys with values or code instead of nested schemas."""


def exact(schema: Any) -> Any:
    """Return a core schema in which integers, floats and Booleans are strict.

    Integers without an upper bound get the general one. The class setting ``allow_inf_nan`` rejects infinite numbers
    and NaN. Lists of variable length must not repeat a string or number.
    """
    if isinstance(schema, list | tuple):
        return type(schema)(map(exact, schema))
    if not isinstance(schema, dict):
        return schema
    if schema.get("type") == "function-after" and schema["function"]["function"] is without_repetition:
        return schema  # A nested class is already strict.
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
    """Return a list unchanged.

    Raises:
        ValueError: a string or number occurs twice; the message names it.
    """
    seen = set()
    for entry in entries:
        if isinstance(entry, str | int | float):
            if entry in seen:
                raise ValueError(f"{entry!r} is listed twice; remove one")
            seen.add(entry)
    return entries


FILE_OR_FOLDER = "file or folder"
"""Metadata of a path option that may name a folder; other path options name a file."""
VocabularySize = Annotated[int, Field(le=LARGEST_VOCABULARY)]
Seed = Annotated[int, Field(ge=0, le=LARGEST_SEED)]
LOOP = re.compile(r"(.+?)\1{19,}$")
"""Ends of names that Snakemake rejects as infinite recursion of a rule."""


def without_loop(name: str) -> str:
    """Return a name unchanged.

    Raises:
        ValueError: it ends with a sequence repeated 20 times or more, which Snakemake rejects.
    """
    if match := LOOP.search(name):
        raise ValueError(f"'{name}' ends with '{match[1]}' 20 times or more, which Snakemake rejects; shorten it")
    return name


PLAIN = r"^[A-Za-z0-9][A-Za-z0-9_-]*$"
Name = Annotated[str, Field(pattern=PLAIN, max_length=64), AfterValidator(without_loop)]
"""Name of a folder or file, and a wildcard of the workflow. A file name combines up to two names, a test and two
languages, and must not exceed 255 bytes."""
TestName = Annotated[str, Field(pattern=PLAIN, max_length=32), AfterValidator(without_loop)]
Language = Annotated[str, Field(pattern=PLAIN, max_length=24), AfterValidator(without_loop)]
"""Language of one side of a parallel corpus."""


class Options(BaseModel):
    """Base class of options: unknown keys are rejected, and instances are immutable.

    Numbers are finite and must be written as numbers: neither ``true`` nor ``"3"`` is accepted. The docstring below an
    option is its description in the JSON schema. It is parsed only when a schema is requested, because parsing takes
    longer than creating the class.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, defer_build=True)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        schema: CoreSchema = exact(handler(source))
        return schema

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        schema = handler(core_schema)
        options = handler.resolve_ref_schema(schema).get("properties", {})
        for name, meaning in meanings(cls).items():
            if name in options:
                options[name].setdefault("description", meaning)
        return schema


Chosen = TypeVar("Chosen", bound=BaseModel)

KEY = "[key]"
"""Pydantic's marker of an error in a key of a mapping."""
EXPECTED = {
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "string_type": "text, in quotes if it looks like a number",
    "list_type": "a list, [a, b]",
    "tuple_type": "a list, [a, b]",
    "dict_type": "a mapping, {{key: value}}",
    "model_type": "a mapping, {{key: value}}",
    "model_attributes_type": "a name or a mapping, {{key: value}}",
    "greater_than_equal": "at least {ge}",
    "greater_than": "more than {gt}",
    "less_than_equal": "at most {le}",
    "less_than": "less than {lt}",
    "literal_error": "{expected}",
    "enum": "{expected}",
}
"""Expected values, by pydantic's error type."""
PATTERNS = {
    r"^[0-9a-f]{40}$": "a commit, 40 hexadecimal digits",
    r"^[A-Za-z0-9][A-Za-z0-9_-]*$": "a name of letters, digits, '_' and '-' that starts with a letter or digit",
}
LONGEST = 60


def validated(value: Any, options: type[Chosen], name: str) -> Chosen:
    """Validate a mapping and return an instance of a class of options.

    Args:
        value: the mapping.
        options: the class.
        name: name of the file or other source, for messages.

    Raises:
        TokbenchError: a key is unknown or a value is invalid; the message names it.
    """
    try:
        return options.model_validate(value)
    except ValidationError as error:
        raise TokbenchError(explain(error, options, name)) from None


def explain(error: ValidationError, model: type[BaseModel], name: str) -> str:
    """Format a validation error, one line per mistake: ``name: key: problem. Did you mean ...?``.

    Args:
        error: error of pydantic.
        model: the validated class, to suggest known keys.
        name: name of the file or other source.
    """
    mistakes: dict[tuple[str, ...], list[tuple[ErrorDetails, Any, Any]]] = {}
    for details in error.errors():
        path, parent, annotation = _follow(details["loc"], model)
        mistakes.setdefault(tuple(path), []).append((details, parent, annotation))
    unknown_keys = [keys for keys, errors in mistakes.items() if errors[0][0]["type"] == "extra_forbidden"]
    lines = []
    for keys, errors in mistakes.items():
        if errors[0][0]["type"] == "missing" and any(
            keys[:-1] == other[:-1] and nearest(other[-1], keys[-1:]) for other in unknown_keys
        ):
            continue  # misspelt: reported as an unknown key
        inner = any(keys == other[: len(keys)] and keys != other for other in mistakes)
        if inner and errors[0][0]["type"] == "too_short":
            continue  # too short only without its invalid entries, which are reported
        where = ".".join(keys)
        reason = _reason(*errors[0]) if len(errors) == 1 else _none_fits([details for details, *_ in errors])
        lines.append(f"{name}: {where + ': ' if where else ''}{reason}")
    return "\n".join(dict.fromkeys(lines))


def _reason(details: ErrorDetails, parent: Any, annotation: Any) -> str:
    value, context = details["input"], details.get("ctx", {})
    # The types of errors are those of pydantic.
    match details["type"]:
        case "extra_forbidden":
            known = sorted({key for model in _models(parent) for key in model.model_fields})
            near = nearest(str(details["loc"][-1]), known)
            rest = f" Known here: {', '.join(known)}." if known else " No keys are allowed here; remove it."
            return f"unknown key.{near or rest}"
        case "missing":
            return "this key is missing; add it"
        case "literal_error" | "enum":
            return _not_among(value, _choices(context["expected"].replace(" or ", ", ")))
        case "union_tag_invalid":
            return _not_among(context["tag"], _choices(context["expected_tags"]))
        case "union_tag_not_found":
            tags = sorted(tag for model in _models(annotation) for tag in _tags(model))
            return f"the key {context['discriminator']} is missing; add it with one of {', '.join(tags)}"
        case "too_short":
            return f"needs {context['min_length']} or more entries (found {_shown(value)})"
        case "too_long":
            return f"accepts at most {context['max_length']} entries (found {_shown(value)})"
        case "string_too_short":
            return f"must have {context['min_length']} or more characters (found {_shown(value)})"
        case "string_too_long":
            return f"must have {context['max_length']} characters at most (found {_shown(value)})"
        case "string_pattern_mismatch":
            pattern = context["pattern"]
            return f"{_shown(value)} is not {PATTERNS.get(pattern, f'of the form {pattern}')}"
        case "value_error":
            return str(context["error"])
        case "list_type" | "tuple_type" if isinstance(value, str | int | float):
            return f"must be a list (found {_shown(value)}); write [{_shown(value)}]"
        case _:
            return f"must be {_expected(details)} (found {_shown(value)})"


def _none_fits(errors: list[ErrorDetails]) -> str:
    """Merge several errors of one value that matches no alternative of a union."""
    for details in errors:
        if details["type"] == "value_error":
            return str(details["ctx"]["error"])
    expected = dict.fromkeys(_expected(details) for details in errors)
    return f"must be {' or '.join(expected)} (found {_shown(errors[0]['input'])})"


def _expected(details: ErrorDetails) -> str:
    form = EXPECTED.get(details["type"])
    if form is None:
        return details["msg"].removeprefix("Input should be ")
    return form.format(**details.get("ctx", {})).replace("'", "")


def _not_among(value: Any, choices: list[str]) -> str:
    return f"{_shown(value)} is not one of {', '.join(choices)}.{nearest(str(value), choices)}"


def _choices(listed: str) -> list[str]:
    return [{"True": "true", "False": "false"}.get(choice, choice.strip("'")) for choice in listed.split(", ")]


def _shown(value: Any) -> str:
    """Return a value as written in the file, truncated to 60 characters."""
    text = "nothing" if value is None else repr(value).lower() if isinstance(value, bool) else repr(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def _follow(location: tuple[int | str, ...], model: type[BaseModel]) -> tuple[list[str], Any, Any]:
    """Return the keys of a location, the annotation of the last key's parent, and that of the last key.

    Skips pydantic's own steps: tags and labels of the alternatives of a union.
    """
    path: list[str] = []
    here: Any = model
    parent: Any = model
    for step in location:
        if step == KEY:
            continue
        if isinstance(step, str) and _is_tag(step, here):
            here = parent = _tagged(step, here)
            continue
        if len(list(_members(here))) > 1 and not _models(here):
            here = Any
            continue
        parent = here
        path.append(str(step))
        here = _inner_type(here, step)
    return path, parent, here


def _members(annotation: Any) -> Iterator[Any]:
    """Yield the alternatives of an annotation, without ``Annotated`` and ``None``."""
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
    """Return the tags of a model within a union: its own tag, and the values of discriminator keys."""
    return {tag for tag in [getattr(model, "TAG", None)] if tag} | {
        value
        for key in ("method", "type", "kind", "architecture")
        if key in model.model_fields
        for value in get_args(model.model_fields[key].annotation)
        if isinstance(value, str)
    }


def _is_tag(step: str, annotation: Any) -> bool:
    models = _models(annotation)
    return any(step in _tags(model) and step not in model.model_fields for model in models)


def _tagged(step: str, annotation: Any) -> Any:
    return next(model for model in _models(annotation) if step in _tags(model))


def _inner_type(annotation: Any, step: int | str) -> Any:
    for member in _members(annotation):
        if isinstance(member, type) and issubclass(member, BaseModel):
            if step in member.model_fields:
                return member.model_fields[str(step)].annotation
        elif get_origin(member) in (dict, list, tuple) and get_args(member):
            return get_args(member)[-1]
    return Any


def canonical(value: Any) -> str:
    """Return options or other values as canonical JSON that YAML parses identically: sorted keys, no spaces."""
    plain = value.model_dump(mode="json") if isinstance(value, BaseModel) else value
    return json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False).translate(ESCAPED)
