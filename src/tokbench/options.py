"""Options of methods and of everything else that a configuration holds: typed, strict and unchangeable."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from tokbench.inputs.numbers import LARGEST_SEED, LARGEST_VOCABULARY
from tokbench.inputs.strict import exact
from tokbench.meanings import meanings

VocabularySize = Annotated[int, Field(le=LARGEST_VOCABULARY)]
Seed = Annotated[int, Field(ge=0, le=LARGEST_SEED)]


class Options(BaseModel):
    """Base of every method's options: unknown keys are rejected, values cannot be changed after validation.

    Numbers are finite and written as numbers, in every class of options: neither ``true`` nor ``"3"`` is one. What
    stands below an option is its meaning in the JSON schema; it is read there when a schema is asked for, since
    looking for it takes longer than making the class.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

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
