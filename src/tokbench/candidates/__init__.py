"""Common parts of constructions: alphabets, seeds, initial vocabularies, and the text that they read."""

from typing import Literal

SignalName = Literal["surprisal", "entropy"]
"""Signal of a byte language model for each byte."""
