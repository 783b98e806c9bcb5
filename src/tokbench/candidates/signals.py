"""What a byte language model says of every byte."""

from typing import Literal

SignalName = Literal["surprisal", "entropy"]
