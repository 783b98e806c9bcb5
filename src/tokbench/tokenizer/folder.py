"""Tokenizer folders: settings, a checksum over settings and vocabulary, and files of earlier saves."""

import hashlib
import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tokbench.errors import TokbenchError
from tokbench.io.compression import read_regular
from tokbench.io.json import read_json
from tokbench.registry import Method
from tokbench.tokenizer.hugging_face import CONFIGURATION, names_another_class
from tokbench.tokenizer.normalization import STEPS
from tokbench.vocabulary import VOCABULARY_FILES

if TYPE_CHECKING:
    from tokbench.options import Options

SETTINGS = "tokbench.json"
OWN: Literal["own"] = "own"
"""Vocabulary size in the folder name of an imported tokenizer, in place of a requested size."""
ADAPTED = "adapted"
"""File of the library of a tokenizer that uses one, and the beginning of its format in ``tokbench.json``."""
AGAIN = "build the tokenizer again"
LONGEST_NAME = 200
Checks = Mapping[str, tuple[Callable[[Any], bool], str]]
EXPORTED = "tokenizer.json"
OF_TRANSFORMERS = ("added_tokens.json", "special_tokens_map.json")
"""Files that ``save_pretrained`` adds to ours. Both contain ids or names of the saved tokenizer."""


@dataclass(frozen=True)
class Settings:
    """Content of ``tokbench.json``.

    Attributes:
        name: Name of the tokenizer in tables.
        pretokenization: Name of the pre-tokenization, or a mapping with its ``method`` and options.
        segmentation: Name of the segmentation (``method``), with its options as further keys.
        size: Number of tokens in the vocabulary.
        origin: Record of how the tokenizer was made.
        format: Version of the file; 2 is written. Format 1 is read as well; its checksum covers only the vocabulary.
        sha256: Checksum of all files of the vocabulary and all other settings, in hexadecimal.
        normalization: Steps that change a text before pre-tokenization. The file lacks the key if there are none.
    """

    name: str
    pretokenization: str | dict[str, Any]
    segmentation: dict[str, Any]
    size: int
    origin: dict[str, Any]
    format: Literal[1, 2] = 2
    sha256: str = ""
    normalization: list[str] = field(default_factory=list)

    @property
    def method(self) -> str:
        """Name of the segmentation."""
        return str(self.segmentation["method"])

    def options(self, method: Method, folder: Path) -> "Options | None":
        """Return the segmentation's options; None if it has none.

        Raises:
            TokbenchError: an option is unknown, or a value is of another type.
        """
        given = {key: value for key, value in self.segmentation.items() if key != "method"}
        if method.options_class is None and not given:
            return None
        from pydantic import ValidationError

        try:
            return method.options.model_validate(given)
        except ValidationError as error:
            first = error.errors(include_url=False, include_context=False, include_input=False)[0]
            key = "segmentation." + ".".join(map(str, first["loc"]))
            raise damaged(folder / SETTINGS, key, first["msg"]) from None

    def check(self, folder: Path, size: int) -> None:
        """Check that a folder is unchanged since it was saved.

        Args:
            folder: Folder of the tokenizer.
            size: Number of tokens in its vocabulary, as read.

        Raises:
            TokbenchError: the checksum or the size differs.
        """
        if self.sha256 != self.digest(folder) or self.size != size:
            raise TokbenchError(f"{folder}: the vocabulary or the settings have changed since they were saved; {AGAIN}")

    def written(self) -> dict[str, Any]:
        """Return the values of the file; it has no ``normalization`` if there are no steps."""
        return {key: value for key, value in vars(self).items() if key != "normalization" or value}

    def digest(self, folder: Path) -> str:
        """Return the checksum of a folder's vocabulary and of these settings."""
        digest = hashlib.sha256()
        for file in (folder / name for name in VOCABULARY_FILES):
            if file.is_file():
                digest.update(file.name.encode())
                digest.update(file.read_bytes())
        if self.format > 1:
            settings = {key: value for key, value in self.written().items() if key != "sha256"}
            digest.update(json.dumps(settings, sort_keys=True).encode())
        return digest.hexdigest()


def _named(value: Any) -> bool:
    """Return whether a value is a name of 1 to 200 printable characters, or a mapping with such a ``method``."""
    name = value.get("method") if isinstance(value, dict) else value
    return isinstance(name, str) and 0 < len(name) <= LONGEST_NAME and name.isprintable()


CHECKS: Checks = {
    "format": (lambda value: value in (1, 2) and type(value) is int, "Input should be 1 or 2"),
    "name": (lambda value: isinstance(value, str), "Input should be a valid string"),
    "pretokenization": (_named, "Value error, neither a name nor a method with options"),
    "segmentation": (lambda value: isinstance(value, dict), "Input should be a valid dictionary"),
    "size": (lambda value: type(value) is int, "Input should be a valid integer"),
    "sha256": (lambda value: isinstance(value, str), "Input should be a valid string"),
    "origin": (lambda value: isinstance(value, dict), "Input should be a valid dictionary"),
    "normalization": (
        lambda value: isinstance(value, list) and all(step in STEPS for step in value),
        f"Input should be a list of {', '.join(STEPS)}",
    ),
}
"""Condition on each setting, and the message if it is not met."""


def check_values(
    values: Mapping[str, Any], checks: Checks, optional: Collection[str], file: Path, remedy: str = AGAIN
) -> None:
    """Check the values of ``tokbench.json``.

    Args:
        values: content of the file.
        checks: condition on each key, and the message if it is not met.
        optional: keys that may be missing.
        file: the file, for messages.
        remedy: end of messages.

    Raises:
        TokbenchError: a key is missing or unknown, or a value is not valid; the message names the first one.
    """
    for key, (valid, message) in checks.items():
        if key not in values and key not in optional:
            raise damaged(file, key, "Field required", remedy)
        if key in values and not valid(values[key]):
            raise damaged(file, key, message, remedy)
    for key in values:
        if key not in checks:
            raise damaged(file, key, "Extra inputs are not permitted", remedy)


def _settings(values: Mapping[str, Any], file: Path) -> Settings:
    """Validate the values of ``tokbench.json``. The error names the first mistake."""
    segmentation = values.get("segmentation")
    if isinstance(segmentation, dict) and not _named(segmentation):
        raise damaged(file, "segmentation.method", f"Input should be a name of 1 to {LONGEST_NAME} characters")
    check_values(values, CHECKS, ("format", "sha256", "normalization"), file)
    return Settings(**values)


def damaged(file: Path, key: str, message: str, remedy: str = AGAIN) -> TokbenchError:
    """Return the error about one value of ``tokbench.json``."""
    return TokbenchError(f"{file}: damaged ({ascii(key)[1:-1]:.80}: {message}); {remedy}")


def sealed(values: dict[str, Any], folder: Path) -> str:
    """Return the text of ``tokbench.json`` for the settings ``values``, with a checksum over a written vocabulary.

    Raises:
        TokbenchError: a value is not valid in the file.
    """
    settings = _settings(json.loads(json.dumps(values)), folder / SETTINGS)
    written = {**settings.written(), "sha256": settings.digest(folder)}
    return json.dumps({key: written[key] for key in CHECKS if key in written}, indent=2) + "\n"


def is_adapted(folder: Path) -> bool:
    """Return whether a folder contains a tokenizer that uses an external library; its settings have another format."""
    try:
        values = json.loads(read_regular(folder / SETTINGS))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(values, dict) and str(values.get("format")).startswith(ADAPTED)


def read_settings(folder: Path) -> Settings:
    """Read and validate the settings of a tokenizer's folder.

    Raises:
        TokbenchError: the folder is not a tokenizer folder, or its settings are damaged.
    """
    file = folder / SETTINGS
    if not file.exists():
        raise TokbenchError(f"{folder}: no tokenizer here ({SETTINGS} is missing); build one")
    values = read_json(file, AGAIN)
    if values.get("format") not in (1, 2):
        raise TokbenchError(f"{file}: format {values.get('format')!a:.60} is neither 1 nor 2; {AGAIN}")
    return _settings(values, file)


def stale_files(before: Path, configuration: bool) -> list[str]:
    """Return the files of the tokenizer saved in a folder before; those not written again must be removed.

    Args:
        before: Settings file in that folder; it may be missing.
        configuration: Whether ``tokenizer_config.json`` is written as well.

    Raises:
        TokbenchError: the folder has files of those names that are not ours.
    """
    folder = before.parent
    if not before.is_file():
        for name in VOCABULARY_FILES:
            if (folder / name).exists():
                raise TokbenchError(f"{folder / name}: belongs to no saved tokenizer; save into another folder")
    if configuration and names_another_class(folder):
        raise TokbenchError(f"{folder / CONFIGURATION}: belongs to another tokenizer; save into another folder")
    return [*VOCABULARY_FILES, ADAPTED, *(OF_TRANSFORMERS if configuration and before.is_file() else ())]


def outdated_export(before: Path, after: Path) -> list[str]:
    """Return ``tokenizer.json`` if it was exported from a tokenizer with other ids, otherwise an empty list.

    Args:
        before: Settings file in the output folder; it may be missing.
        after: Folder to which the tokenizer's files are written.
    """
    try:
        older, newer = (json.loads(file.read_text(encoding="utf-8")) for file in (before, after / before.name))
        ours = str(older["origin"]["hugging_face"]).startswith(EXPORTED)
        same = all(older[key] == newer[key] for key in ("pretokenization", "segmentation"))
    except (OSError, ValueError, TypeError, KeyError):
        return []
    same = same and all(_content(before.parent / name) == _content(after / name) for name in VOCABULARY_FILES)
    return [EXPORTED] if ours and not same else []


def _content(file: Path) -> bytes | None:
    return file.read_bytes() if file.is_file() else None
