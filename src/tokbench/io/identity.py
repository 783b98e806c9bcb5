"""Identity: which tokenizer, text or model a file was made from, by digest.

Files of ids, of counts by tokenizer, of scores, and models have no meaning without their makers. Such a file names the
digests of its makers under the key ``made_from``: in JSON, in the metadata of Parquet, or in the ``config.json`` of a
model. Every reader that also gets a maker compares the two with :func:`require_same`. Names of files and folders do not
matter, so the commands protect in the same way as the workflow. Digests are computed from content, not from times,
paths or names, so equal makers have equal digests.

A digest is a SHA-256 in hexadecimal digits:

- tokenizer: of everything that determines its ids, see :attr:`tokbench.tokenizer.tokenizer.Tokenizer.digest`;
- text: of the number of each byte in it, see :class:`TextDigest`;
- model: of its weights, see :func:`model_digest`.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from tokbench.errors import TokbenchError
from tokbench.io.folder_record import kind_of, recorded_sums, sha256
from tokbench.io.json import read_json

Role = Literal[
    "tokenizer", "source_tokenizer", "target_tokenizer", "longer_tokenizer", "text", "training_text", "model"
]
"""Role of a maker in a file: the tokenizer, the text that was measured or trained on, or the model."""
Makers = Mapping[str, str]
"""Digests by role."""
MADE_FROM = "made_from"
"""Key of the makers in a JSON object."""
METADATA = b"tokbench.made_from"
"""Key of the makers in the metadata of a Parquet file."""
SHOWN = 12
"""Digits of a digest in a message."""
WEIGHTS = (".npy", ".safetensors")
"""Endings of the files with the weights of a model, or with the counts of an n-gram model."""
NUMBERS = b"tokbench.byte_numbers"
"""Key of the numbers of each byte in the metadata of a Parquet file, for files with a part of a text."""
PIECE = 1 << 16
"""Bytes of a text that are counted at a time."""
Item = TypeVar("Item")


class Maker(NamedTuple):
    """A maker that is at hand.

    Attributes:
        digest: its digest.
        place: its file or folder, for messages.
    """

    digest: str
    place: Path | str


def digest_of(content: Mapping[str, Any]) -> str:
    """Return the digest of a JSON object; the order of its keys does not matter."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def made_from(**makers: str) -> dict[str, Makers]:
    """Return the entry of a JSON object that names its makers, given by role; empty without makers."""
    return {MADE_FROM: makers} if makers else {}


def metadata_of(**makers: str) -> dict[str, str]:
    """Return the metadata of a Parquet file that name its makers, given by role."""
    return {METADATA.decode(): json.dumps(makers, sort_keys=True)}


def makers_in(content: Mapping[str, Any]) -> Makers:
    """Return the makers named in a JSON object; empty if it names none."""
    return _valid(content.get(MADE_FROM))


def makers_of_metadata(metadata: Mapping[bytes, bytes] | None) -> Makers:
    """Return the makers named in the metadata of a Parquet file; empty if they name none."""
    try:
        return _valid(json.loads((metadata or {})[METADATA]))
    except (KeyError, ValueError):
        return {}


def _valid(makers: Any) -> Makers:
    if not isinstance(makers, dict) or not all(isinstance(digest, str) for digest in makers.values()):
        return {}
    return makers


def require_same(file: Path | str, makers: Makers, role: Role, maker: Maker, remedy: str) -> None:
    """Check that a file was made from a given maker.

    Args:
        file: the file, for the message.
        makers: makers that the file names.
        role: role of the maker.
        maker: the maker, or another file that names it.
        remedy: advice if they differ.

    Raises:
        TokbenchError: the file does not name a maker of this role, or names another one.
    """
    what = role.replace("_", " ")
    if not (digest := makers.get(role)):
        raise TokbenchError(f"{file}: does not name its {what}; {remedy}")
    if digest != maker.digest:
        digests = f"{digest:.{SHOWN}}, not {maker.digest:.{SHOWN}}"
        raise TokbenchError(f"{file}: made with another {what} than {maker.place} ({digests}); {remedy}")


class TextDigest:
    """Digest of a text: SHA-256 of the number of each of the 256 bytes in it.

    Order, shards and pre-tokenization do not matter, so documents, byte scores and pre-token counts of one text have
    one digest. Two texts with equal numbers of every byte have equal digests; corpora that differ have different ones.
    """

    def __init__(self) -> None:
        self._numbers = np.zeros(256, np.int64)

    def add(self, text: bytes) -> None:
        """Add a part of the text."""
        for first in range(0, len(text), PIECE):
            piece = np.frombuffer(text, np.uint8, min(PIECE, len(text) - first), first)
            self._numbers += np.bincount(piece, minlength=256)

    def add_counts(self, data: NDArray[np.uint8], offsets: NDArray[np.int64], counts: NDArray[np.int64]) -> None:
        """Add pre-tokens with their counts, the arrays of :class:`tokbench.pretokens.PretokenCounts`."""
        start = 0
        while start < len(counts):
            end = int(np.searchsorted(offsets, offsets[start] + PIECE, "right")) - 1
            if end > start:
                times = np.repeat(counts[start:end], np.diff(offsets[start : end + 1]))
                np.add.at(self._numbers, data[offsets[start] : offsets[end]], times)
            else:  # A pre-token that is longer than a piece.
                end = start + 1
                for first in range(int(offsets[start]), int(offsets[end]), PIECE):
                    piece = data[first : min(first + PIECE, int(offsets[end]))]
                    self._numbers += np.bincount(piece, minlength=256) * counts[start]
            start = end

    def watched(self, texts: Iterable[Item], text_of: Callable[[Item], bytes]) -> Iterator[Item]:
        """Yield items, and take the text of each, ``text_of(item)``. Each pass over a text begins from nothing."""
        self._numbers[:] = 0
        for item in texts:
            self.add(text_of(item))
            yield item

    def metadata(self) -> dict[str, str]:
        """Return the metadata of a Parquet file with a part of a text."""
        return {NUMBERS.decode(): json.dumps(self._numbers.tolist())}

    def add_metadata(self, metadata: Mapping[bytes, bytes] | None) -> None:
        """Add the part of the text in a Parquet file with :meth:`metadata`; nothing without them."""
        self._numbers += np.array(json.loads((metadata or {}).get(NUMBERS, b"0")), np.int64)

    def hexdigest(self) -> str:
        """Return the digest."""
        return hashlib.sha256(self._numbers.astype("<i8").tobytes()).hexdigest()


def require_model(folder: Path, role: Role, maker: Maker, remedy: str) -> None:
    """Check that a model that Tokbench trained has a given tokenizer. Other models name none, and pass.

    Args:
        folder: folder of the model; its ``config.json`` names the tokenizer.
        role: role of the tokenizer.
        maker: the tokenizer.
        remedy: advice if it is another.

    Raises:
        TokbenchError: the model was trained with another tokenizer, or Tokbench trained it and it names none.
    """
    config = folder / "config.json"
    makers = makers_in(read_json(config, "name the folder of a model")) if config.is_file() else {}
    if makers or kind_of(folder) is not None:
        require_same(folder, makers, role, maker, remedy)


def model_digest(folder: Path) -> str:
    """Return the digest of a model's weights, from the checksums in the record of its folder if there are any."""
    known = recorded_sums(folder)
    files = sorted(path for path in folder.iterdir() if path.suffix in WEIGHTS)
    sums = [f"{path.name} {known.get(path.name) or sha256(path)}\n" for path in files]
    return hashlib.sha256("".join(sums).encode()).hexdigest()
