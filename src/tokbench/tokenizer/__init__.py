"""A tokenizer: the three phases put together.

A pre-tokenization cuts a text into pre-tokens, a segmentation cuts each pre-token into tokens of a vocabulary. Any
bytes can be encoded, and decoding gives back exactly the bytes that were encoded.
"""

import importlib
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tokbench.errors import TokbenchError
from tokbench.io.atomic import atomic_files
from tokbench.io.numbers import MOST_THREADS, whole_argument
from tokbench.io.output_place import place_of_folder
from tokbench.kernels.threads import parallel_map
from tokbench.options import Options
from tokbench.pretokenization import Pretokenization, Setting, pretokenization_of
from tokbench.segmentation import Segmenter, segmentations
from tokbench.tokenizer.encoder import (
    TextEncoder,
    TokenBytes,
    as_bytes,
    character_spans,
    html_of,
    require_str,
    require_texts,
    shown,
)
from tokbench.tokenizer.folder import SETTINGS, is_adapted, outdated_export, read_settings, sealed, stale_files
from tokbench.tokenizer.hugging_face import end_token, special_tokens, write_configuration
from tokbench.vocabulary import Named, Vocabulary

if TYPE_CHECKING:
    from tokbench.pretokens import PretokenCounts

PARTS = 64
"""Parts into which unique pre-tokens are cut for threads; fixed, though the result does not depend on it."""


class Tokenizer:
    """Pre-tokenization, vocabulary and segmentation.

    Args:
        vocabulary: the tokens, with what the segmentation needs.
        pretokenization: its name, or a mapping with its ``method`` and options.
        segmentation: name of the segmentation.
        options: the segmentation's options; its defaults where left out.
        name: what tables call this tokenizer.
        origin: what made it, kept with it when it is saved: any JSON values.

    Attributes:
        scheme: what cuts a text.
        pretokenization: its setting on one line, as counts name it.

    Raises:
        TokbenchError: there is no such method, or the segmentation needs merges or scores and the vocabulary has none.

    Examples:
        >>> bpe = tokbench.build("bpe", tokbench.count("the cat and the hat " * 9), 260)
        >>> bpe
        Tokenizer('bpe', gpt2, 260 tokens, merge)
        >>> bpe.tokenize("the hat")
        ['the', ' ', 'h', 'at']
        >>> bpe.decode_text(bpe("the hat"))
        'the hat'
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        pretokenization: Setting | Pretokenization,
        segmentation: str,
        options: Options | None = None,
        *,
        name: str = "",
        origin: dict[str, Any] | None = None,
    ) -> None:
        method = segmentations[segmentation]
        if not isinstance(options, method.options | None):
            raise TokbenchError(f"options {shown(options)}: give an instance of {method.options.__name__}")
        needs = method.needs
        if needs and getattr(vocabulary, needs) is None:
            raise TokbenchError(f"segmentation '{segmentation}' needs {needs}, which this vocabulary does not have")
        self.vocabulary = vocabulary
        self.scheme = pretokenization_of(pretokenization)
        self.pretokenization = self.scheme.text
        self.segmentation = segmentation
        self.options = options or method.options()
        self.name = name
        self.origin = origin or {}
        self._segmenter: Segmenter = method.function(vocabulary, self.options)
        self._encoder = TextEncoder(self.scheme, self._segmenter, vocabulary)
        self._bytes = TokenBytes(vocabulary)

    library_name: str = ""
    """The library that it works through; empty where it is our three phases."""

    @property
    def nominal_size(self) -> int:
        """The vocabulary size that was asked for, by which tables know it; the number of tokens where none was."""
        return int(self.origin.get("requested_size", len(self)))

    def __getstate__(self) -> dict[str, Any]:
        """What a tokenizer is made of: kernels are made anew of it, and what encoders have learnt stays behind."""
        return {
            "vocabulary": self.vocabulary,
            "pretokenization": self.pretokenization,
            "segmentation": self.segmentation,
            "options": self.options,
            "name": self.name,
            "origin": self.origin,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]

    def __len__(self) -> int:
        return len(self.vocabulary)

    @property
    def id_limit(self) -> int:
        """One more than the largest id: the number of tokens, but where the ids were given elsewhere."""
        return self._bytes.id_limit

    @property
    def ids_given(self) -> bool:
        """Whether its ids were given elsewhere, rather than being places in the vocabulary."""
        return self.vocabulary.ids is not None

    @property
    def named(self) -> Vocabulary | Named:
        """The tokens and their ids, for tables: of one that works through another library what that calls them."""
        return self.vocabulary

    @property
    def entries(self) -> int:
        """Ids that some text may give, among which models by counts share what is left to the unseen."""
        return len(self)

    @property
    def lossless(self) -> bool:
        """Whether decoding gives back every text, byte for byte, whatever it is."""
        return True

    def bytes_lost(self, text: bytes) -> int:
        """Bytes of a text that are not found again, in order, in what its ids decode to: at most so many."""
        return 0

    @property
    def end_of_text(self) -> int:
        """The id that ends each document of what models are trained on, which no text gives.

        It follows all others, except for an imported tokenizer that has an end of text.
        """
        return self.end_and_padding[self.end_token]

    @property
    def end_token(self) -> str:
        """Name of the token that ends each document."""
        return end_token(self.origin)

    @property
    def end_and_padding(self) -> dict[str, int]:
        """Ids of the end of text and of the padding, by name."""
        return special_tokens(self.id_limit, self.vocabulary.special, self.origin)

    def __repr__(self) -> str:
        return f"Tokenizer({self.name!r}, {self.scheme.label}, {len(self)} tokens, {self.segmentation})"

    def _repr_html_(self) -> str:
        """Return the line of ``repr``, and the longest tokens."""
        return html_of(repr(self), [token for token in self.named.tokens if len(token) > 1])

    def __call__(self, text: bytes | str, threads: int = 1) -> NDArray[np.int32]:
        """Return the ids of a text, as :meth:`encode` does."""
        return self.encode(text, threads)

    def tokenize(self, text: bytes | str) -> list[str]:
        r"""Return the tokens of a text; bytes of a token that are not UTF-8 are escaped, as in ``\xc3``."""
        ids = self.encode(text).tolist()
        spelt = {one: self._bytes_of(one).decode("utf-8", "backslashreplace") for one in dict.fromkeys(ids)}
        return [spelt[one] for one in ids]

    def _bytes_of(self, one: int) -> bytes:
        return self.decode([one])

    def encode(self, text: bytes | str, threads: int = 1) -> NDArray[np.int32]:
        """Ids of a text, int32 [tokens]. A ``str`` is taken as its UTF-8 bytes.

        They are places in the vocabulary, or the ids that it has of its own, as those have that were made elsewhere.

        How pre-tokens were cut is remembered for later texts, of up to 200,000 of them for each thread in at most
        50 MB. The ids do not depend on it, nor does it go along when the tokenizer is saved, pickled or copied.

        Raises:
            TokbenchError: it is no text, or a pre-token has 2 GiB or more.
        """
        return self._encoder.encode(as_bytes(text), threads)

    def count(self, text: bytes | str, threads: int = 1) -> int:
        """How many tokens a text has: the length of what :meth:`encode` gives, in less memory."""
        return self._encoder.count(as_bytes(text), threads)

    def encode_batch(self, texts: Iterable[bytes | str], threads: int = 1) -> list[NDArray[np.int32]]:
        """Ids of each text, in order; threads share the texts out in groups.

        Raises:
            TokbenchError: they are a single text, or one of them is none.
        """
        return self._encoder.encode_batch(map(as_bytes, require_texts(texts)), threads)

    def offsets(self, text: bytes | str, threads: int = 1) -> NDArray[np.int64]:
        """Where the tokens of a text start in its bytes, int64 [tokens + 1]; the last entry is the number of its bytes.

        Token i of what :meth:`encode` gives is ``text[offsets[i] : offsets[i + 1]]``, of a ``str`` its UTF-8 bytes.
        """
        return self._bytes.borders(self.encode(text, threads))

    def byte_offsets(self, text: bytes | str, threads: int = 1) -> NDArray[np.int64]:
        """Where each token starts and ends in the bytes of a text, int64 [tokens, 2].

        Of ours these are the places of :meth:`offsets`; tokens of another library need not lie end to end.
        """
        borders = self.offsets(text, threads)
        return np.stack([borders[:-1], borders[1:]], axis=1)

    def character_offsets(self, text: str, threads: int = 1) -> NDArray[np.int64]:
        """Where each token starts and ends in the characters of a text, int64 [tokens, 2].

        A token that begins or ends inside a character spans the character as a whole.
        """
        return character_spans(require_str(text), self.offsets(text, threads))

    def last_cut(self, text: bytes) -> int:
        """The last place where a text may be cut so that its two parts, encoded one after the other, give its ids.

        It is such a place whatever precedes and follows the text. 0 where there is none, as with pre-tokenizations
        that no kernel scans and methods that draw at random by place.
        """
        return self._encoder.last_cut(as_bytes(text))

    def decode(self, ids: ArrayLike) -> bytes:
        """The bytes of a sequence of ids.

        Raises:
            TokbenchError: an id is not in the vocabulary, or is no whole number.
        """
        return self._bytes.decode(ids)

    def decode_text(self, ids: ArrayLike, errors: str = "replace") -> str:
        """Return the text of a sequence of ids as ``str``.

        Args:
            ids: the ids.
            errors: what to do with bytes that are not UTF-8, as in ``bytes.decode`` (default: U+FFFD in their place).

        Raises:
            TokbenchError: an id is not in the vocabulary, or is no whole number.
        """
        return self.decode(ids).decode("utf-8", errors)

    def segment(self, counts: "PretokenCounts", threads: int = 1) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Segment unique pre-tokens, each once.

        Returns:
            ids: int32 [tokens], the segmentations laid end to end in the order of ``counts``; a token's place in the
                vocabulary, where it has ids of its own too.
            bounds: int64 [n + 1], where each pre-token's ids start.

        Raises:
            TokbenchError: ``threads`` is not a whole number from 1 to 1024.
        """
        threads = whole_argument("threads", threads, 1, MOST_THREADS)
        edges = np.linspace(0, len(counts), min(PARTS, max(1, len(counts))) + 1).astype(np.int64)

        def part(index: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
            offsets = counts.offsets[edges[index] : edges[index + 1] + 1]
            return self._segmenter.segment(counts.data, np.ascontiguousarray(offsets))

        parts = list(parallel_map(part, range(len(edges) - 1), threads))
        lengths = [np.diff(bounds) for _, bounds in parts]
        bounds = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.concatenate(lengths))])
        return np.concatenate([ids for ids, _ in parts]), bounds

    def save(self, folder: Path | str, *, configuration: bool = True) -> None:
        """Write the tokenizer's files into a folder, which is made if it is missing.

        Files of a tokenizer that was saved there before go, all others stay. ``tokbench.json`` is the last to be
        written, and none before all can be.

        Args:
            folder: where the files go.
            configuration: write ``tokenizer_config.json`` too, by which ``transformers.AutoTokenizer`` finds our class.

        Raises:
            TokbenchError: files of something else stand in the way, or there is no space left.
        """
        folder = Path(folder)
        place_of_folder(folder)
        stale = stale_files(folder / SETTINGS, configuration)
        with atomic_files(folder, "tokenizer", last=SETTINGS, stale=stale) as partial:
            self.vocabulary.write(partial)
            settings = {
                "name": self.name,
                "pretokenization": self.scheme.setting,
                "segmentation": {
                    "method": self.segmentation,
                    **self.options.model_dump(mode="json", exclude={"method"}),
                },
                "size": len(self),
                "origin": self.origin,
            }
            (partial / SETTINGS).write_text(sealed(settings, partial), encoding="utf-8")
            if configuration:
                write_configuration(partial, end=self.end_token)
            stale += outdated_export(folder / SETTINGS, partial)

    @classmethod
    def load(cls, folder: Path | str) -> "Tokenizer":
        """Read a tokenizer's folder; one that works through another library comes as an ``AdaptedTokenizer``.

        Raises:
            TokbenchError: the folder is none of ours, or its vocabulary or its settings are not those that were saved.
        """
        folder = Path(folder)
        if is_adapted(folder):
            return adapted(folder)
        settings = read_settings(folder)
        try:
            method = segmentations[settings.segmentation.method]
            scheme = pretokenization_of(settings.pretokenization)
        except TokbenchError as error:
            raise TokbenchError(f"{folder / SETTINGS}: {error}") from None
        options = settings.options(method, folder)
        vocabulary = Vocabulary.read(folder)
        settings.check(folder, len(vocabulary))
        return cls(
            vocabulary,
            scheme,
            method.name,
            options,
            name=settings.name,
            origin=settings.origin,
        )


def adapted(folder: Path) -> Tokenizer:
    """A tokenizer that works through another library."""
    module = importlib.import_module(
        "tokbench.adapters.adapted_tokenizer"
    )  # By name: no command is to depend on libraries.
    loaded: Tokenizer = module.AdaptedTokenizer.load(folder)
    return loaded
