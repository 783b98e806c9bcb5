"""Short forms: where a mapping may be given by a name alone, in validation and in the JSON schema alike."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from tokbench.registry import Options, unknown


@dataclass(frozen=True)
class NameAlone:
    """A name in place of ``{key: name}``, where all other keys keep their defaults.

    Attributes:
        key: the key that the name stands for.
        names: the names that may stand alone.
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
class Preset:
    """A recipe that is a preset's name, or a mapping whose ``preset`` says what the other keys change.

    Attributes:
        kind: what the recipes are called in messages.
        presets: gives the known recipes by name.
    """

    kind: str
    presets: Callable[[], Mapping[str, Options]]

    def _fill(self, value: Any) -> Any:
        changes = {"preset": value} if isinstance(value, str) else value
        if not isinstance(changes, dict) or "preset" not in changes:
            return value
        name, known = changes["preset"], self.presets()
        if name not in known:
            raise ValueError(unknown(str(name), f"{self.kind} preset", known))
        return known[name].model_dump() | {key: changed for key, changed in changes.items() if key != "preset"}

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_before_validator_function(self._fill, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        whole = handler(schema)
        names = _enumeration(self.presets())
        own = handler.resolve_ref_schema(whole)
        changed = {key: value for key, value in own.items() if key not in ("required", "title", "description")}
        changed["properties"] = {"preset": names, **own["properties"]}
        return {"anyOf": [names, whole, {**changed, "required": ["preset"]}]}


def _enumeration(names: Iterable[str]) -> JsonSchemaValue:
    return {"enum": sorted(names)}
