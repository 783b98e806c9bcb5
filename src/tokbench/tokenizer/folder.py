"""Tokenizer folders: settings, a checksum over settings and vocabulary, and files of earlier saves."""

import hashlib
import json
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, ValidationError

from tokbench.errors import TokbenchError
from tokbench.io.compression import read_regular
from tokbench.io.json import read_json
from tokbench.options import Options
from tokbench.registry import Method
from tokbench.tokenizer.hugging_face import CONFIGURATION, names_another_class
from tokbench.vocabulary import VOCABULARY_FILES

SETTINGS = "tokbench.json"
OWN: Literal["own"] = "own"
"""Vocabulary size in the folder name of an imported tokenizer, in place of a requested size."""
AGAIN = "build the tokenizer again"
LONGEST_NAME = 200
Name = Annotated[str, Field(max_length=LONGEST_NAME, pattern=r"^[^\x00-\x1f\x7f]+$")]
"""Name of a method: 1 to 200 characters without control characters, so that it fits into a one-line message."""
Model = TypeVar("Model", bound=BaseModel)


def _setting(value: Any) -> Any:
    """Validate a method's name, or a mapping with its ``method`` and options."""
    name = value.get("method") if isinstance(value, dict) else value
    if not isinstance(name, str) or not 0 < len(name) <= LONGEST_NAME or not name.isprintable():
        raise ValueError("neither a name nor a method with options")
    return value


class SegmentationSetting(BaseModel):
    """Name of a segmentation, with its options as further keys."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True)

    method: Name


class Settings(BaseModel):
    """Content of ``tokbench.json``.

    Attributes:
        format: Version of the file; 2 is written. Format 1 is read as well; its checksum covers only the vocabulary.
        name: Name of the tokenizer in tables.
        pretokenization: Name of the pre-tokenization, or a mapping with its ``method`` and options.
        segmentation: Name of the segmentation with its options.
        size: Number of tokens in the vocabulary.
        sha256: Checksum of all files of the vocabulary and all other settings, in hexadecimal.
        origin: Record of how the tokenizer was made.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    format: Literal[1, 2] = 2
    name: str
    pretokenization: Annotated[str | dict[str, Any], PlainValidator(_setting)]
    segmentation: SegmentationSetting
    size: int
    sha256: str = ""
    origin: dict[str, Any]

    def options(self, method: Method, folder: Path) -> Options:
        """Return the segmentation's options.

        Raises:
            TokbenchError: an option is unknown, or a value is of another type.
        """
        return _validated(method.options, self.segmentation.model_extra, folder / SETTINGS, "segmentation.")

    def check(self, folder: Path, size: int) -> None:
        """Check that a folder is unchanged since it was saved.

        Args:
            folder: Folder of the tokenizer.
            size: Number of tokens in its vocabulary, as read.

        Raises:
            TokbenchError: the checksum or the size differs.
        """
        if self.sha256 != self._digest(folder) or self.size != size:
            raise TokbenchError(f"{folder}: the vocabulary or the settings have changed since they were saved; {AGAIN}")

    def _digest(self, folder: Path) -> str:
        digest = hashlib.sha256()
        for file in (folder / name for name in VOCABULARY_FILES):
            if file.is_file():
                digest.update(file.name.encode())
                digest.update(file.read_bytes())
        if self.format > 1:
            settings = self.model_dump(exclude={"sha256"})
            digest.update(json.dumps(settings, sort_keys=True).encode())
        return digest.hexdigest()


def sealed(values: dict[str, Any], folder: Path) -> str:
    """Return the text of ``tokbench.json`` for the settings ``values``, with a checksum over a written vocabulary.

    Raises:
        TokbenchError: a value is not valid in the file.
    """
    settings = _validated(Settings, json.loads(json.dumps(values)), folder / SETTINGS)
    signed = settings.model_copy(update={"sha256": settings._digest(folder)})
    return json.dumps(signed.model_dump(), indent=2) + "\n"


def is_adapted(folder: Path) -> bool:
    """Return whether a folder contains a tokenizer that uses an external library; its settings have another format."""
    try:
        values = json.loads(read_regular(folder / SETTINGS))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(values, dict) and str(values.get("format")).startswith("adapted")


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
    return _validated(Settings, values, file)


def _validated(model: type[Model], values: Any, file: Path, within: str = "") -> Model:
    """Validate values as a model. The error names the first mistake."""
    try:
        return model.model_validate(values)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        key = ascii(within + ".".join(map(str, first["loc"])))[1:-1]
        raise TokbenchError(f"{file}: damaged ({key:.80}: {first['msg']}); {AGAIN}") from None


EXPORTED = "tokenizer.json"
OF_TRANSFORMERS = ("added_tokens.json", "special_tokens_map.json")
"""Files that ``save_pretrained`` adds to ours. Both contain ids or names of the saved tokenizer."""


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
    return [*VOCABULARY_FILES, "adapted", *(OF_TRANSFORMERS if configuration and before.is_file() else ())]


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
