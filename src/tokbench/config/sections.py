"""Sections of an experiment, each a typed model with documented keys.

They cover variants (built and external), runs, translations and the report. Corpora are in
:mod:`tokbench.config.corpus`, sections of one stage in its module, see :mod:`tokbench.stage`.
"""

import functools
import operator
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Discriminator, Field, Tag, create_model, model_validator

from tokbench.adapters.forms import FORMS, WITHOUT_SPECIAL
from tokbench.adapters.forms.parsed import ReadOptions, check_special
from tokbench.adapters.forms.patterns import named_pattern, pattern_setting
from tokbench.adapters.forms.ranks import sidecar_of
from tokbench.adapters.forms.tiktoken import pattern_of_ranks
from tokbench.adapters.forms.transformers import detect_format, file_in
from tokbench.adapters.read import REVISION
from tokbench.archives.lists import read_list
from tokbench.config.missing_paths import MissingPath
from tokbench.config.short_forms import NameAlone, NameOrOptions
from tokbench.construction import constructions, options_with_recipes
from tokbench.errors import TokbenchError, unknown
from tokbench.io.paths import path_mistakes
from tokbench.metric import metrics
from tokbench.options import FILE_OR_FOLDER, Options, VocabularySize
from tokbench.pretokenization import Setting, schemes
from tokbench.registry import Registry
from tokbench.resource import resource_types
from tokbench.segmentation import segmentations
from tokbench.tokenizer.libraries.python import EXAMPLE, check_source, source_of

PATTERN_LESS = ("tiktoken", "tokens")
"""Forms of tokenizer files without a pre-tokenization pattern."""
READ_BY = {"tiktoken": "tiktoken", "merges": "tokenizers"}
"""Libraries that read the pattern, by form."""
OF_FOLDERS = ("transformers", "merges")
"""Forms that accept a folder."""


class ExternalTokenizer(ReadOptions):
    """An external tokenizer, imported as it is: nothing is built, and it has its own vocabulary size.

    Attributes:
        TAG: tag of this alternative in pydantic's discriminated union of variants.
    """

    TAG: ClassVar[str] = "external"

    corpus: str | None = None
    """Corpus on whose evaluation split the tokenizer is measured and compared with its own library; default: the first
    corpus."""
    measured_on: list[str] | None = None
    """Corpora to measure on in addition to ``corpus``; default: the experiment's ``measured_on``."""
    path: str | None = None
    """File of the tokenizer, its folder, or (with ``revision``) its name on the Hugging Face hub. With ``from:
    python``, ``MODULE:FUNCTION`` of a Python file in the folder of this configuration, or ``FILE.py:FUNCTION``."""
    revision: Annotated[str | None, Field(pattern=f"^{REVISION.pattern}$")] = None
    """Commit on the hub; files are downloaded once, code never. Without a commit, nothing is downloaded."""

    @model_validator(mode="before")
    @classmethod
    def _builds_nothing(cls, values: Any) -> Any:
        if isinstance(values, Mapping) and "from" in values:
            for key in ("construction", "pretokenization", "sizes", "byte_lm", "development", "min_count"):
                if key in values:
                    raise ValueError(
                        f"'from' imports a tokenizer as it is, '{key}' applies to those that are built; leave one out"
                    )
        return values

    @property
    def form(self) -> str:
        """Form of the file."""
        return str(getattr(self, "from"))


if TYPE_CHECKING:
    ImportedTokenizer = ExternalTokenizer
else:
    ImportedTokenizer = create_model(
        "ImportedTokenizer",
        __base__=ExternalTokenizer,
        __doc__=ExternalTokenizer.__doc__,
        **{"from": (Literal[tuple(FORMS)], Field(description="Form of the file, see docs/existing.md."))},
    )


def variant_choice(built: Any, external: Any) -> Any:
    """Return the union of both kinds of variant, discriminated by ``from`` (or ``path``)."""

    def kind(value: Any) -> str:
        keys = value if isinstance(value, Mapping) else ()
        taken = isinstance(value, external) or "from" in keys or ("path" in keys and "construction" not in keys)
        return str((external if taken else built).TAG)

    either = Annotated[built, Tag(built.TAG)] | Annotated[external, Tag(external.TAG)]
    return Annotated[either, Discriminator(kind)]


def external_mistakes(key: str, name: str, variant: ExternalTokenizer) -> Iterator[str]:
    """Yield mistakes in an external tokenizer that are visible before its file is read, one line each."""
    if variant.form == "python":
        yield from _python(key, name, variant)
        return
    yield from _path(key, name, variant)
    # The pattern, which some forms lack.
    file = Path(variant.path or "")
    if variant.form in PATTERN_LESS and variant.pattern is None and not _pattern_is_known(variant.form, file):
        yield (
            f"{key}.pattern: a file of form '{variant.form}' has no pre-tokenization pattern; "
            "name its pattern, as in pattern: cl100k"
        )
    if variant.pattern is not None:
        try:
            if (library := READ_BY.get(variant.form)) is None or variant.segmentation is not None:
                pattern_setting(variant.pattern, f"{key}.pattern")
            else:
                named_pattern(variant.pattern, f"{key}.pattern", library)
        except TokbenchError as error:
            message = str(error)
            yield message if message.startswith(key) else f"{key}.pattern: {message}"
    # Special tokens and the segmentation.
    if variant.special_tokens is not None:
        yield from _special(f"{key}.special_tokens", variant.form, variant.special_tokens)
    if variant.segmentation is not None and variant.segmentation not in segmentations:
        yield f"{key}.segmentation: {unknown(variant.segmentation, 'segmentation', segmentations)}"
    if variant.form == "tokens" and variant.segmentation is None:
        yield f"{key}.segmentation: a list of tokens does not define a segmentation; name one, as in greedy"


def _pattern_is_known(form: str, file: Path) -> bool:
    """Return whether a file without a pattern has published ranks, or is next to a file with its pattern."""
    return form == "tiktoken" and file.is_file() and bool(sidecar_of(file) or pattern_of_ranks(file))


def _python(key: str, name: str, variant: ExternalTokenizer) -> Iterator[str]:
    """Yield mistakes in a tokenizer of a Python file. The file is parsed, and not run."""
    if not variant.path:
        yield f"{key}.path: no path given; {EXAMPLE}"
    else:
        try:
            file, function = source_of(variant.path)
            check_source(file, function)
            yield from path_mistakes(f"{key}.path", [file], patterns=True)
        except TokbenchError as error:
            yield f"{key}.path: {error}"
    for option in ("revision", "pattern", "segmentation", "added", "special_tokens", "end_of_text"):
        if option in variant.model_fields_set and getattr(variant, option) is not None:
            yield f"{key}.{option}: is not for from: python; leave it out"


def _special(key: str, form: str, special: Mapping[str, int]) -> Iterator[str]:
    if form not in WITHOUT_SPECIAL:
        yield f"{key}: only a file of ranks (from: tiktoken) lacks its special tokens, not '{form}'; leave them out"
    try:
        check_special(special, key)
    except TokbenchError as error:
        yield str(error)


def _path(key: str, name: str, variant: ExternalTokenizer) -> Iterator[str]:
    if not variant.path:
        yield MissingPath.of(f"{key}.path", name)
        return
    if variant.revision is not None:
        if variant.form != "transformers":
            yield f"{key}.revision: only from: transformers accepts a name on the hub, not '{variant.form}'"
        return
    place = Path(variant.path)
    if not place.exists() and place.name in read_list("tokenizers").files:
        yield MissingPath.published(f"{key}.path", name, place)
    elif not place.exists():
        hub = ", or a name on the hub with its revision" * (variant.form == "transformers")
        yield f"{key}.path: no such file or folder as '{place}'; name one{hub}"
    elif place.is_dir() and variant.form not in OF_FOLDERS:
        yield f"{key}.path: '{place}' is a folder; name the file in it, or say from: transformers"
    elif variant.form == "transformers":
        yield from _folder(key, place, variant)
    yield from path_mistakes(f"{key}.path", [place], patterns=True)


def _folder(key: str, place: Path, variant: ExternalTokenizer) -> Iterator[str]:
    """Yield mistakes in a folder of transformers, or in a file of one."""
    try:
        known = file_in(place) if place.is_dir() else (place, detect_format(place))
    except TokbenchError as error:
        yield f"{key}.path: {error}"
        return
    if known is None:
        yield f"{key}.path: '{place}' has no known tokenizer file; name a folder that has one"
        return
    file, form = known
    if form in PATTERN_LESS and variant.pattern is None and not _pattern_is_known(form, file):
        yield f"{key}.pattern: '{file}' has no pre-tokenization pattern; name its pattern, as in pattern: cl100k"


Size = int | Literal["own"]
"""Vocabulary size, or :data:`tokbench.tokenizer.folder.OWN` for an external tokenizer."""


def _choice(registry: Registry, key: str = "method") -> Any:
    """Return the union of the options of all methods in a registry, discriminated by ``key``."""
    models = [
        create_model(
            f"{method.name}_{registry.kind.replace(' ', '_')}",
            __base__=options_with_recipes(method) if registry is constructions else method.options,
            **{key: (Literal[method.name], ...)},  # type: ignore[call-overload]
        )
        for method in registry.methods()
    ]
    choice = functools.reduce(operator.or_, models)
    alone = tuple(name for name, model in zip(registry, models, strict=True) if _needs_only_key(model, key))
    return Annotated[choice, Field(discriminator=key), NameAlone(key, alone)]


def _needs_only_key(model: type[Options], key: str) -> bool:
    return not any(field.is_required() for name, field in model.model_fields.items() if name != key)


def _families(name: str, documentation: str, *, of_documents: bool, **others: Any) -> Any:
    """Return a section with one key for each family of metrics that has options: of documents, or of all others."""
    fields = others | {
        method.name: (method.options, Field(default_factory=method.options, description=method.summary))
        for method in metrics.methods()
        if method.options.model_fields and (method.of == "documents") == of_documents
    }
    return create_model(name, __base__=Options, __doc__=documentation, **fields)


if TYPE_CHECKING:
    Construction = Any
    Segmentation = Any
    Resource = Any
    MetricsOptions = Any
    DocumentMetricsOptions = Any
    Scheme = Setting
else:
    Resource = _choice(resource_types, "type")
    MetricsOptions = _families(
        "MetricsOptions", "Options of the intrinsic metrics; all are always computed.", of_documents=False
    )
    DocumentMetricsOptions = _families(
        "DocumentMetricsOptions",
        "Options of the metrics of documents, which need the order of tokens or their places in a text.",
        of_documents=True,
        baseline=(
            str | None,
            Field(
                None,
                description="Variant whose token counts divide those of each tokenizer of the same size (normalised "
                "sequence length); default: none.",
            ),
        ),
    )
    Construction = _choice(constructions)
    Segmentation = _choice(segmentations)
    Scheme = Annotated[_choice(schemes), NameOrOptions("method")]


class Variant(Options):
    """A tokenizer recipe; with a vocabulary size it defines one tokenizer."""

    TAG: ClassVar[str] = "built"

    corpus: str | None = None
    """Corpus whose tokenizer split builds the vocabulary; default: the first corpus."""
    pretokenization: Scheme
    """Pre-tokenization scheme, which splits documents into pre-tokens."""
    construction: Construction
    """Method that builds the vocabulary, with its options."""
    min_count: int = Field(1, ge=1)
    """Least count of a pre-token to build from, default: 1; for constructions that would otherwise need too much
    memory. The log and the tokenizer report the share of the text that is ignored. Initial vocabularies are built from
    all pre-tokens."""
    segmentation: Segmentation | None = None
    """Method that segments a pre-token into tokens; default: the construction's."""
    byte_lm: str | None = None
    """Byte language model whose scores the construction reads; only for constructions that need one."""
    development: str | None = None
    """Corpus whose tokenizer split is the development set, by which ``parity_bpe`` compares languages. It should be the
    same text in each language."""
    sizes: list[VocabularySize] | None = None
    """Vocabulary sizes of this variant; default: the experiment's ``sizes``."""
    measured_on: list[str] | None = None
    """Corpora to measure this variant on in addition to its own; default: the experiment's ``measured_on``."""


if TYPE_CHECKING:
    AnyVariant = Variant | ImportedTokenizer
else:
    AnyVariant = variant_choice(Variant, ImportedTokenizer)


def files_among(options: Options) -> dict[str, Path]:
    """Return the files named by options, by option."""
    values = {key: getattr(options, key) for key in type(options).model_fields}
    return {key: value for key, value in values.items() if isinstance(value, Path)}


def folder_options(options: Options) -> list[str]:
    """Return the path options that may name a folder instead of a file."""
    return [key for key, field in type(options).model_fields.items() if FILE_OR_FOLDER in field.metadata]


class ModelRuns(Options):
    """Language models to train and test: every model with every variant at every size on every suite."""

    models: list[str] = Field(min_length=1)
    """Names of model recipes."""
    variants: list[str] = Field(min_length=1)
    """Names of variants."""
    sizes: list[VocabularySize] | None = None
    """Vocabulary sizes; default: all of the variant's. An external variant always has its own size."""
    suites: list[str] = Field(min_length=1)
    """Names of suites."""
    corpus: str | None = None
    """Corpus whose pretraining split the models read; default: the variant's corpus."""


Triple = Annotated[list[str], Field(max_length=3)]


def _one_or_several(value: Any) -> str:
    """Return the tag of a value of ``report.venn``: one triple of names, or a list of triples."""
    return "triples" if isinstance(value, list) and any(isinstance(entry, list) for entry in value) else "triple"


class ReportOptions(Options):
    """Content of the report in addition to the tables."""

    title: str | None = None
    """Title of the report; default: made from the experiment's name."""
    summary: str = ""
    """Paragraph by the author at the top of the report; default: none."""
    baseline: str | dict[str, str] | None = None
    """Variant that the others are compared with, or a mapping of corpora to such variants; default: the first variant
    of each corpus."""
    highlight: str | None = None
    """Variant whose rows in the tables and marks in the figures of the report stand out."""
    venn: Annotated[
        Annotated[Triple, Tag("triple")] | Annotated[list[Triple], Tag("triples")], Discriminator(_one_or_several)
    ] = Field(default_factory=list)
    """Three variants whose vocabularies the Venn diagram compares, or a list of such triples for several diagrams;
    default: the first three variants."""
    overlaps: Literal["all", "longer"] = "all"
    """Tokens counted in the table of common tokens: ``all`` (default), or ``longer``, which excludes the single bytes
    that every vocabulary has."""
    examples: list[Annotated[str, Field(min_length=1, max_length=500)]] = Field(default_factory=list, max_length=20)
    """Sentences that the report shows as segmented by each tokenizer. They add to sentences chosen from the evaluation
    split, a few of each language, in which the tokenizers differ most."""
    byte_signals: list[Annotated[str, Field(min_length=1, max_length=200)]] = Field(default_factory=list, max_length=20)
    """Sentences whose surprisal, entropy and ByteSpan spans are plotted byte by byte, for each byte language model that
    a variant reads (ByteSpan, figure 1). The figures are in ``byte_lm/CORPUS/NAME/figures``."""

    @property
    def venn_triples(self) -> list[list[str]]:
        """Triples of ``venn``; empty if it is not given."""
        names = [entry for entry in self.venn if isinstance(entry, str)]
        return [names] if names else [entry for entry in self.venn if not isinstance(entry, str)]


class TokenizerPair(Options):
    """Separate vocabularies of source and target."""

    source: str
    """Variant that tokenizes the source language."""
    target: str
    """Variant that tokenizes the target language."""


class TranslationRuns(Options):
    """Translation models to train and test: every model with every tokenizer at every size on every corpus."""

    corpora: list[str] = Field(min_length=1)
    """Names of parallel corpora; the models are tested on all of their tests."""
    source: str
    """Source language."""
    target: str
    """Target language."""
    models: list[str] = Field(min_length=1)
    """Names of translation models."""
    tokenizers: list[str | TokenizerPair] = Field(min_length=1)
    """Variants: one name for a joint vocabulary, a mapping of ``source`` and ``target`` for separate ones."""
    sizes: list[VocabularySize] | None = None
    """Vocabulary sizes of each side that is built; default: all of the source variant's. An external variant always has
    its own size."""
    bleu_words: Literal["13a", "char", "intl", "none", "zh"] = "13a"
    """Word tokenizer of sacrebleu for BLEU; default: ``13a``."""
    comet: Path | None = None
    """Local checkpoint of a COMET model; default: COMET is not computed."""

    def pairs(self) -> list[tuple[str, str]]:
        """Return the variants of source and target of each entry of ``tokenizers``."""
        return [(pair, pair) if isinstance(pair, str) else (pair.source, pair.target) for pair in self.tokenizers]
