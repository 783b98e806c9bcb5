"""Options of corpus sources: the keys of all sources, of files, of rows, and of each source that is no format of files.

Each format of files has its own options, in :mod:`tokbench.corpus.formats`.
"""

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from tokbench.corpus.languages import check_tag
from tokbench.io.encodings import encoding_name
from tokbench.io.numbers import LARGEST_BYTES
from tokbench.options import Options

Encoding = Annotated[str, AfterValidator(encoding_name)]
"""The encoding of a text: a name known to Python, or ``bytes``."""
Tag = Annotated[str, AfterValidator(check_tag)]
"""A language tag, without characters that cannot be printed."""
Unit = Literal["whole", "paragraph", "line"]
BadLines = Literal["reject", "skip"]


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, str | Path) else value


PathList = Annotated[list[str], BeforeValidator(_as_list, json_schema_input_type=str | list[str])]
Paths = PathList | dict[Tag, PathList]


class Source(Options):
    """Options of all sources."""

    max_documents: int | None = Field(None, ge=1, le=LARGEST_BYTES)
    """Maximum number of documents: the first ones of the source, which are no sample of it (default: no limit). The
    keys ``sample`` and ``bytes`` of a corpus draw from all of it."""
    max_bytes_per_language: int | None = Field(None, ge=1, le=LARGEST_BYTES)
    """Read the first documents of each language until this number of bytes is reached; the last document is complete.
    As with ``max_documents``, they are no sample (default: no limit)."""
    languages: list[str] | None = None
    """Read only documents with these language tags (default: all)."""
    rename_languages: dict[str, Annotated[str, Field(min_length=1), AfterValidator(check_tag)]] = Field(
        default_factory=dict
    )
    """New names of language tags, so that files with different names of a language agree."""
    language: Tag = ""
    """Language tag of documents without one. By default it is ``und`` (undetermined) if other documents of the corpus
    have a language, and empty if no document has one."""


class EmbeddedSource(Source):
    """English documentation that is part of every CPython; needs no file."""

    type: Literal["embedded"]


class FileSource(Source):
    """A source that reads the user's files."""

    path: Paths = Field(default_factory=list)
    """File, folder or glob pattern, or a list of them; or a mapping from language tags to these. The tags of a mapping
    take precedence over those in documents. May be left out and given on the command line instead."""


class Records(Options):
    """A source of records, one text each. An empty text is a document without bytes."""

    bad_lines: BadLines = "reject"
    """Treatment of a bad record, a line or a row: it is not valid in its format, its text is missing, null or no text,
    its text or language is given twice, or its language is no tag. ``reject`` is an error, ``skip`` leaves the record
    out and counts it. Other fields are ignored."""


class RecordSource(Records, FileSource):
    """A source that reads files of records with fields."""

    documents: Unit = "whole"
    """Unit of a document: the full text of a record (``whole``), a paragraph of it (separated by blank lines), or a
    non-empty line of it."""
    text_field: str = "text"
    """Name of the field of the text: a key or a column. A dot leads into an object or a structure, as in
    ``translation.de``, unless a field has this name."""
    language_field: str | None = None
    """Name of the field of the language tag, with dots as in ``text_field``. Records without it get the tag of the
    option ``language``."""


class HubDataset(Options):
    """A data set of the Hugging Face hub at a pinned revision."""

    dataset: str
    """Name on the hub, for example ``HuggingFaceFW/fineweb-edu``."""
    revision: str = Field(pattern=r"^[0-9a-f]{40}$")
    """Commit of the data set, 40 hexadecimal digits, so that the corpus cannot change."""
    config: str | None = None
    """Configuration (subset) of the data set."""
    split: str = "train"
    """Split of the data set on the hub."""


class HubSource(Records, HubDataset, Source):
    """A data set of the Hugging Face hub, streamed once by its own rule at a pinned revision."""

    type: Literal["hub"]
    text_field: str = "text"
    """Column of the text; a dot leads into a structure, as in ``translation.de``."""
    language_field: str | None = None
    """Column of the language tag."""


class ParallelSource(Source):
    """The training split of a parallel corpus, one sentence per document: first all of one side, then all of the other.

    ``languages`` selects a side. By default both are read, which builds joint vocabularies.
    """

    type: Literal["parallel"]
    corpus: str
    """Name of the parallel corpus."""


class CountsSource(FileSource):
    """Pre-token counts instead of text. Tokenizers are built from the counts and measured on them.

    The input is either one file of counts (Parquet, or TSV ``hex<TAB>count``) or two text files: words separated by
    single spaces, and their counts, one per line. The counts are used for every scheme that a variant names.
    """

    type: Literal["counts"]


def type_of(source: Options) -> str:
    """Return the type of a source of documents or pairs, as in the configuration."""
    name: str = source.type  # type: ignore[attr-defined]
    return name
