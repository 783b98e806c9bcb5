"""Files of text by their names: kind of content and compression by the ending, in any case, and options of reading."""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["text", "jsonl", "parquet", "counts"]
KINDS: dict[Kind, tuple[str, ...]] = {
    "text": (".txt", ".text", ".md"),
    "jsonl": (".jsonl", ".json", ".ndjson"),
    "parquet": (".parquet",),
    "counts": (".parquet", ".tsv"),
}
"""Endings of each kind of file; a compressed file has one of :data:`COMPRESSIONS` after it."""
COMPRESSIONS: dict[str, tuple[str, ...]] = {
    "gzip": (".gz", ".gzip"),
    "zstd": (".zst", ".zstd"),
    "bzip2": (".bz2",),
    "xz": (".xz",),
}
"""Endings of each compression that is read."""
COMPRESSED = tuple(ending for endings in COMPRESSIONS.values() for ending in endings)
"""All endings of compressed files."""


@dataclass(frozen=True)
class Fields:
    """Options of reading texts; None where an option is left out.

    Attributes:
        text: key or column of the text (default: ``text``).
        language: key or column of the language (default: ``language``, where there is one).
        encoding: encoding of files of text and JSON Lines (default: ``utf-8``).
        bad_lines: ``reject`` or ``skip`` bad lines of JSON (default: ``reject``).
    """

    text: str | None = None
    language: str | None = None
    encoding: str | None = None
    bad_lines: str | None = None

    @property
    def flags(self) -> str:
        """The options that were given, for messages; empty without any."""
        options = {
            "--text-field": self.text,
            "--language-field": self.language,
            "--encoding": self.encoding,
            "--bad-lines": self.bad_lines,
        }
        return ", ".join(flag for flag, value in options.items() if value is not None)


AS_USUAL = Fields()


def compression_named(name: str) -> str | None:
    """Return the compression that a file name ends with; None without one."""
    folded = name.lower()
    return next((kind for kind, endings in COMPRESSIONS.items() if folded.endswith(endings)), None)


def plain_name(name: str) -> str:
    """Return a file name without the ending of its compression."""
    return name[: name.rfind(".")] if compression_named(name) else name


def has_kind(name: str, kind: Kind) -> bool:
    """Return whether a file name has an ending of a kind, before that of its compression."""
    return plain_name(name).lower().endswith(KINDS[kind])


def kind_named(name: str) -> Literal["text", "jsonl", "parquet"]:
    """Return the kind that a file name means: JSON Lines or Parquet by the ending, text for every other name."""
    if has_kind(name, "jsonl"):
        return "jsonl"
    return "parquet" if has_kind(name, "parquet") else "text"


def with_endings(kind: Kind) -> str:
    """Return the endings of a kind, for messages."""
    return ", ".join(KINDS[kind])
