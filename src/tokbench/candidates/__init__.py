"""What constructions share: alphabets, seeds, initial vocabularies, the text that they read."""

from typing import Literal

SignalName = Literal["surprisal", "entropy"]
"""What a byte language model says of every byte."""
