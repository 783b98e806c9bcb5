"""The sections of an experiment, each a typed model; every key's meaning follows it.

The section of a corpus imports no method but those that prepare corpora. Sections of tokenizers cover those that an
experiment builds and external ones. Further sections: translations, bounds, token n-gram models and statistics.
"""

import functools
import operator
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Discriminator, Field, Tag, create_model, model_validator

from tokbench.adapters.forms import FORMS, WITHOUT_SPECIAL, ReadOptions, check_special
from tokbench.adapters.forms.patterns import named_pattern, pattern_setting
from tokbench.adapters.forms.ranks import beside
from tokbench.adapters.read import REVISION
from tokbench.config.short_forms import NameAlone, NameOrOptions
from tokbench.construction import constructions, options_with_recipes
from tokbench.corpus.sources import SOURCE_TYPES, AnySource, CountsSource
from tokbench.errors import TokbenchError, unknown
from tokbench.io.numbers import HIGHEST_NGRAM_ORDER, LARGEST_BYTES
from tokbench.io.paths import path_mistakes
from tokbench.metric import metrics
from tokbench.optimum import MAX_PRETOKEN_BYTES
from tokbench.options import Options, VocabularySize
from tokbench.pretokenization import Setting, schemes
from tokbench.registry import Registry
from tokbench.resource import resource_types
from tokbench.segmentation import segmentations
from tokbench.statistics.verdicts import DETECT, LEAST

LONGEST_DOCUMENT = 16_000_000
PIECES = 1_000_000, 2_000_000_000
"""Bytes of the longest document at least, and at most: a shard takes no more of one."""
Split = Literal["byte_lm", "tokenizer", "evaluation", "pretraining"]
DEFAULT_FRACTIONS: dict[Split, float | Split] = {
    "byte_lm": 0.15,
    "tokenizer": 0.4,
    "evaluation": 0.1,
    "pretraining": 0.35,
}


class Corpus(Options):
    """Named text with documents and splits."""

    source: Annotated[AnySource, NameAlone("type", SOURCE_TYPES)]
    """Where the documents come from."""
    shards: int = Field(1, ge=1, le=9999)
    """Files that each split is dealt out to; counting and scoring run once a shard."""
    parts: int = Field(1, ge=1, le=9999)
    """Parts of the source that are prepared side by side, to the same files. Text and JSON Lines are cut between files
    alone, Parquet between row groups, too."""
    splits: dict[Split, float | Split] = Field(default_factory=lambda: dict(DEFAULT_FRACTIONS))
    """Share of each language's bytes that a split gets, by document, or the name of the split that it is the same as
    (``evaluation: tokenizer`` measures on the training text); what is missing to 1 is left unused."""

    duplicates: Literal["keep", "drop"] = "keep"
    """What is done about documents of the evaluation split that are also in the tokenizer or pretraining split, byte
    for byte: ``keep`` counts them, ``drop`` leaves them out of the evaluation split, too. Splits that are the same as
    another by ``splits`` are not compared."""
    units: Path | None = None
    """CSV file with the columns ``document``, a document's number in the source from 0, and ``unit``, the name of what
    it belongs to, such as an author. The documents of a unit fall into one split, and statistics over documents take
    a unit for one observation. The evaluation split has at most 1,000 documents then."""
    longest_document: int | None = Field(LONGEST_DOCUMENT, ge=PIECES[0], le=PIECES[1])
    """Bytes above which a document is written as several, so that nothing has to hold gigabytes of it; ``null`` for
    never. It is cut before a space between two letters where there is one in the second half of such a piece, after a
    line end or between two characters where there is none. Its pieces stay together, and count as one document for
    splits and limits alone."""

    @property
    def counted(self) -> bool:
        """Whether it is counts alone, without documents."""
        return isinstance(self.source, CountsSource)


PATTERN_LESS = ("tiktoken", "tokens")
"""Forms whose files do not say how texts are cut."""
READ_BY = {"tiktoken": "tiktoken", "merges": "tokenizers"}
"""Forms whose pattern is read by a library, with the library."""
OF_FOLDERS = ("transformers", "merges")
"""Forms that may be a folder."""


class ExternalTokenizer(ReadOptions):
    """A tokenizer that was made elsewhere, as it is: nothing is built, and its size is its own.

    Attributes:
        TAG: what tells it from a variant that is built, where pydantic says in which of the two a mistake is.
    """

    TAG: ClassVar[str] = "made elsewhere"

    corpus: str | None = None
    """Corpus on whose evaluation split it is held against its own library and measured; the first where it is left
    out."""
    measured_on: list[str] | None = None
    """Corpora that it is measured on beside this one; the experiment's where it is left out."""
    path: str | None = None
    """Its file, a folder that holds it, or with ``revision`` its name on the Hugging Face hub."""
    revision: Annotated[str | None, Field(pattern=f"^{REVISION.pattern}$")] = None
    """Commit of a name on the hub, from which its files are fetched once; no code is, and nothing without one."""

    @model_validator(mode="before")
    @classmethod
    def _builds_nothing(cls, values: Any) -> Any:
        if isinstance(values, Mapping) and "from" in values:
            for key in ("construction", "pretokenization", "sizes", "byte_lm", "min_count"):
                if key in values:
                    raise ValueError(
                        f"'from' takes a tokenizer as it is, and '{key}' is said of those that are built; leave one out"
                    )
        return values

    @property
    def form(self) -> str:
        """Of which form its file is."""
        return str(getattr(self, "from"))


if TYPE_CHECKING:
    Elsewhere = ExternalTokenizer
else:
    Elsewhere = create_model(
        "Elsewhere",
        __base__=ExternalTokenizer,
        __doc__=ExternalTokenizer.__doc__,
        **{"from": (Literal[tuple(FORMS)], Field(description="Form of the file, see docs/existing.md."))},
    )


def told_apart(built: Any, elsewhere: Any) -> Any:
    """Either kind of variant, by the key ``from``; one that says ``path`` and builds nothing has forgotten it."""

    def kind(value: Any) -> str:
        keys = value if isinstance(value, Mapping) else ()
        taken = isinstance(value, elsewhere) or "from" in keys or ("path" in keys and "construction" not in keys)
        return str((elsewhere if taken else built).TAG)

    either = Annotated[built, Tag(built.TAG)] | Annotated[elsewhere, Tag(elsewhere.TAG)]
    return Annotated[either, Discriminator(kind)]


def mistakes_elsewhere(key: str, name: str, variant: ExternalTokenizer) -> Iterator[str]:
    """What is wrong in a tokenizer made elsewhere that can be told before its file is read, one line a mistake."""
    yield from _path(key, name, variant)
    told_beside = variant.form == "tiktoken" and beside(Path(variant.path or "")) is not None
    if variant.form in PATTERN_LESS and variant.pattern is None and not told_beside:
        yield (
            f"{key}.pattern: a file of form '{variant.form}' does not say how texts are cut; "
            "name its pattern, as in pattern: cl100k"
        )
    if variant.pattern is not None:
        try:
            if (library := READ_BY.get(variant.form)) is None or variant.segmentation is not None:
                pattern_setting(variant.pattern, f"{key}.pattern")
            else:
                named_pattern(variant.pattern, f"{key}.pattern", library)
        except TokbenchError as error:
            told = str(error)
            yield told if told.startswith(key) else f"{key}.pattern: {told}"
    if variant.special_tokens is not None:
        yield from _special(f"{key}.special_tokens", variant.form, variant.special_tokens)
    if variant.segmentation is not None and variant.segmentation not in segmentations:
        yield f"{key}.segmentation: {unknown(variant.segmentation, 'segmentation', segmentations)}"
    if variant.form == "tokens" and variant.segmentation is None:
        yield f"{key}.segmentation: a list of tokens does not say how they are chosen; name one, as in greedy"


def _special(key: str, form: str, special: Mapping[str, int]) -> Iterator[str]:
    if form not in WITHOUT_SPECIAL:
        yield f"{key}: only a file of ranks (from: tiktoken) lacks its special tokens, not '{form}'; leave them out"
    try:
        check_special(special, key)
    except TokbenchError as error:
        yield str(error)


def _path(key: str, name: str, variant: ExternalTokenizer) -> Iterator[str]:
    if not variant.path:
        yield f"{key}.path: no path given; add it, or say --config {name}=PATH on the command line"
        return
    if variant.revision is not None:
        if variant.form != "transformers":
            yield f"{key}.revision: only from: transformers takes a name on the hub, not '{variant.form}'"
        return
    place = Path(variant.path)
    if not place.exists():
        hub = ", or a name on the hub with its revision" * (variant.form == "transformers")
        yield f"{key}.path: no such file or folder as '{place}'; name one{hub}"
    elif place.is_dir() and variant.form not in OF_FOLDERS:
        yield f"{key}.path: '{place}' is a folder; name the file in it, or say from: transformers"
    elif variant.form == "transformers" and not place.is_dir():
        yield f"{key}.path: '{place}' is a file; name its folder, or the form of the file"
    yield from path_mistakes(f"{key}.path", [place], patterns=True)


Size = int | Literal["own"]
"""A vocabulary size, or :data:`tokbench.tokenizer.folder.OWN`."""


def _choice(registry: Registry, key: str = "method") -> Any:
    """The options of every method of a kind, told apart by ``key``."""
    models = [
        create_model(
            f"{method.name}_{registry.kind.replace(' ', '_')}",
            __base__=options_with_recipes(method) if registry is constructions else method.options,
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


class ModelRuns(Options):
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


Triple = Annotated[list[str], Field(max_length=3)]


def _one_or_several(value: Any) -> str:
    """Which alternative a value of ``report.venn`` is meant as: three names, or a list of such triples."""
    return "triples" if isinstance(value, list) and any(isinstance(entry, list) for entry in value) else "triple"


class ReportOptions(Options):
    """What the report says and shows beyond the tables."""

    title: str | None = None
    """Title of the report; made from the experiment's name where it is left out."""
    summary: str = ""
    """A paragraph of the author's own above everything else."""
    baseline: str | dict[str, str] | None = None
    """Variant to which the others are relative, or a mapping of corpora to such variants; the first variant of a corpus
    where it is left out."""
    venn: Annotated[
        Annotated[Triple, Tag("triple")] | Annotated[list[Triple], Tag("triples")], Discriminator(_one_or_several)
    ] = Field(default_factory=list)
    """Three variants whose vocabularies the Venn diagram compares, or a list of such triples for several diagrams; the
    first three variants where it is left out."""
    overlaps: Literal["all", "longer"] = "all"
    """Tokens that the table of common tokens counts: ``all``, or those ``longer`` than one byte, without the single
    bytes that every vocabulary has."""
    examples: list[Annotated[str, Field(min_length=1, max_length=500)]] = Field(default_factory=list, max_length=20)
    """Sentences that the report shows as each tokenizer cuts them, beside those that are chosen from the evaluation
    split: where the tokenizers differ most, a few of each language."""
    byte_signals: list[Annotated[str, Field(min_length=1, max_length=200)]] = Field(default_factory=list, max_length=20)
    """Sentences of which surprisal, entropy and ByteSpan's spans are drawn byte by byte, for each byte language model
    that a variant reads (figure 1 of ByteSpan); in ``byte_lm/CORPUS/NAME/figures``."""

    @property
    def venn_triples(self) -> list[list[str]]:
        """The triples of ``venn``, none where it is left out."""
        names = [entry for entry in self.venn if isinstance(entry, str)]
        return [names] if names else [entry for entry in self.venn if not isinstance(entry, str)]


class TokenizerPair(Options):
    """Separate vocabularies."""

    source: str
    """Variant that cuts the language that is translated."""
    target: str
    """Variant that cuts the language that it is translated into."""


class TranslationRuns(Options):
    """Translation models to train and test: every model with every tokenizer at every size on every corpus."""

    corpora: list[str] = Field(min_length=1)
    """Names of parallel corpora; the models are tested on all tests of theirs."""
    source: str
    """Language that is translated."""
    target: str
    """Language that it is translated into."""
    models: list[str] = Field(min_length=1)
    """Names of translation models."""
    tokenizers: list[str | TokenizerPair] = Field(min_length=1)
    """Variants: one name is a joint vocabulary, a mapping of ``source`` and ``target`` separate ones."""
    sizes: list[VocabularySize] | None = None
    """Vocabulary sizes of each side that is built; all of the source's variant where it is left out. One that was made
    elsewhere has its own always."""
    bleu_words: Literal["13a", "char", "intl", "none", "zh"] = "13a"
    """How sacrebleu cuts words for BLEU."""
    comet: Path | None = None
    """Checkpoint of a COMET model on this disk; without it there is no COMET."""

    def pairs(self) -> list[tuple[str, str]]:
        """Variants of source and target."""
        return [(one, one) if isinstance(one, str) else (one.source, one.target) for one in self.tokenizers]


class BoundsOptions(Options):
    """Bounds on the tokens of any vocabulary, over which the metric ``gap`` is taken.

    Any number of steps proves a bound. Where it has not settled by then, the table of bounds says by how much.
    """

    max_pretoken_bytes: int = Field(MAX_PRETOKEN_BYTES, ge=1)
    """Longest pre-token that takes part, in bytes. Memory and time grow with the square of the longest one. Longer
    pre-tokens are left out of the bound and of the tokens that are compared with it; the table ``bounds`` has their
    number and share."""
    steps: int = Field(400, ge=1)
    """Most steps of the search for a bound, and as many again for each language of a text in several; 2 MB in 22
    languages take 0.4 s a step. More prove a nearer bound where the search has not settled (``unsettled`` of the table
    ``bounds``)."""


class NgramBitsOptions(Options):
    """Bits per byte of token n-gram models, which are trained on one split and tested on the evaluation split.

    Modified Kneser-Ney smoothing, interpolated, has nothing else to choose: no seed and no other parameter.
    """

    order: int = Field(HIGHEST_NGRAM_ORDER, ge=1, le=HIGHEST_NGRAM_ORDER)
    """Highest order; every order up to it is measured."""
    split: Literal["tokenizer", "pretraining"] = "pretraining"
    """Split that the models are trained on."""
    training_bytes: list[Annotated[int, Field(ge=1, le=LARGEST_BYTES)]] | None = Field(None, min_length=1)
    """Bytes of text that the models are trained on, each a budget of its own, out of every language by its share of the
    split; all of the split and half of it where it is left out."""


class StatisticsOptions(Options):
    """How many seeds are needed, told before the runs from a pilot that was."""

    pilot: Path | None = None
    """Folder ``statistics`` of an experiment that trained like models with two seeds or more; how many seeds are needed
    is told in ``power/`` before any model is trained, and in the report."""
    detect: float = Field(DETECT, ge=LEAST)
    """Difference in bits per byte that is to be seen."""
