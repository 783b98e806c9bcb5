"""Ids before those of the tokens, the same for every tokenizer."""

PADDING, END = 0, 1
"""What pads a batch and begins a translation; the end of a sentence."""
SPECIAL = 2
"""How many there are: the first token's id."""
