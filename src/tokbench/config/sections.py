"""The sections of an experiment, each a typed model; every key's meaning stands below it."""

import functools
import operator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field, create_model

from tokbench.config.elsewhere import Elsewhere, told_apart
from tokbench.config.short_forms import NameAlone, NameOrOptions
from tokbench.construction import constructions
from tokbench.metric import metrics
from tokbench.options import Options, VocabularySize
from tokbench.pretokenization import Setting, schemes
from tokbench.registry import Registry
from tokbench.resource import resource_types
from tokbench.segmentation import segmentations

Size = int | Literal["own"]
"""A vocabulary size, or :data:`tokbench.tokenizer_folder.OWN`."""


def _choice(registry: Registry, key: str = "method") -> Any:
    """The options of every method of a kind, told apart by ``key``."""
    models = [
        create_model(
            f"{method.name}_{registry.kind.replace(' ', '_')}",
            __base__=method.options,
            **{key: (Literal[method.name], ...)},  # type: ignore[call-overload]
        )
        for method in registry.methods()
    ]
    choice = functools.reduce(operator.or_, models)
    alone = tuple(name for name, model in zip(registry, models, strict=True) if _may_stand_alone(model, key))
    return Annotated[choice, Field(discriminator=key), NameAlone(key, alone)]


def _may_stand_alone(model: type[Options], key: str) -> bool:
    return not any(field.is_required() for name, field in model.model_fields.items() if name != key)


def _every(registry: Registry, name: str, documentation: str) -> Any:
    """A section with the options of every method of a kind that has any."""
    fields = {
        method.name: (method.options, Field(default_factory=method.options, description=method.summary))
        for method in registry.methods()
        if method.options.model_fields
    }
    return create_model(name, __base__=Options, __doc__=documentation, **fields)  # type: ignore[call-overload]


if TYPE_CHECKING:
    Construction = Any
    Segmentation = Any
    Resource = Any
    MetricsOptions = Any
    Scheme = Setting
else:
    Resource = _choice(resource_types, "type")
    MetricsOptions = _every(metrics, "MetricsOptions", "Options of the intrinsic metrics; all are always taken.")
    Construction = _choice(constructions)
    Segmentation = _choice(segmentations)
    Scheme = Annotated[_choice(schemes), NameOrOptions("method")]


class Variant(Options):
    """A named tokenizer recipe; at a vocabulary size it is one tokenizer."""

    TAG: ClassVar[str] = "built"

    corpus: str | None = None
    """Corpus whose tokenizer split builds the vocabulary; the first corpus where it is left out."""
    pretokenization: Scheme
    """What cuts documents into pre-tokens."""
    construction: Construction
    """Method that chooses the tokens, with its options."""
    min_count: int = Field(1, ge=1)
    """Build from pre-tokens that occur so often; the log and the tokenizer tell the share of the text that this leaves
    out. For constructions that would need more memory than allowed. Initial vocabularies are built from all."""
    segmentation: Segmentation | None = None
    """How the vocabulary cuts a pre-token; the construction's own where it is left out."""
    byte_lm: str | None = None
    """Byte language model whose scores the construction reads, for constructions that need one."""
    sizes: list[VocabularySize] | None = None
    """Vocabulary sizes of this variant alone; the experiment's where it is left out."""
    measured_on: list[str] | None = None
    """Corpora that this variant is measured on beside its own; the experiment's where it is left out."""


if TYPE_CHECKING:
    AnyVariant = Variant | Elsewhere
else:
    AnyVariant = told_apart(Variant, Elsewhere)


def files_among(options: Options) -> dict[str, Path]:
    """The files that options name, by the option's name."""
    values = {key: getattr(options, key) for key in type(options).model_fields}
    return {key: value for key, value in values.items() if isinstance(value, Path)}


class Run(Options):
    """Language models to train and test: every model with every variant at every size on every suite."""

    models: list[str] = Field(min_length=1)
    """Names of model recipes."""
    variants: list[str] = Field(min_length=1)
    """Names of variants."""
    sizes: list[VocabularySize] | None = None
    """Vocabulary sizes; all of the variant's where it is left out. One that was made elsewhere has its own always."""
    suites: list[str] = Field(min_length=1)
    """Names of suites."""
    corpus: str | None = None
    """Corpus whose pretraining split the models read; the variant's where it is left out."""


class ReportOptions(Options):
    """What the report says and shows beyond the tables."""

    title: str | None = None
    """Title of the report; made from the experiment's name where it is left out."""
    summary: str = ""
    """A paragraph of the author's own above everything else."""
    baseline: str | dict[str, str] | None = None
    """Variant to which the others are relative, or a mapping of corpora to such variants; the first variant of a corpus
    where it is left out."""
    venn: list[str] = Field(default_factory=list, max_length=3)
    """Three variants whose vocabularies the Venn diagram compares; the first three where it is left out."""
    examples: list[Annotated[str, Field(min_length=1, max_length=500)]] = Field(default_factory=list, max_length=20)
    """Sentences that the report shows as each tokenizer cuts them, beside those that are chosen from the evaluation
    split: where the tokenizers differ most, a few of each language."""
