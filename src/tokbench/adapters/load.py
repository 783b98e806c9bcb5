"""Tokenizers from Python objects: paths, names on the hub, objects of other libraries, and plain functions."""

import os
import re
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from json import dumps
from pathlib import Path, PurePath
from tempfile import TemporaryDirectory
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from tokbench.adapters.forms import FORMS
from tokbench.adapters.forms.ranks import RANKS, SETTINGS
from tokbench.adapters.hub import hub_folder, hub_name
from tokbench.adapters.read import import_tokenizer, open_tokenizer
from tokbench.errors import TokbenchError
from tokbench.io.numbers import LARGEST_VOCABULARY, whole_argument
from tokbench.io.paths import is_hub_name
from tokbench.tokenizer import Tokenizer
from tokbench.tokenizer.adapted import AdaptedTokenizer
from tokbench.tokenizer.encoder import html_of, shown
from tokbench.tokenizer.libraries.python_functions import PythonTokenizer
from tokbench.tokenizer.roundtrip import readable

FLAG = re.compile(r"--(\w[\w-]*)( \w+)?")


def load(
    source: Any,
    *,
    revision: str | None = None,
    form: str | None = None,
    pattern: str | None = None,
    segmentation: str | None = None,
    added: str | None = None,
    special_tokens: Mapping[str, int] | None = None,
    end_of_text: str | None = None,
    name: str = "",
) -> Tokenizer:
    """Return the tokenizer of a path, a name on the Hugging Face hub, or an object of another library.

    Args:
        source: a folder that ``Tokenizer.save`` wrote; a file or folder that ``tokbench import`` reads
            (``tokenizer.json``, tiktoken ranks, ``tekken.json``, SentencePiece models, ``merges.txt``, folders of
            ``transformers``); a name on the hub, with ``revision`` or as ``hf:OWNER/NAME``; a
            ``tokenizers.Tokenizer``; a tokenizer of ``transformers``; a ``tiktoken.Encoding``; or a
            ``sentencepiece.SentencePieceProcessor``. A :class:`~tokbench.tokenizer.tokenizer.Tokenizer` is returned as
            it is.
        revision: full hash of the commit, for a name on the hub. Nothing is downloaded without it.
        form: format of the file, as in ``tokbench import --from``. Default: detected from its content.
        pattern: pre-tokenizer name or regular expression, for files that do not contain one.
        segmentation: segmentation instead of the format's.
        added: which added tokens are tokens: all but special ones (``"words"``, default), none (``"text"``) or all
            (``"tokens"``).
        special_tokens: special tokens of a file of ranks, with their ids.
        end_of_text: the token that ends a text. Default: that of the folder's settings, otherwise a well-known name.
        name: name in tables. Default: the tokenizer's own name, or that of the file.

    Raises:
        TokbenchError: the path does not exist, the file is damaged or its format unknown, an option is missing or not
            for this source, or the library of the tokenizer is not installed.

    Examples:
        >>> from tokenizers import Tokenizer, models
        >>> tokenizer = tokbench.load(Tokenizer(models.BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")])), name="tiny")
        >>> tokenizer.encode("abab").tolist()
        [2, 2]
    """
    given: dict[str, Any] = {
        "pattern": pattern,
        "segmentation": segmentation,
        "added": added,
        "end_of_text": end_of_text,
    }
    given |= {"special_tokens": None if special_tokens is None else dict(special_tokens), "revision": revision}
    options = {key: value for key, value in given.items() if value is not None}
    try:
        tokenizer = _loaded(source, options, form, name)
    except TokbenchError as error:
        raise TokbenchError(f"load: {FLAG.sub(_argument, str(error))}") from None
    tokenizer.name = name or tokenizer.name
    return tokenizer


def _argument(flag: re.Match[str]) -> str:
    """Return a flag of the command line as the argument of :func:`load`."""
    key = {"from": "form", "special": "special_tokens"}.get(flag[1], flag[1].replace("-", "_"))
    values = {"pattern": ("cl100k",), "form": (*FORMS,)}.get(key, ())
    return f"{key}='{flag[2].strip()}'" if flag[2] and flag[2].strip() in values else key + (flag[2] or "")


def _loaded(source: Any, options: dict[str, Any], form: str | None, name: str) -> Tokenizer:
    if isinstance(source, str) and is_hub_name(source):
        source = hub_folder(hub_name(source))
    if isinstance(source, str | PurePath):
        return open_tokenizer(str(source), form, options, name=name)
    if "revision" in options or form is not None:
        unused = "revision" if "revision" in options else "form"
        raise TokbenchError(f"{unused}: is only for names and paths; leave it out")
    # Objects: tokenizers of Tokbench as they are, those of libraries by their files.
    library = next((part for part in _packages(type(source)) if part in READERS), None)
    ours = source if isinstance(source, Tokenizer) else getattr(source, "tokenizer", None)
    if isinstance(ours, Tokenizer):
        if options:
            raise TokbenchError(f"{next(iter(options))}: is not for a tokenizer of Tokbench; leave it out")
        return copy(ours) if name else ours
    if library is None:
        remedy = "pass tokbench.wrap(function)" if callable(source) else "pass a path, or an object of a tokenizer"
        raise TokbenchError(f"{shown(source)} is not a tokenizer that can be read; {remedy}")
    # The folder has one name, so that the cache knows the object by its content.
    with TemporaryDirectory() as temporary:
        folder = os.path.join(temporary, library)
        os.mkdir(folder)
        place, form, called = READERS[library](source, Path(folder))
        kind = f"{library}.{type(source).__name__}"
        try:
            tokenizer, _ = import_tokenizer(str(place), form, options, name=name or called or type(source).__name__)
        except TokbenchError as error:
            slow = "; pass the fast version of it, or a function through tokbench.wrap"
            hint = slow if getattr(source, "is_fast", True) is False else ""
            raise TokbenchError(str(error).replace(str(place), kind).replace(folder, kind) + hint) from None
    tokenizer.origin["imported"]["file"] = called or kind
    return tokenizer


def _packages(kind: type) -> list[str]:
    return [base.__module__.partition(".")[0] for base in kind.__mro__]


def _write_tokenizer_json(source: Any, folder: Path) -> tuple[Path, str, str]:
    place = folder / "tokenizer.json"
    place.write_text(source.to_str(), encoding="utf-8")
    return place, "tokenizer_json", ""


def _write_transformers(source: Any, folder: Path) -> tuple[Path, str, str]:
    if not hasattr(source, "save_pretrained"):
        raise TokbenchError(f"{shown(source)} is not a tokenizer of transformers; pass one")
    source.save_pretrained(folder)
    return folder, "transformers", Path(str(getattr(source, "name_or_path", ""))).name


def _write_tiktoken(source: Any, folder: Path) -> tuple[Path, str, str]:
    """Write the ranks, pattern and special tokens of an encoding, from its state for copies."""
    state = copy(source).__getstate__()
    if not isinstance(state, Mapping):
        raise TokbenchError(f"{shown(source)} does not return its ranks; save them as a file and load that")
    lines = [f"{b64encode(token).decode()} {rank}\n" for token, rank in state["mergeable_ranks"].items()]
    (folder / RANKS).write_text("".join(lines), encoding="ascii")
    settings = {key: state[key] for key in ("pat_str", "special_tokens")}
    (folder / SETTINGS).write_text(dumps(settings), encoding="utf-8")
    return folder / RANKS, "tiktoken", str(state["name"])


def _write_sentencepiece(source: Any, folder: Path) -> tuple[Path, str, str]:
    (folder / "tokenizer.model").write_bytes(source.serialized_model_proto())
    return folder / "tokenizer.model", "sentencepiece", ""


READERS: dict[str, Callable[[Any, Path], tuple[Path, str, str]]] = {
    "transformers": _write_transformers,
    "tokenizers": _write_tokenizer_json,
    "tiktoken": _write_tiktoken,
    "sentencepiece": _write_sentencepiece,
}
"""Functions by package, which write an object's file and return its path, its form and the object's name."""


class WrappedTokenizer(AdaptedTokenizer):
    """A tokenizer that calls user-defined functions; :func:`wrap` returns one.

    Attributes:
        size: number of tokens; None if not known: ``len`` is then one more than the largest id so far.
    """

    def __init__(
        self,
        encode: Callable[[str], Any],
        decode: Callable[[list[int]], Any] | None,
        *,
        size: int | None = None,
        name: str = "",
        pieces: Sequence[bytes] = (),
    ) -> None:
        self.library_name, self.content, self.settings = "Python", b"", {}
        self.special: dict[int, bytes] = {}
        self.functions, self.size = (encode, decode), size
        self.tokens = self.ids = size or len(pieces)
        self.name = name
        self.origin: dict[str, Any] = {}
        self.library = self.callables = PythonTokenizer(
            name, encode, decode, vocab_size=size, pieces=pieces, remedy="pass one, as in tokbench.wrap(encode, decode)"
        )

    def __getstate__(self) -> dict[str, Any]:
        """Return the functions, and the pieces that have an id."""
        encode, decode = self.functions
        pieces = [*self.callables.names]
        return {"encode": encode, "decode": decode, "size": self.size, "name": self.name, "pieces": pieces}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]

    def __repr__(self) -> str:
        tokens = "size unknown" if self.size is None else f"{self.size} tokens"
        return f"WrappedTokenizer({self.name!r}, Python, {tokens})"

    def _repr_html_(self) -> str:
        return html_of(repr(self), self.callables.names)

    @property
    def nominal_size(self) -> int:
        """The vocabulary size, 0 if it is not known."""
        return self.size or 0

    def encode(self, text: bytes | str, threads: int = 1) -> NDArray[np.int32]:
        """Return the ids of a text, int32 [tokens].

        Raises:
            TokbenchError: the function raised an exception, which is the error's cause, or did not return ids.
        """
        ids = np.array(self.library.encode(readable(text)), np.int32)
        if self.size is None and len(ids):
            self.tokens = self.ids = max(self.ids, int(ids.max()) + 1)
        return ids

    @property
    def decode_limit(self) -> int:
        """Number of pieces with an id, otherwise the size; the largest vocabulary's size if it is not known."""
        return len(self.callables.names) or self.callables.ids

    @property
    def digest(self) -> NoReturn:
        """Raise an error: functions have no content that a digest could be computed from."""
        raise TokbenchError(f"{self.name}: a wrapped function has no digest; save its tokenizer with its own library")

    def save(self, folder: Path | str, *, configuration: bool = True) -> NoReturn:
        """Raise an error: functions cannot be saved."""
        raise TokbenchError(f"{self.name}: a wrapped function cannot be saved; save its tokenizer with its own library")


def wrap(
    encode: Callable[[str], Any],
    decode: Callable[[list[int]], Any] | None = None,
    *,
    name: str = "",
    size: int | None = None,
) -> Tokenizer:
    """Return any function as an external tokenizer, for ``compare``, ``measure``, ``check`` and ``show``.

    Args:
        encode: receives a ``str`` and returns a sequence of its ids (integers in a list, an array or a tensor of one
            dimension, or an object with such ``ids`` or ``input_ids``), or of its pieces (``str`` or ``bytes``), which
            are numbered in the order in which they first occur. Bytes that are not UTF-8 are passed as U+FFFD.
        decode: receives a list of ids and returns their text, ``str`` or ``bytes``. Default: pieces are joined; ids
            cannot be decoded, so that ``check`` and ``show`` raise an error.
        name: name in tables. Default: the name of the function.
        size: number of tokens. Default: not known; metrics that need it have no value.

    Raises:
        TokbenchError: ``encode`` or ``decode`` cannot be called, or ``size`` is not an integer. When a text is encoded
            or decoded: the function returns something else, or raises an exception, which is the error's cause.

    Examples:
        >>> words = tokbench.wrap(lambda text: text.split(" "), name="words")
        >>> words.encode("the cat and the hat").tolist()
        [0, 1, 2, 0, 3]
        >>> pairs = tokbench.wrap(lambda text: [text[i : i + 2] for i in range(0, len(text), 2)], name="pairs")
        >>> print(tokbench.compare([words, pairs], ["the cat", "and the hat"])["tokens"].to_list())
        [5, 10]
    """
    for key, function in (("encode", encode), ("decode", decode)):
        if not callable(function) and (key == "encode" or function is not None):
            raise TokbenchError(f"wrap: {key} {shown(function)} is not a function; pass one")
    if size is not None:
        size = whole_argument("size", size, 1, LARGEST_VOCABULARY)
    return WrappedTokenizer(encode, decode, size=size, name=name or getattr(encode, "__name__", type(encode).__name__))
