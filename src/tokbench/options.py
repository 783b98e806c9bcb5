"""Options of methods and of everything else that a configuration holds: typed, strict and unchangeable."""

import re
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from tokbench.inputs.numbers import LARGEST_SEED, LARGEST_VOCABULARY
from tokbench.inputs.strict import exact
from tokbench.meanings import meanings

VocabularySize = Annotated[int, Field(le=LARGEST_VOCABULARY)]
Seed = Annotated[int, Field(ge=0, le=LARGEST_SEED)]
LOOP = re.compile(r"(.+?)\1{19,}$")
"""Ends of names that Snakemake takes for a rule that asks for itself without end."""


def without_loop(name: str) -> str:
    """Return a name as it is.

    Raises:
        ValueError: it ends with characters that are repeated 20 times or more, which Snakemake rejects.
    """
    if found := LOOP.search(name):
        raise ValueError(f"'{name}' ends with '{found[1]}' 20 times or more, which Snakemake rejects; shorten it")
    return name


PLAIN = r"^[A-Za-z0-9][A-Za-z0-9_-]*$"
Name = Annotated[str, Field(pattern=PLAIN, max_length=64), AfterValidator(without_loop)]
"""Names become names of folders and files, and wildcards of the workflow. A file is named after up to two names, a test
and two languages, and no name of a file may have more than 255 bytes."""
TestName = Annotated[str, Field(pattern=PLAIN, max_length=32), AfterValidator(without_loop)]
Language = Annotated[str, Field(pattern=PLAIN, max_length=24), AfterValidator(without_loop)]
"""The language of one side of a parallel corpus."""


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
