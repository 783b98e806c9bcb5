"""Other draws of a tokenizer that draws at random, for scores that are means over draws."""

from tokbench.tokenizer import Tokenizer

DRAWS = 8
"""Draws over which scores are averaged where a choice straddles the end of its context."""


def drawn_anew(tokenizer: Tokenizer) -> list[Tokenizer]:
    """The tokenizer with other seeds, so that there are :data:`DRAWS` with it; none of one that does not draw."""
    options = vars(tokenizer).get("options")
    if options is None or "seed" not in type(options).model_fields:
        return []
    if getattr(options, "ties", "random") != "random" or getattr(options, "dropout", 0.5) in (0, 1):
        return []
    state = tokenizer.__getstate__()
    seeds = ((options.seed + number) % 2**64 for number in range(1, DRAWS))
    return [Tokenizer(**state | {"options": options.model_copy(update={"seed": seed})}) for seed in seeds]
