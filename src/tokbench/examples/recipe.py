"""What the stage is asked for."""

from pydantic import Field

from tokbench.options import Options


class Recipe(Options):
    """The sentences of the user's, and which tokenizers cut what, each as VARIANT/SIZE."""

    examples: list[str] = Field(default_factory=list)
    """The user's sentences."""
    shown: list[str] = Field(default_factory=list)
    """Tokenizers that cut them."""
    corpora: dict[str, list[str]] = Field(default_factory=dict)
    """Tokenizers that cut the sentences of a corpus."""
