"""Options of methods and of everything else that a configuration holds: typed, strict and unchangeable."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler
from pydantic_core import CoreSchema

from tokbench.inputs.numbers import LARGEST_SEED, LARGEST_VOCABULARY
from tokbench.inputs.strict import exact

VocabularySize = Annotated[int, Field(le=LARGEST_VOCABULARY)]
Seed = Annotated[int, Field(ge=0, le=LARGEST_SEED)]


class Options(BaseModel):
    """Base of every method's options: unknown keys are rejected, values cannot be changed after validation.

    Numbers are finite and written as numbers, in every class of options: neither ``true`` nor ``"3"`` is one.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True, allow_inf_nan=False)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        schema: CoreSchema = exact(handler(source))
        return schema
