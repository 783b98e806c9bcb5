"""The forms in which tokenizers come that were made elsewhere: one module each, which reads a file of that form.

A reader says by which library the file works, and where our own three phases do exactly the same, by which.

Files of tokenizers: read whole, decompressed, and not beyond a limit.

Special tokens that are given for a file without any: names and ids that can be those of tokens.
"""

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol

from pydantic import Field

from tokbench.errors import TokbenchError, shortened, unknown
from tokbench.io.compression import COMPRESSED
from tokbench.io.numbers import LARGEST_VOCABULARY
from tokbench.io.text_files import PIECE, opened
from tokbench.options import Options
from tokbench.vocabulary import Vocabulary

if TYPE_CHECKING:
    from tokbench.adapters.forms.folder_settings import End, FolderSettings
    from tokbench.adapters.libraries import Library
    from tokbench.pretokenization.patterns.characters import Ranges


FORMS = {
    "tokenizer_json": "tokenizer.json of Hugging Face's tokenizers",
    "tiktoken": "ranks as OpenAI's tiktoken has them; the pattern is not in the file",
    "tekken": "Mistral's tekken.json",
    "sentencepiece": "a .model of SentencePiece",
    "tokens": "one token in hexadecimal a line, as PathPiece and SaGe write them",
    "merges": "merges.txt of GPT-2, with vocab.json beside it or without",
    "transformers": "a folder of transformers, or a name on the hub with its revision",
}
"""The forms, with what each is; the module that reads a form bears its name."""
REMEDY = "give a whole file of its form"
WITHOUT_SPECIAL = ("tiktoken", "transformers")
"""Forms whose files may lack the special tokens of their tokenizer."""
LARGEST_FILE = 1 << 28
"""Bytes of the largest file that is read; the largest of those that people use have a tenth of it."""


class ReadOptions(Options):
    """What a file does not say of its tokenizer."""

    pattern: str | None = None
    """How texts are cut into pre-tokens, for forms that do not say it: a name or a regular expression."""
    segmentation: str | None = None
    """Segmentation in place of the form's own; ``tokens`` has none, so it must be chosen there."""
    added: Literal["words", "text", "tokens"] = "words"
    """Special and added tokens that stand in a text: ``words`` takes those for tokens that are words or blanks, and
    those that are marks or special for text; ``text`` takes all for text, ``tokens`` all for tokens."""
    special_tokens: Annotated[dict[str, int], Field(min_length=1)] | None = None
    """Special tokens of a file of ranks, which does not hold them, with their ids. Left out, they are those of the file
    that our own export wrote beside it, or those that are published for the very ranks (gpt2, p50k_base, cl100k_base,
    o200k_base); encodings of equal ranks (p50k_edit, o200k_harmony) are told apart by ``pattern``."""
    end_of_text: Annotated[str, Field(min_length=1)] | None = None
    """Special or added token that ends a text. Default: the token that the folder's settings name (``eos_token``), then
    a known name such as ``<|endoftext|>`` or ``</s>``, then the first id after all others."""
    revision: str | None = None
    """Revision of a name on the hub, a full hash; nothing is fetched without one."""


@dataclass(frozen=True)
class NativeTokenizer:
    """A tokenizer in our three phases.

    Attributes:
        vocabulary: the tokens, with the file's own ids.
        pretokenization: setting of the scheme.
        segmentation: name of the method.
        sets: the sets of characters that the file's patterns name, by the text of the part of a pattern.
        steps: the sets of characters that other steps of its library's pre-tokenization cut out, by type.
    """

    vocabulary: Vocabulary
    pretokenization: str | Mapping[str, Any]
    segmentation: str
    sets: "Mapping[str, Ranges]" = field(default_factory=dict)
    steps: "Mapping[str, Ranges]" = field(default_factory=dict)


@dataclass(frozen=True)
class ParsedTokenizer:
    """What a file holds.

    Attributes:
        native: our own phases, None where they do not do what the file says.
        reason: why they do not.
        library: the library that reads it, None where there is none.
        content: the file as that library gets it.
        settings: what the library is told beside it.
        opened: The tokenizer of the library, if reading the file opened it.
        special: ids that no text gives, with what they stand for.
        added: Special and added tokens that texts can give, by id.
        ends: Tokens that the file or its folder name as the end of text, the preferred one first.
        tokens: tokens that text can give.
        ids: ids in all, one more than the largest.
        told: what was done with the file, in sentences without full stops.
    """

    native: NativeTokenizer | None
    reason: str = ""
    library: str | None = None
    content: bytes = b""
    settings: Mapping[str, Any] = field(default_factory=dict)
    opened: "Library | None" = None
    special: Mapping[int, bytes] = field(default_factory=dict)
    added: Mapping[int, bytes] = field(default_factory=dict)
    ends: "Sequence[End]" = ()
    tokens: int = 0
    ids: int = 0
    told: Sequence[str] = ()


def marks_told(number: int, kind: str) -> str:
    """What is said of so many tokens that no text gives."""
    which = f"{kind} tokens and marks are" if number > 1 else f"{kind} token or mark is"
    return f"{number:,} {which} text in texts"


class NotNativeError(Exception):
    """Why our own phases do not do what a file says."""


class FormReader(Protocol):
    """How the reader of a form is called."""

    def __call__(self, path: Path, options: ReadOptions, settings: "FolderSettings") -> ParsedTokenizer:
        """Read a file, with the settings of the ``transformers`` folder that it is read from.

        Raises:
            TokbenchError: it is none of its form, or an option is missing or makes no sense for it.
        """
        ...


def read_form(path: Path, form: str, options: ReadOptions, settings: "FolderSettings | None" = None) -> ParsedTokenizer:
    """What a file of a form holds.

    Args:
        path: The file.
        form: Its form.
        options: What the file does not say.
        settings: Settings of the folder that it is read from. Default: none.

    Raises:
        TokbenchError: there is no such form, the file is none of it, or an option is missing or makes no sense for it.
    """
    if form not in FORMS:
        raise TokbenchError(unknown(form, "form", FORMS))
    if options.special_tokens is not None and form not in WITHOUT_SPECIAL:
        raise TokbenchError(
            f"{path}: special tokens are given with files of ranks alone, not with '{form}'; leave them out"
        )
    read: FormReader = importlib.import_module(f"{__name__}.{form}").read
    from tokbench.adapters.forms.folder_settings import NONE

    return read(path, options, settings or NONE)


def read_bounded(path: Path) -> bytes:
    """The bytes of a file, decompressed where it is compressed.

    Raises:
        TokbenchError: it cannot be read, or has more bytes than any tokenizer.
    """
    if path.is_dir():
        raise TokbenchError(f"{path}: a folder; name a file in it, or read it as 'transformers'")
    pieces, size = [], 0
    with opened(path, REMEDY) as file:
        while piece := file.read(PIECE):
            pieces.append(piece)
            size += len(piece)
            if size > LARGEST_FILE:
                raise TokbenchError(f"{path}: more than {LARGEST_FILE:,} bytes, as no tokenizer has; {REMEDY}")
    return b"".join(pieces)


def named_file(folder: Path, name: str) -> Path | None:
    """Return the file of a name in a folder, compressed or not; None if there is none."""
    files = (folder / f"{name}{suffix}" for suffix in ("", *COMPRESSED))
    return next((file for file in files if file.exists() and not file.is_dir()), None)


def check_special(special: Mapping[str, int], key: str) -> None:
    """Reject special tokens whose names or ids are none, or of which two have one id.

    Raises:
        TokbenchError: the message begins with ``key``.
    """
    named: dict[int, str] = {}
    for name, number in special.items():
        if not name or any(0xD800 <= ord(sign) < 0xE000 for sign in name):
            raise TokbenchError(f"{key}: {name!a:.40} is no name of a token; give it one that is text")
        if type(number) is not int or not 0 <= number < LARGEST_VOCABULARY:
            raise TokbenchError(
                f"{key}: '{shortened(name)}' has the id {number!r:.20}; ids are 0 to {LARGEST_VOCABULARY - 1}"
            )
        if (other := named.setdefault(number, name)) != name:
            raise TokbenchError(
                f"{key}: '{shortened(other)}' and '{shortened(name)}' have one id, {number}; give each its own"
            )


def check_apart(special: Mapping[str, int], ranks: Mapping[bytes, int], key: str) -> None:
    """Reject special tokens that have the id of a rank.

    Raises:
        TokbenchError: the message begins with ``key`` and names the first.
    """
    taken = set(ranks.values())
    for name, number in special.items():
        if number in taken:
            raise TokbenchError(
                f"{key}: '{shortened(name)}' has the id {number}, which is a rank of the file; give it another"
            )
