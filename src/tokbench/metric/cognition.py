"""Cognitive plausibility: correlation of tokenization with reading times and errors of people.

Source: Beinborn and Pinter 2023 ("Analyzing cognitive plausibility of subword tokenization"), in the form of the
benchmark of Uzan et al. 2024 and ByteSpan. Chunkability of a word is 1 - tokens / characters. It is correlated with
reaction time and accuracy in lexical decision, over words and over nonwords. Items that lack either value are left out
of both.
"""

import numpy as np
from numpy.typing import NDArray

from tokbench.kernels.exact import correlation
from tokbench.metric import Shown, metric
from tokbench.metric.measurement import Measurement
from tokbench.metric.words import Words

KINDS = {"W": "words", "N": "nonwords"}
MEASURES = {"reaction_time": "reaction time", "accuracy": "accuracy"}
CHUNKABILITY = "chunkability (1 - tokens / characters)"


def chunkability(words: Words) -> NDArray[np.float64]:
    """Return 1 - tokens / characters of each word, float64 [n]."""
    characters = words.gold["word"].str.len_chars().to_numpy()
    return 1.0 - words.tokens_per_word / np.maximum(characters, 1)


@metric(
    "cognition",
    of="lexical_decisions",
    cites=("beinborn2023", "uzan2024"),
    better={"cognitive_plausibility": "highest"},
    shown=(
        Shown("cognitive_plausibility", "reading"),
        *(
            Shown(f"cognitive_{kind}_{column}", "reading", f"r, {measure}, {kind}")
            for kind in KINDS.values()
            for column, measure in MEASURES.items()
        ),
        Shown("lexical_decisions_left_out", "reading", "left out"),
    ),
)
def cognition(words: Words, options: object) -> list[Measurement]:
    """Return the four signed correlations, the mean of their absolute values, and the number of items left out."""
    import polars as pl  # already imported where the table was built

    whole = words.gold.select(pl.all_horizontal(pl.col(MEASURES).is_not_null())).to_series()
    frame = words.gold.with_columns(chunkability=chunkability(words)).filter(whole)
    rows = []
    for letter, kind in KINDS.items():
        items = frame.filter(pl.col("lexicality") == letter)
        for column, measure in MEASURES.items():
            name, definition = f"cognitive_{kind}_{column}", f"Pearson's r of {CHUNKABILITY} and {measure}, {kind}"
            rows.append(_correlation(name, definition, items["chunkability"].to_numpy(), items[column].to_numpy()))
    values = [abs(row.value) for row in rows if row.value is not None]
    score, reason = (sum(values) / len(rows), None) if len(values) == len(rows) else (None, "a correlation is missing")
    definition = "mean of the absolute values of the four correlations"
    rows.append(Measurement("cognitive_plausibility", definition, score, len(frame), reason))
    left_out = float(len(words) - len(frame))
    definition = "items without reaction time or accuracy"
    rows.append(Measurement("lexical_decisions_left_out", definition, left_out, len(words)))
    return rows


def _correlation(name: str, definition: str, x: NDArray[np.float64], y: NDArray[np.float64]) -> Measurement:
    if len(x) < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return Measurement(name, definition, None, len(x), "fewer than three items, or one of the two does not vary")
    return Measurement(name, definition, correlation(x, y)[0], len(x))
