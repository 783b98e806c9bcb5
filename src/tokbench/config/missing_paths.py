"""Paths that a configuration leaves to the command line, as those of ``experiments/`` do."""

from pathlib import Path


class MissingPath(str):
    """The mistake of an entry without a path.

    Attributes:
        entry: name of the entry, which is the key of its path on the command line.
        setting: ``ENTRY=VALUE`` on the command line.
        command: the command that makes the file; empty if there is none.
    """

    entry: str
    setting: str
    command: str = ""

    @classmethod
    def of(cls, key: str, entry: str, value: str = "PATH") -> "MissingPath":
        """Return the mistake at a key.

        Args:
            key: the key of the path.
            entry: name of the entry.
            value: form of its value on the command line. Default: one path.
        """
        mistake = cls(f"{key}: no path given; add it, or say --config {entry}={value} on the command line")
        mistake.entry, mistake.setting = entry, f"{entry}={value}"
        return mistake

    @classmethod
    def published(cls, key: str, entry: str, path: Path) -> "MissingPath":
        """Return the mistake at a key whose file ``tokbench download tokenizers`` makes."""
        make = f"tokbench download tokenizers {path.parent}"
        mistake = cls(f"{key}: no such file as '{path}'; make it with {make}, or say --config {entry}=PATH")
        mistake.entry, mistake.setting, mistake.command = entry, f"{entry}=PATH", make
        return mistake
