"""Variants that are not built: tokenizers made elsewhere, told by where they lie."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Discriminator, Field, Tag, create_model, model_validator

from tokbench.adapters.forms import FORMS, WITHOUT_SPECIAL, ReadOptions
from tokbench.adapters.forms.beside_ranks import beside
from tokbench.adapters.forms.patterns import named_pattern, pattern_setting
from tokbench.adapters.forms.special_tokens import check_special
from tokbench.adapters.hub import REVISION
from tokbench.errors import TokbenchError, unknown
from tokbench.inputs.paths import path_mistakes
from tokbench.segmentation import segmentations

PATTERN_LESS = ("tiktoken", "tokens")
"""Forms whose files do not say how texts are cut."""
READ_BY = {"tiktoken": "tiktoken", "merges": "tokenizers"}
"""Forms whose pattern is read by a library, with the library."""
OF_FOLDERS = ("transformers", "merges")
"""Forms that may be a folder."""


class MadeElsewhere(ReadOptions):
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
    Elsewhere = MadeElsewhere
else:
    Elsewhere = create_model(
        "Elsewhere",
        __base__=MadeElsewhere,
        __doc__=MadeElsewhere.__doc__,
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


def mistakes_elsewhere(key: str, name: str, variant: MadeElsewhere) -> Iterator[str]:
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


def _path(key: str, name: str, variant: MadeElsewhere) -> Iterator[str]:
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
