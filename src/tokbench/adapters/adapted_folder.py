"""The folder of a tokenizer that works through another library: its file, and settings with one checksum over both."""

import hashlib
import json
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from tokbench.errors import TokbenchError
from tokbench.inputs.files import first_line
from tokbench.inputs.json import read_json
from tokbench.inputs.regular import read_regular
from tokbench.tokenizer_folder import SETTINGS

FILE = "adapted"
"""The library's file, as it gets it."""
AGAIN = "import the tokenizer again"


class AdaptedSettings(BaseModel):
    """What ``tokbench.json`` holds.

    Attributes:
        format: that of this file.
        name: what tables call the tokenizer.
        library: whose tokenizer it is.
        settings: what the library is told beside its file.
        special: ids that no text gives, with what they stand for in hexadecimal.
        size: tokens that text can give.
        ids: ids in all.
        sha256: checksum of the file and of all other settings.
        origin: where it comes from and what it loses.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    format: Literal["adapted 1"] = "adapted 1"
    name: str
    library: Literal["tokenizers", "sentencepiece", "tiktoken"]
    settings: dict[str, Any]
    special: dict[str, str]
    size: int
    ids: int
    sha256: str = ""
    origin: dict[str, Any]

    def digest(self, content: bytes) -> str:
        """Checksum of all of it."""
        digest = hashlib.sha256(content)
        digest.update(json.dumps(self.model_dump(exclude={"sha256"}), sort_keys=True).encode())
        return digest.hexdigest()


def sealed_adapted(values: dict[str, Any], content: bytes) -> str:
    """The text of ``tokbench.json``, of the settings ``values`` and the library's file."""
    settings = AdaptedSettings.model_validate(json.loads(json.dumps(values)))
    signed = settings.model_copy(update={"sha256": settings.digest(content)})
    return json.dumps(signed.model_dump(), indent=2) + "\n"


def read_adapted(folder: Path) -> tuple[AdaptedSettings, bytes]:
    """The settings of a folder, and the library's file.

    Raises:
        TokbenchError: they are damaged, or not those that were saved.
    """
    values = read_json(folder / SETTINGS, AGAIN)
    try:
        settings = AdaptedSettings.model_validate(values)
        content = read_regular(folder / FILE)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        key = ascii(".".join(map(str, first["loc"])))[1:-1]
        raise TokbenchError(f"{folder / SETTINGS}: damaged ({key:.80}: {first['msg']}); {AGAIN}") from None
    except OSError as error:
        raise TokbenchError(f"{folder / FILE}: cannot be read ({first_line(error)}); {AGAIN}") from None
    if settings.sha256 != settings.digest(content):
        raise TokbenchError(f"{folder}: the tokenizer is not the one that was saved, or the settings are not; {AGAIN}")
    return settings, content
