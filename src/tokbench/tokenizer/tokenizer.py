"""Tokenizers in three phases: a pre-tokenization, a vocabulary and a segmentation.

The pre-tokenization splits a text into pre-tokens. The segmentation splits each pre-token into tokens of the
vocabulary. Any bytes can be encoded, and decoding returns exactly the bytes that were encoded. External tokenizers may
normalise texts first; decoding then returns the normalised text.
"""

from collections.abc import Iterable, Sequence
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tokbench.errors import TokbenchError
from tokbench.io.identity import digest_of
from tokbench.io.numbers import MOST_THREADS, whole_argument
from tokbench.kernels.loss import bytes_lost
from tokbench.kernels.threads import parallel_map
from tokbench.pretokenization import Pretokenization, Setting, pretokenization_of
from tokbench.segmentation import Segmenter, segmentations, with_added_tokens
from tokbench.tokenizer.encoder import (
    TextEncoder,
    TokenBytes,
    TokenSpans,
    as_bytes,
    character_spans,
    html_of,
    require_str,
    require_texts,
    shown,
)
from tokbench.tokenizer.folder import ADAPTED, SETTINGS, is_adapted, outdated_export, read_settings, sealed, stale_files
from tokbench.tokenizer.hugging_face import end_token, special_tokens, write_configuration
from tokbench.tokenizer.normalization import Normalization
from tokbench.vocabulary import NamedTokens, TokenList, Vocabulary

if TYPE_CHECKING:
    from tokbench.options import Options
    from tokbench.pretokens import PretokenCounts

MEASURE = "measure it on documents, with 'tokbench measure --documents' or 'tokbench compare'"
PARTS = 64
"""Number of parts into which unique pre-tokens are split for threads. The result does not depend on it."""
OTHER_FORMATS: "dict[str, type[Tokenizer]]" = {}
"""Classes of tokenizers whose folders have another format, by the format; each class adds itself."""


class Tokenizer:
    """Tokenizer made of a pre-tokenization, a vocabulary and a segmentation.

    Args:
        vocabulary: Tokens, with the merges, scores or events that the segmentation needs.
        pretokenization: Name of a pre-tokenization, or a mapping with its ``method`` and options.
        segmentation: Name of the segmentation.
        options: Options of the segmentation (default: its default options).
        name: Name of the tokenizer in tables (default: empty).
        origin: Record of how the tokenizer was made, saved with it; any JSON values (default: empty).
        normalization: Steps that change a text before pre-tokenization, see
            :mod:`tokbench.tokenizer.normalization` (default: none).

    Attributes:
        scheme: Pre-tokenization, as an object.
        pretokenization: Setting of the pre-tokenization on one line, as stored in files of counts.

    Raises:
        TokbenchError: There is no such method, ``options`` are of another class, or the vocabulary lacks the merges,
            scores or events that the segmentation needs.

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
        options: "Options | None" = None,
        *,
        name: str = "",
        origin: dict[str, Any] | None = None,
        normalization: Sequence[str] = (),
    ) -> None:
        method = segmentations[segmentation]
        if options is not None and not isinstance(options, method.options):
            raise TokbenchError(
                f"options {shown(options)}: not an instance of the options; pass {method.options.__name__}"
            )
        needs = method.needs
        if needs and getattr(vocabulary, needs) is None:
            raise TokbenchError(f"segmentation '{segmentation}' needs {needs}, which this vocabulary does not have")
        self.vocabulary = vocabulary
        self.scheme = pretokenization_of(pretokenization)
        self.pretokenization = self.scheme.text
        self.segmentation = segmentation
        self._options = method.defaults() if options is None else options
        self.name = name
        self.origin = origin or {}
        flags = [] if vocabulary.added is None else vocabulary.added.tolist()
        self.normalization = Normalization(normalization, compress(vocabulary.tokens, flags))
        self._segmenter: Segmenter = with_added_tokens(
            method.function(vocabulary, self._options), vocabulary, segmentation
        )
        self._encoder = TextEncoder(self.scheme, self._segmenter, vocabulary, self.normalization)
        self._bytes = TokenBytes(vocabulary)

    @property
    def options(self) -> "Options":
        """Options of the segmentation."""
        given: Options = segmentations[self.segmentation].options() if self._options is None else self._options
        return given

    normalization: Normalization = Normalization()
    """Steps that change a text before pre-tokenization. Default: none."""
    _digest: str | None = None
    library_name: str = ""
    """Name of the external library that encodes the texts. Default: empty, for Tokbench's own kernels."""

    @property
    def nominal_size(self) -> int:
        """Requested vocabulary size, as shown in tables; the number of tokens if no size was requested."""
        return int(self.origin.get("requested_size", len(self)))

    def __getstate__(self) -> dict[str, Any]:
        """Return the constructor's arguments. Kernels and caches are rebuilt from them."""
        return {
            "vocabulary": self.vocabulary,
            "pretokenization": self.pretokenization,
            "segmentation": self.segmentation,
            "options": self._options,
            "name": self.name,
            "origin": self.origin,
            "normalization": self.normalization.steps,
        }

    def __copy__(self) -> Self:
        """Return a tokenizer that shares vocabulary and kernels with this one, with an empty cache."""
        copied = object.__new__(type(self))
        copied.__dict__.update(self.__dict__)
        copied._encoder = TextEncoder(self.scheme, self._segmenter, self.vocabulary, self.normalization)
        return copied

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]

    def __len__(self) -> int:
        return len(self.vocabulary)

    @property
    def id_limit(self) -> int:
        """Largest id + 1. Equal to the number of tokens, unless the vocabulary has explicit ids."""
        return self._bytes.id_limit

    @property
    def has_explicit_ids(self) -> bool:
        """True if the vocabulary has explicit ids, False if an id is the token's index in the vocabulary."""
        return self.vocabulary.ids is not None

    @property
    def named(self) -> Vocabulary | NamedTokens:
        """Tokens and their ids, for tables. An adapted tokenizer returns the names used by its library."""
        return self.vocabulary

    @property
    def entries(self) -> int:
        """Number of ids that can occur in a text. n-gram models spread the probability of unseen tokens over them."""
        return len(self)

    @property
    def segments_documents(self) -> bool:
        """True if tokens may span pre-tokens. Counts of pre-tokens then do not suffice to measure the tokenizer."""
        return segmentations[self.segmentation].segments_documents

    @property
    def pretokenizer_label(self) -> str:
        """Name of the pre-tokenizer for tables; a tokenizer that works through a library has its own."""
        return self.scheme.label

    @property
    def lossless(self) -> bool:
        """True if decoding returns every text byte for byte; False for a tokenizer that normalises texts."""
        return not self.normalization

    @property
    def can_decode(self) -> bool:
        """Whether :meth:`decode` works. False for functions of the user without a ``decode``."""
        return True

    def require_decode(self) -> None:
        """Raise an error if :meth:`decode` does not work.

        Raises:
            TokbenchError: it does not; the message names the remedy.
        """

    def restored(self, ids: NDArray[np.int32]) -> bytes:
        """Return the decoded ids; nothing if the tokenizer cannot decode."""
        return self.decode(ids) if self.can_decode else b""

    def bytes_lost(self, text: bytes) -> int:
        """Return an upper bound on the bytes of a text that its decoded ids lack, in order; 0 without normalization."""
        decoded = self.normalization.restored(self.normalization(text)) if self.normalization else text
        return 0 if decoded == text else bytes_lost(text, decoded)

    @property
    def end_of_text(self) -> int:
        """Id that ends each document of the training data; no text encodes to it.

        The id follows all others, unless an imported tokenizer has its own end of text.
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
        steps = "".join(f"{step} + " for step in self.normalization.steps)
        return f"Tokenizer({self.name!r}, {steps}{self.scheme.label}, {len(self)} tokens, {self.segmentation})"

    def _repr_html_(self) -> str:
        """Return the line of ``repr`` and the longest tokens as HTML."""
        return html_of(repr(self), [token for token in self.named.tokens if len(token) > 1])

    def __call__(self, text: bytes | str, threads: int = 1) -> NDArray[np.int32]:
        """Return the ids of a text, as :meth:`encode` does."""
        return self.encode(text, threads)

    def tokenize(self, text: bytes | str) -> list[str]:
        r"""Return the tokens of a text as strings. Bytes that are not UTF-8 are escaped, as in ``\xc3``."""
        ids = self.encode(text).tolist()
        spelt = {
            token_id: self._bytes_of(token_id).decode("utf-8", "backslashreplace") for token_id in dict.fromkeys(ids)
        }
        return [spelt[token_id] for token_id in ids]

    def _bytes_of(self, token_id: int) -> bytes:
        return self._bytes.decode([token_id])

    def encode(self, text: bytes | str, threads: int = 1) -> NDArray[np.int32]:
        """Return the ids of a text, int32 [tokens]. A ``str`` is encoded as UTF-8 first.

        An id is the token's index in the vocabulary, or its explicit id if the vocabulary has explicit ids.

        Segmentations of pre-tokens are cached for later texts: up to 800,000 pre-tokens or 205 MB per thread. The ids
        do not depend on the cache. The cache is not saved, pickled or copied.

        Args:
            text: The text.
            threads: Number of threads, 1 to 1024 (default: 1).

        Raises:
            TokbenchError: ``text`` is not text, a pre-token has 2 GiB or more, or ``threads`` is out of range.
        """
        return self._encoder.encode(as_bytes(text), threads)

    def count(self, text: bytes | str, threads: int = 1) -> int:
        """Return the number of tokens of a text: the length of :meth:`encode`'s result, using less memory."""
        return self._encoder.count(as_bytes(text), threads)

    def encode_batch(self, texts: Iterable[bytes | str], threads: int = 1) -> list[NDArray[np.int32]]:
        """Return the ids of each text, in order, int32 [tokens] each.

        Arrays of neighbouring texts share one block of memory, which is freed with the last of them. Threads process
        groups of texts. :meth:`encode_flat` returns a single array.

        Raises:
            TokbenchError: ``texts`` is a single text, or an item is not text.
        """
        return self._encoder.encode_batch(map(as_bytes, require_texts(texts)), threads)

    def encode_flat(
        self, texts: Iterable[bytes | str], threads: int = 1
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return the ids of several texts as one array.

        Returns:
            ids: int32 [tokens], concatenated ids of the texts.
            bounds: int64 [texts + 1]; the ids of text i are ``ids[bounds[i] : bounds[i + 1]]``.

        Raises:
            TokbenchError: ``texts`` is a single text, or an item is not text.
        """
        return self._encoder.encode_flat(map(as_bytes, require_texts(texts)), threads)

    def offsets(self, text: bytes | str, threads: int = 1) -> NDArray[np.int64]:
        """Return the start of each token in the bytes of a text, int64 [tokens + 1]; the last entry is the text's
        length.

        Token i of :meth:`encode`'s result is ``text[offsets[i] : offsets[i + 1]]``. A ``str`` is encoded as UTF-8
        first. A token that begins inside a part that normalization changes starts at the end of that part.
        """
        borders = self._bytes.borders(self.encode(text, threads))
        return self.normalization.origins(as_bytes(text), borders) if self.normalization else borders

    def byte_offsets(self, text: bytes | str, threads: int = 1) -> NDArray[np.int64]:
        """Return the start and end of each token in the bytes of a text, int64 [tokens, 2].

        For this class they follow from :meth:`offsets`. Tokens of an adapted tokenizer may overlap or leave gaps.
        """
        borders = self.offsets(text, threads)
        return np.stack([borders[:-1], borders[1:]], axis=1)

    def encode_spans(self, text: bytes | str) -> TokenSpans:
        """Return the ids of a text and the bytes that each token covers.

        All tokens of this class are placed, unless normalization changes their text. Those of an adapted tokenizer are
        not if the library changes it.
        """
        ids = self.encode(text)
        borders = self._bytes.borders(ids)
        if self.normalization:
            borders = self.normalization.origins(as_bytes(text), borders)
            return TokenSpans(ids, np.stack([borders[:-1], borders[1:]], axis=1), borders[1:] > borders[:-1])
        return TokenSpans(ids, np.stack([borders[:-1], borders[1:]], axis=1), np.ones(len(ids), np.bool_))

    def encode_word(self, word: bytes) -> TokenSpans:
        """Encode one word as a text; spans refer to the word after a space.

        The text begins with that space, unless normalization or an adapted tokenizer adds it.
        """
        if self.normalization.prefix:
            ids = self.encode(word)
            borders = self._bytes.borders(ids)
            if borders[-1] == len(word) + 1:
                return TokenSpans(ids, np.stack([borders[:-1], borders[1:]], axis=1), np.ones(len(ids), np.bool_))
        return self.encode_spans(b" " + word)

    @property
    def listed(self) -> Vocabulary | TokenList | None:
        """Tokens by their bytes within a text; None if an adapted tokenizer does not know them."""
        return self.vocabulary

    @property
    def words_by(self) -> Pretokenization:
        """Pre-tokenization whose pre-tokens are the words of a text; ``gpt2`` for an adapted tokenizer."""
        return self.scheme

    @property
    def unknown_id(self) -> int | None:
        """Id of the unknown token. None for this class, which has none."""
        return None

    def normalized(self, text: bytes) -> bytes:
        """Return a text as the tokenizer normalises it, without a space that it adds."""
        return self.normalization.inside(text)

    def character_offsets(self, text: str, threads: int = 1) -> NDArray[np.int64]:
        """Return the start and end of each token in the characters of a text, int64 [tokens, 2].

        A token that begins or ends inside a character spans that full character.

        Raises:
            TokbenchError: ``text`` is not a ``str``.
        """
        return character_spans(require_str(text), self.offsets(text, threads))

    def last_cut(self, text: bytes) -> int:
        """Return the last position at which a text can be split without changing its ids.

        The ids of the two parts are those of the text, also inside a longer text. Returns 0 if no position is
        known. This is the case for pre-tokenizations without a kernel scanner, for segmentations of documents, and
        for methods that draw at random by position.
        """
        return 0 if self.segments_documents else self._encoder.last_cut(as_bytes(text))

    def decode(self, ids: ArrayLike) -> bytes:
        """Return the bytes of a sequence of ids, without a space that normalization added.

        Raises:
            TokbenchError: an id is not in the vocabulary or not an integer.
        """
        return self.normalization.restored(self._bytes.decode(ids))

    def decode_text(self, ids: ArrayLike, errors: str = "replace") -> str:
        """Return the text of a sequence of ids as ``str``.

        Args:
            ids: The ids, integers [tokens].
            errors: Handling of bytes that are not UTF-8, as in ``bytes.decode`` (default: replaced with U+FFFD).

        Raises:
            TokbenchError: an id is not in the vocabulary or not an integer.
        """
        return self.decode(ids).decode("utf-8", errors)

    def segment(self, counts: "PretokenCounts", threads: int = 1) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Segment unique pre-tokens, each once.

        Args:
            counts: The pre-tokens.
            threads: Number of threads, 1 to 1024 (default: 1).

        Returns:
            ids: int32 [tokens], concatenated segmentations in the order of ``counts``. An id here is the token's index
                in the vocabulary, even if the vocabulary has explicit ids.
            bounds: int64 [n + 1], start of each pre-token's ids.

        Raises:
            TokbenchError: ``threads`` is not an integer from 1 to 1024, or the tokenizer segments documents.
        """
        if self.segments_documents:
            raise TokbenchError(
                f"{self.name or 'the tokenizer'} joins pre-tokens of a document (segmentation '{self.segmentation}'), "
                f"so no pre-token has a segmentation of its own; {MEASURE}"
            )
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
        """Save the tokenizer to a folder, which is created if it is missing.

        Files of a tokenizer saved there before are removed; all other files stay. ``tokbench.json`` is written last,
        and only after all other files succeeded.

        Args:
            folder: Output folder.
            configuration: Write ``tokenizer_config.json`` as well, so that ``transformers.AutoTokenizer`` finds our
                class (default: True).

        Raises:
            TokbenchError: the folder has files of the same names that are not ours, or the disk is full.
        """
        from tokbench.io.atomic import atomic_files
        from tokbench.io.output_place import place_of_folder

        folder = Path(folder)
        place_of_folder(folder)
        stale = stale_files(folder / SETTINGS, configuration)
        with atomic_files(folder, "tokenizer", last=SETTINGS, stale=stale) as partial:
            self.vocabulary.write(partial)
            settings = {
                "name": self.name,
                "size": len(self),
                "origin": self.origin,
                **self._settings(),
            }
            (partial / SETTINGS).write_text(sealed(settings, partial), encoding="utf-8")
            if configuration:
                write_configuration(partial, end=self.end_token)
            stale += outdated_export(folder / SETTINGS, partial)

    @property
    def digest(self) -> str:
        """SHA-256 of everything that determines the ids of every text, in hexadecimal digits.

        These are the vocabulary, the segmentation with its options, the pre-tokenization, the normalization and the ids
        of end of text and padding. Name and origin do not count, so a copy of a tokenizer has its digest.
        """
        if self._digest is None:
            self._digest = digest_of({"vocabulary": self.vocabulary.digest, **self._settings(), **self._ends()})
        return self._digest

    def _settings(self) -> dict[str, Any]:
        """Return the entries of ``tokbench.json`` that ids follow from."""
        return {
            "pretokenization": self.scheme.setting,
            "segmentation": {"method": self.segmentation, **self._option_values()},
            **({"normalization": self.normalization.steps} if self.normalization else {}),
        }

    def _ends(self) -> dict[str, Any]:
        return {"end_and_padding": self.end_and_padding}

    def _option_values(self) -> dict[str, Any]:
        return {} if self._options is None else self._options.model_dump(mode="json", exclude={"method"})

    @classmethod
    def load(cls, folder: Path | str) -> "Tokenizer":
        """Load a tokenizer from a folder. A tokenizer that uses an external library is returned as an
        ``AdaptedTokenizer``.

        Raises:
            TokbenchError: the folder is not a tokenizer folder, or its vocabulary or settings have changed since it was
                saved.
        """
        folder = Path(folder)
        if is_adapted(folder):
            return OTHER_FORMATS[ADAPTED].load(folder)
        settings = read_settings(folder)
        try:
            method = segmentations[settings.method]
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
            normalization=settings.normalization,
        )
