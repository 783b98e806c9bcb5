"""Short forms of options: a name in place of a mapping, in validation and in the JSON schema."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from tokbench.errors import unknown
from tokbench.options import Options


@dataclass(frozen=True)
class NameAlone:
    """Annotation that accepts a name in place of ``{key: name}``; all other keys get their defaults.

    Attributes:
        key: key that the name is a value of.
        names: names accepted without a mapping.
    """

    key: str
    names: tuple[str, ...]

    def _fill(self, value: Any) -> Any:
        return {self.key: value} if isinstance(value, str) else value

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_before_validator_function(self._fill, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"anyOf": [{"enum": list(self.names)}, handler(schema)]}


@dataclass(frozen=True)
class NameOrOptions:
    """Annotation that stores a choice as plain values: the method's name if it has no options, otherwise a mapping.

    Attributes:
        key: key of the name in the mapping.
    """

    key: str

    def _plain(self, value: Options) -> str | dict[str, Any]:
        values = value.model_dump(mode="json")
        name: str = values.pop(self.key)
        return {self.key: name, **values} if values else name

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(
            self._plain,
            handler(source),
            serialization=core_schema.plain_serializer_function_ser_schema(lambda plain: plain),
        )


@dataclass(frozen=True)
class Preset:
    """Annotation that accepts a preset's name, or a mapping whose other keys change the preset named by ``preset``.

    Attributes:
        kind: kind of recipe, for messages.
        presets: returns the known recipes by name.
        defaults: default values of keys that discriminate alternatives.
    """

    kind: str
    presets: Callable[[], Mapping[str, Options]]
    defaults: Mapping[str, str] = field(default_factory=dict)

    def _fill(self, value: Any) -> Any:
        changes = {"preset": value} if isinstance(value, str) else value
        if not isinstance(changes, dict):
            return value
        if "preset" not in changes:
            return {**self.defaults, **changes}
        name, known = changes["preset"], self.presets()
        if name not in known:
            raise ValueError(unknown(str(name), f"{self.kind} preset", known))
        return known[name].model_dump() | {key: changed for key, changed in changes.items() if key != "preset"}

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_before_validator_function(self._fill, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        whole = handler(schema)
        names = _enumeration(self.presets())
        changed = [
            _changed(handler.resolve_ref_schema(own), names)
            for own in handler.resolve_ref_schema(whole).get("oneOf", [whole])
        ]
        return {"anyOf": [names, whole, *changed]}


def _changed(recipe: JsonSchemaValue, presets: JsonSchemaValue) -> JsonSchemaValue:
    """Return the schema of a recipe in which only ``preset`` is required."""
    rest = {key: value for key, value in recipe.items() if key not in ("required", "title", "description")}
    return {**rest, "properties": {"preset": presets, **recipe["properties"]}, "required": ["preset"]}


def _enumeration(names: Iterable[str]) -> JsonSchemaValue:
    return {"enum": sorted(names)}
