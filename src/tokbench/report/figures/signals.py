"""Surprisal and entropy of each byte of a sentence, with the spans of ByteSpan's three constraints.

Figure 1 of "ByteSpan: Information-Driven Subword Tokenisation". Bytes whose signal is low or falls are grouped. Grey
lines are starts of pre-tokens.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from tokbench.candidates import SignalName
from tokbench.candidates.scored_text import check_scores, read_scores
from tokbench.construction.bytespan import percentile
from tokbench.examples.cut import visible
from tokbench.io.identity import Maker, model_digest
from tokbench.io.tables import write_csv
from tokbench.kernels.bytespan import find_spans
from tokbench.report.figures.style import (
    COLUMN,
    FULL,
    GREY,
    INK,
    RULE,
    fix_layout,
    house_style,
    new_figure,
    save,
    styles,
)

CONSTRAINTS = ("global", "monotonic", "combined")
"""Low bytes, bytes whose signal falls, and both, from top to bottom."""
_LETTER = 0.085
"""Width of a byte, in inches."""
_MARGIN = 1.1
"""Width of the axis labels and margins, in inches."""


@dataclass(frozen=True, eq=False)
class ByteSignals:
    """Signals of a byte language model on a sentence of n bytes, and the spans that follow from them.

    Attributes:
        text: bytes of the sentence.
        surprisal: float32 [n], in nats.
        entropy: float32 [n], in nats.
        starts: byte offsets of pre-tokens.
        signal: signal of the spans, ``surprisal`` or ``entropy``.
        threshold: threshold in nats below which the signal is low.
        spans: (start, end) of each span, by constraint.
    """

    text: bytes
    surprisal: NDArray[np.float32]
    entropy: NDArray[np.float32]
    starts: tuple[int, ...]
    signal: SignalName
    threshold: float
    spans: dict[str, tuple[tuple[int, int], ...]]


def read_threshold(scores: Sequence[Path | str], model: Path, scheme: str, signal: SignalName, percent: float) -> float:
    """Return a percentile of a signal over byte scores, in nats.

    Args:
        scores: shards of byte scores.
        model: folder of the model that gave the scores.
        scheme: pre-tokenization.
        signal: ``surprisal`` or ``entropy``.
        percent: 0 to 100.

    Raises:
        TokbenchError: a shard is unreadable, or its scores are of another model.
    """
    check_scores(scores, Maker(model_digest(model), model))
    return percentile([partial(part.signals, signal) for part in read_scores(scores, scheme).parts()], percent)


def byte_signals(
    text: bytes,
    scores: tuple[NDArray[np.float32], NDArray[np.float32]],
    bounds: NDArray[np.int64],
    signal: SignalName,
    threshold: float,
) -> ByteSignals:
    """Find the spans of a sentence.

    Args:
        text: bytes of the sentence.
        scores: surprisal and entropy of each byte, float32 [n], in nats.
        bounds: int64, byte offsets of its pre-tokens and its end.
        signal: signal of the spans, ``surprisal`` or ``entropy``.
        threshold: threshold in nats below which the signal is low.
    """
    values = scores[0 if signal == "surprisal" else 1]
    arrays = {
        "global": find_spans(text, values, bounds, threshold, 0.0, False),
        "monotonic": find_spans(text, values, bounds, -np.inf, 0.0, True),
        "combined": find_spans(text, values, bounds, threshold, 0.0, True),
    }
    spans = {name: tuple((start, end) for start, end, _ in array.tolist()) for name, array in arrays.items()}
    return ByteSignals(text, *scores, tuple(bounds[:-1].tolist()), signal, threshold, spans)


def write_signals(sentences: Sequence[ByteSignals], folder: Path) -> None:
    """Write ``bytes.csv``, and for each sentence, numbered from 1, its figure in two widths."""
    write_csv(byte_table(sentences), folder / "bytes.csv")
    for number, sentence in enumerate(sentences, 1):
        text = sentence.text.decode()
        caption = f"{sentence.signal.capitalize()} of each byte of “{text}”, and the spans of three constraints."
        for width, ending in ((FULL, ""), (COLUMN, "-column")):
            save(draw(sentence, width=width), folder / f"bytes-{number}{ending}", caption)


def byte_table(sentences: Sequence[ByteSignals]) -> pl.DataFrame:
    """Return one row per byte of the sentences.

    Returns:
        ``sentence`` (from 1), ``position``, ``byte``, ``shown``, ``surprisal``, ``entropy``, ``starts_pretoken``, and
        for each constraint the number of the byte's span in the sentence, from 1; null if it is in no span.
    """
    rows = [
        {
            "sentence": number,
            "position": place,
            "byte": value,
            "shown": visible(bytes([value])),
            "surprisal": float(signals.surprisal[place]),
            "entropy": float(signals.entropy[place]),
            "starts_pretoken": place in signals.starts,
            **{
                name: next((n for n, (start, end) in enumerate(spans, 1) if start <= place < end), None)
                for name, spans in signals.spans.items()
            },
        }
        for number, signals in enumerate(sentences, 1)
        for place, value in enumerate(signals.text)
    ]
    return pl.DataFrame(rows, schema_overrides=dict.fromkeys(CONSTRAINTS, pl.Int64))


def draw(signals: ByteSignals, *, width: float = FULL) -> Figure:
    """Draw lines of both signals over the bytes, and below them a bar for each span, one row per constraint.

    A sentence longer than the width continues in further panels.

    Args:
        one: the sentence.
        width: width in inches (default: 6.8).
    """
    per_line = max(int((width - _MARGIN) / _LETTER), 1)
    lines = -(-len(signals.text) // per_line)
    top = 1.08 * float(max(signals.surprisal.max(), signals.entropy.max(), signals.threshold))
    with house_style():
        figure = new_figure(width, 0.5 + 1.75 * lines)
        grid = figure.subplots(lines, squeeze=False).ravel()
        for line, axes in enumerate(grid):
            _draw_line(axes, signals, line * per_line, min(per_line, len(signals.text)), top)
        figure.legend(*grid[0].get_legend_handles_labels(), loc="outside upper right", ncols=3, borderpad=0)
        figure.supylabel("nats", fontsize=8)
        return fix_layout(figure)


def _draw_line(axes: Axes, signals: ByteSignals, first: int, per_line: int, top: float) -> None:
    """Draw up to ``per_line`` bytes from ``first`` on."""
    last = min(first + per_line, len(signals.text))
    places = list(range(first, last))
    other = "entropy" if signals.signal == "surprisal" else "surprisal"
    axes.plot(
        places, getattr(signals, signals.signal)[first:last], color=INK, marker="o", ms=2.5, lw=1, label=signals.signal
    )
    axes.plot(places, getattr(signals, other)[first:last], color=GREY, lw=0.8, ls=":", label=other)
    axes.axhline(signals.threshold, color=GREY, lw=0.6, ls="--", label="threshold")
    axes.vlines([start - 0.5 for start in signals.starts if first < start < last], -0.62 * top, top, color=RULE, lw=1)
    levels = {name: -(0.17 + 0.18 * place) * top for place, name in enumerate(CONSTRAINTS)}
    looks = styles(CONSTRAINTS)
    for name, level in levels.items():
        bars = [(max(a, first), min(b, last)) for a, b in signals.spans[name] if a < last and b > first]
        if bars:
            starts, ends = zip(*bars, strict=True)
            left, right = np.array(starts) - 0.35, np.array(ends) - 0.65
            axes.hlines([level] * len(bars), left, right, color=looks[name].colour, lw=4)
    ticks = [tick for tick in MaxNLocator(4).tick_values(0, top) if 0 <= tick <= top]
    axes.set_yticks([*levels.values(), *ticks], [*levels, *(f"{tick:g}" for tick in ticks)])
    axes.set_ylim(-0.62 * top, top)
    axes.set_xlim(first - 0.8, first + per_line - 0.2)
    axes.set_xticks(places, _letters(signals.text)[first:last], fontsize=6, family="DejaVu Sans Mono")
    axes.tick_params(axis="x", length=0)


def _letters(text: bytes) -> list[str]:
    """Return each character at its first byte, and bytes that are no valid UTF-8 in hexadecimal."""
    letters = []
    for character in text.decode("utf-8", "surrogateescape"):
        encoded = character.encode("utf-8", "surrogateescape")
        letters += [visible(encoded), *[""] * (len(encoded) - 1)]
    return letters
