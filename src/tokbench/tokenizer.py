"""A tokenizer: the three phases put together.

A pre-tokenization cuts a text into pre-tokens, a segmentation cuts each pre-token into tokens of a vocabulary. Any
bytes can be encoded, and decoding gives back exactly the bytes that were encoded.
"""

import hashlib
import json
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tokbench.pretokenization import schemes
from tokbench.pretokens import PretokenCounts
from tokbench.registry import Options, TokbenchError
from tokbench.segmentation import Segmenter, segmentations
from tokbench.tokens import VOCABULARY_FILES, Vocabulary

SETTINGS = "tokbench.json"
FORMAT = 1
PARTS = 64
"""Parts into which unique pre-tokens are cut for threads; fixed, though the result does not depend on it."""


class Tokenizer:
    """Pre-tokenization, vocabulary and segmentation.

    Args:
        vocabulary: the tokens, with what the segmentation needs.
        pretokenization: name of the scheme.
        segmentation: name of the segmentation.
        options: the segmentation's options; its defaults where left out.
        name: what tables call this tokenizer.
        origin: what made it, kept with it when it is saved: any JSON values.

    Raises:
        TokbenchError: the segmentation needs merges or scores and the vocabulary has none.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        pretokenization: str,
        segmentation: str,
        options: Options | None = None,
        *,
        name: str = "",
        origin: dict[str, Any] | None = None,
    ) -> None:
        method = segmentations[segmentation]
        needs = method.traits["needs"]
        if needs and getattr(vocabulary, needs) is None:
            raise TokbenchError(f"segmentation '{segmentation}' needs {needs}, which this vocabulary does not have")
        self.vocabulary = vocabulary
        self.pretokenization = pretokenization
        self.segmentation = segmentation
        self.options = options or method.options()
        self.name = name
        self.origin = origin or {}
        self._boundaries = schemes[pretokenization].function
        self._segmenter: Segmenter = method.function(vocabulary, self.options)

    def __len__(self) -> int:
        return len(self.vocabulary)

    def __repr__(self) -> str:
        return f"Tokenizer({self.name!r}, {self.pretokenization}, {len(self)} tokens, {self.segmentation})"

    def encode(self, text: bytes | str) -> NDArray[np.int32]:
        """Ids of a text, int32 [tokens]. A ``str`` is taken as its UTF-8 bytes."""
        data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else bytes(text)
        ids, _ = self._segmenter.segment(np.frombuffer(data, np.uint8), self._boundaries(data))
        return ids

    def encode_batch(self, texts: Iterable[bytes | str], threads: int = 1) -> list[NDArray[np.int32]]:
        """Ids of each text, in order."""
        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(self.encode, texts))

    def decode(self, ids: ArrayLike) -> bytes:
        """The bytes of a sequence of ids.

        Raises:
            TokbenchError: an id is not in the vocabulary.
        """
        values = np.asarray(ids, dtype=np.int64).ravel()
        if values.size and not 0 <= int(values.min()) <= int(values.max()) < len(self):
            wrong = next(value for value in values.tolist() if not 0 <= value < len(self))
            raise TokbenchError(f"id {wrong} is not in the vocabulary (0 to {len(self) - 1})")
        tokens = self.vocabulary.tokens
        return b"".join([tokens[value] for value in values.tolist()])

    def segment(self, counts: PretokenCounts, threads: int = 1) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Segment unique pre-tokens, each once.

        Returns:
            ids: int32 [tokens], the segmentations laid end to end in the order of ``counts``.
            bounds: int64 [n + 1], where each pre-token's ids start.
        """
        edges = np.linspace(0, len(counts), min(PARTS, max(1, len(counts))) + 1).astype(np.int64)

        def part(index: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
            offsets = counts.offsets[edges[index] : edges[index + 1] + 1]
            return self._segmenter.segment(counts.data, np.ascontiguousarray(offsets))

        with ThreadPoolExecutor(threads) as pool:
            parts = list(pool.map(part, range(len(edges) - 1)))
        lengths = [np.diff(bounds) for _, bounds in parts]
        bounds = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.concatenate(lengths))])
        return np.concatenate([ids for ids, _ in parts]), bounds

    def save(self, folder: Path) -> None:
        """Write the tokenizer's files into an existing folder."""
        self.vocabulary.write(folder)
        settings = {
            "format": FORMAT,
            "name": self.name,
            "pretokenization": self.pretokenization,
            "segmentation": {"method": self.segmentation, **self.options.model_dump(mode="json", exclude={"method"})},
            "size": len(self),
            "sha256": _digest(folder),
            "origin": self.origin,
        }
        (folder / SETTINGS).write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: Path | str) -> "Tokenizer":
        """Read a tokenizer's folder.

        Raises:
            TokbenchError: the folder is none of ours, or its vocabulary is not the one that was saved.
        """
        folder = Path(folder)
        try:
            settings = json.loads((folder / SETTINGS).read_text(encoding="utf-8"))
            segmentation = dict(settings["segmentation"])
            method = segmentations[segmentation.pop("method")]
            options = method.options(**segmentation)
        except FileNotFoundError:
            raise TokbenchError(f"{folder}: no tokenizer here ({SETTINGS} is missing); build one") from None
        except (ValueError, KeyError, TypeError) as error:
            raise TokbenchError(
                f"{folder / SETTINGS}: damaged ({' '.join(repr(error).split())}); build the tokenizer again"
            ) from None
        if settings.get("format") != FORMAT:
            raise TokbenchError(
                f"{folder / SETTINGS}: format {settings.get('format')!r} is not {FORMAT}; build it again"
            )
        vocabulary = Vocabulary.read(folder)
        if _digest(folder) != settings["sha256"]:
            raise TokbenchError(f"{folder}: the vocabulary is not the one that was saved; build the tokenizer again")
        return cls(
            vocabulary,
            settings["pretokenization"],
            method.name,
            options,
            name=settings["name"],
            origin=settings["origin"],
        )


def _digest(folder: Path) -> str:
    """Checksum of every file of the vocabulary."""
    files = [folder / name for name in VOCABULARY_FILES if (folder / name).is_file()]
    return hashlib.sha256(b"".join(file.name.encode() + file.read_bytes() for file in files)).hexdigest()
