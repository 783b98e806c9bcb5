"""Section of a corpus: its source or sources, the documents to draw, and the splits."""

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from tokbench.config.short_forms import NameAlone
from tokbench.corpus.mixing import Draw
from tokbench.corpus.source_types import SOURCE_TYPES, AnySource
from tokbench.corpus.sources import CountsSource, Source
from tokbench.io.numbers import BYTE_SIZE, LARGEST_BYTES, byte_size
from tokbench.options import Name, Options

LONGEST_DOCUMENT = 16_000_000
PIECES = 1_000_000, 2_000_000_000
"""Smallest and largest value of ``longest_document``, in bytes; a shard cannot contain a longer document."""
Split = Literal["byte_lm", "tokenizer", "evaluation", "pretraining"]
DEFAULT_FRACTIONS: dict[Split, float | Split] = {
    "byte_lm": 0.15,
    "tokenizer": 0.4,
    "evaluation": 0.1,
    "pretraining": 0.35,
}


ByteSize = Annotated[
    int,
    Field(ge=1, le=LARGEST_BYTES),
    BeforeValidator(byte_size, json_schema_input_type=int | Annotated[str, Field(pattern=f"^{BYTE_SIZE.pattern}$")]),
]
"""Number of bytes, or a number with a unit, such as ``2GB``."""
NamedSource = Annotated[AnySource, NameAlone("type", SOURCE_TYPES)]


class WeightedSource(Options):
    """A source of a mixture."""

    source: NamedSource
    """Source of the documents."""
    weight: float | None = Field(None, gt=0)
    """Weight of the source: its share of the mixture's bytes is this weight / the sum of all weights. Default: its
    size. Give a weight to every source of a mixture, or to none."""


class Corpus(Options):
    """Named text with documents and splits."""

    source: NamedSource | None = None
    """Source of the documents. A corpus has either ``source`` or ``sources``."""
    sources: dict[Name, WeightedSource] = Field(default_factory=dict)
    """Sources of a mixture by name. The name is the domain of a document; the report compares tokenizers by domain."""
    temperature: float | None = Field(None, ge=0, le=1)
    """Power of the sizes that the shares of sources without weights are proportional to. Default: 1, the shares of the
    sizes; 0 gives equal shares; multilingual BERT used 0.7, XLM-R 0.3."""
    sample: float | None = Field(None, gt=0, lt=1)
    """Probability with which a document is drawn, from anywhere in a source, by a hash of its bytes and the seed. Drawn
    documents are shuffled. Default: all documents."""
    bytes: ByteSize | None = None
    """Bytes to draw in the same way, as in ``2000000`` or ``2GB`` (10^9 bytes); exact up to half a document of each
    source. Default: all, or the largest mixture that its weights allow without a repeated document."""
    shards: int = Field(1, ge=1, le=9999)
    """Number of files of each split, default: 1; documents are dealt out to them. Counting and scoring run one job a
    shard."""
    parts: int = Field(1, ge=1, le=9999)
    """Number of parts of the source that are prepared in parallel, default: 1; the output files are the same. Text and
    JSON Lines are divided only between files, other formats also within a file."""
    splits: dict[Split, float | Split] = Field(default_factory=lambda: dict(DEFAULT_FRACTIONS))
    """Share of each language's bytes in a split, assigned by document. A split's name instead of a share makes the two
    splits equal (``evaluation: tokenizer`` measures on the training text). The remainder to 1 is unused."""

    duplicates: Literal["keep", "drop"] = "keep"
    """Treatment of evaluation documents that are also in the tokenizer or pretraining split, byte for byte. ``keep``
    (default) only counts them, ``drop`` removes them from the evaluation split. Splits defined as equal by ``splits``
    are not compared."""
    units: Path | None = None
    """CSV file with the columns ``document`` (number of a document in its source, from 0) and ``unit`` (its group, such
    as an author). A mixture also needs the column ``domain``, the name of the source. All documents of a unit are in
    one split, and statistics over documents count a unit as one observation. The evaluation split then has at most
    1,000 documents."""
    longest_document: int | None = Field(LONGEST_DOCUMENT, ge=PIECES[0], le=PIECES[1])
    """Bytes above which a document is written as several pieces, which limits memory; default: 16,000,000, ``null`` for
    no limit. A cut is before a space between two letters if there is one in the second half of the piece. Otherwise it
    is after a line end or between two characters. Pieces stay in one split and count as one document there and for
    limits."""
    normalize: Literal["nfc"] | None = None
    """Normalization of each document before it is written: ``nfc``, Normalization Form C of Unicode 9.0, which Qwen's
    tokenizers apply. Bytes that are not UTF-8 stay. Pieces of long documents are normalised one by one. Default:
    none."""

    @model_validator(mode="after")
    def _has_source(self) -> Self:
        if self.source is not None and self.sources:
            raise ValueError("has both 'source' and 'sources'; give one source, or all of them under 'sources'")
        if self.source is None and not self.sources:
            raise ValueError("has no source; add the key 'source', as in source: {type: text, path: FILE}")
        return self

    @property
    def counted(self) -> bool:
        """Whether the source contains only counts, without documents."""
        return isinstance(self.source, CountsSource)

    @property
    def named_sources(self) -> dict[str, Source]:
        """Sources by name, in its order; the only source of a corpus that is no mixture has the empty name."""
        if self.source is not None:
            return {"": self.source}
        return {name: weighted.source for name, weighted in sorted(self.sources.items())}

    @property
    def keyed_sources(self) -> dict[str, Source]:
        """Sources by their key below the corpus, ``source`` or ``sources.NAME.source``, for messages."""
        return {f"sources.{name}.source" if name else "source": source for name, source in self.named_sources.items()}

    @property
    def draw(self) -> Draw | None:
        """Documents to draw; None if all documents of a single source are used in their order."""
        if not self.sources and self.sample is None and self.bytes is None:
            return None
        weights = {name: weighted.weight for name, weighted in sorted(self.sources.items())} or {"": None}
        sample, temperature = (1.0 if value is None else value for value in (self.sample, self.temperature))
        return Draw(weights, sample, self.bytes, temperature)
