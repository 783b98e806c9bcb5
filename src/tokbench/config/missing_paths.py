"""Paths that a configuration leaves to the command line, as those of ``experiments/`` do."""


class MissingPath(str):
    """The mistake of an entry without a path.

    Attributes:
        entry: name of the entry, which is the key of its path on the command line.
    """

    entry: str

    @classmethod
    def of(cls, key: str, entry: str) -> "MissingPath":
        """Return the mistake at a key."""
        mistake = cls(f"{key}: no path given; add it, or say --config {entry}=PATH on the command line")
        mistake.entry = entry
        return mistake
