"""A tokenizer's folder: its settings, and the one checksum that they and its vocabulary stand under.

What a folder holds already when a tokenizer is saved into it.
"""

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
"""The size of a tokenizer that was made elsewhere: nobody asks it of it, and its folder is called so in its place."""
AGAIN = "build the tokenizer again"
LONGEST_NAME = 200
Name = Annotated[str, Field(max_length=LONGEST_NAME, pattern=r"^[^\x00-\x1f\x7f]+$")]
"""A method's name, such as fits a message of one line."""
Model = TypeVar("Model", bound=BaseModel)


def _setting(value: Any) -> Any:
    """A method's name, or a mapping with its ``method`` and options."""
    name = value.get("method") if isinstance(value, dict) else value
    if not isinstance(name, str) or not 0 < len(name) <= LONGEST_NAME or not name.isprintable():
        raise ValueError("neither a name nor a method with options")
    return value


class SegmentationSetting(BaseModel):
    """A segmentation's name, and its options as further keys."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True)

    method: Name


class Settings(BaseModel):
    """What ``tokbench.json`` holds.

    Attributes:
        format: 2 is written. Format 1, whose checksum is that of the vocabulary alone, is read as well.
        name: what tables call the tokenizer.
        pretokenization: its name where it has no options, otherwise with its options.
        segmentation: the method with its options.
        size: tokens of the vocabulary.
        sha256: checksum of every file of the vocabulary and of all other settings.
        origin: what made the tokenizer.
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
        """The segmentation's options.

        Raises:
            TokbenchError: the method has no such option, or a value of another type.
        """
        return _validated(method.options, self.segmentation.model_extra, folder / SETTINGS, "segmentation.")

    def check(self, folder: Path, size: int) -> None:
        """Reject a folder that is not what was saved.

        Args:
            folder: the tokenizer's.
            size: tokens of its vocabulary as read.

        Raises:
            TokbenchError: its checksum or its size is another.
        """
        if self.sha256 != self._digest(folder) or self.size != size:
            raise TokbenchError(
                f"{folder}: the vocabulary is not the one that was saved, or the settings are not; {AGAIN}"
            )

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
    """The text of ``tokbench.json``, of the settings ``values``, for a folder whose vocabulary is written.

    Raises:
        TokbenchError: a value is none that the file can hold.
    """
    settings = _validated(Settings, json.loads(json.dumps(values)), folder / SETTINGS)
    signed = settings.model_copy(update={"sha256": settings._digest(folder)})
    return json.dumps(signed.model_dump(), indent=2) + "\n"


def is_adapted(folder: Path) -> bool:
    """Whether a folder holds a tokenizer that works through another library, whose settings are others."""
    try:
        values = json.loads(read_regular(folder / SETTINGS))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(values, dict) and str(values.get("format")).startswith("adapted")


def read_settings(folder: Path) -> Settings:
    """The settings of a tokenizer's folder, each of its type.

    Raises:
        TokbenchError: the folder is none of ours, or its settings are damaged.
    """
    file = folder / SETTINGS
    if not file.exists():
        raise TokbenchError(f"{folder}: no tokenizer here ({SETTINGS} is missing); build one")
    values = read_json(file, AGAIN)
    if values.get("format") not in (1, 2):
        raise TokbenchError(f"{file}: format {values.get('format')!a:.60} is neither 1 nor 2; {AGAIN}")
    return _validated(Settings, values, file)


def _validated(model: type[Model], values: Any, file: Path, within: str = "") -> Model:
    """Values as a model; of what is wrong the first mistake is told."""
    try:
        return model.model_validate(values)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        key = ascii(within + ".".join(map(str, first["loc"])))[1:-1]
        raise TokbenchError(f"{file}: damaged ({key:.80}: {first['msg']}); {AGAIN}") from None


EXPORTED = "tokenizer.json"
OF_TRANSFORMERS = ("added_tokens.json", "special_tokens_map.json")
"""What ``save_pretrained`` writes beside our files; both hold ids or names of the tokenizer that was saved."""


def stale_files(before: Path, configuration: bool) -> list[str]:
    """Files of the tokenizer that was saved in a folder before; those of them that are not written again must go.

    Args:
        before: the file of the settings in that folder, if there is one.
        configuration: whether the file by which ``transformers`` finds our class is written too.

    Raises:
        TokbenchError: files of those names stand there and belong to no tokenizer of ours.
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
    """``tokenizer.json``, where it was exported of a tokenizer that gives other ids.

    Args:
        before: the file of the settings in the folder that is saved into, if there is one.
        after: the folder in which the tokenizer's files are written.
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
