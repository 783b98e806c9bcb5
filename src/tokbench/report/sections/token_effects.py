"""Causal effects of tokens: a figure for each model and tokenizer, estimates, and placebo cut-offs."""

from functools import partial
from typing import Any

import polars as pl

from tokbench.report.content import ReportContent
from tokbench.report.exhibits import Drawing, Exhibit, NumberSource
from tokbench.report.figures import discontinuity
from tokbench.report.sections.rows import path_of, rows, split_all
from tokbench.report.wording import format_value, pluralise, slug
from tokbench.statistics.effects.scored_model import CUTOFF, KEY, PLACEBO
from tokbench.statistics.effects.token_effects import TOKEN_EFFECT_BINS, TOKEN_EFFECTS, TOKEN_PLACEBOS


def causal_effects(content: ReportContent) -> list[Exhibit]:
    """Return the figures and tables of causal effects; empty without estimates.

    Args:
        content: content of the report.
    """
    frame = content.part(TOKEN_EFFECTS.name)
    effects = None if frame is None else frame.filter(pl.col("effect").is_not_null())
    if effects is None or effects.is_empty():
        return []
    exhibits: list[Exhibit] = [*_drawings(content, effects)]
    for which, kind in enumerate((CUTOFF, PLACEBO)):
        part = effects.filter(kind=kind)
        for corpus in part["corpus"].unique(maintain_order=True):
            here = content.sort_variants(part.filter(corpus=corpus))
            exhibits.append(rows(TOKEN_EFFECTS, here, which, corpus=corpus))
    return [*exhibits, *split_all(content, TOKEN_PLACEBOS)]


def _drawings(content: ReportContent, effects: pl.DataFrame) -> list[Drawing]:
    bins = content.part(TOKEN_EFFECT_BINS.name)
    drawings = []
    for key, part in effects.group_by(*KEY, maintain_order=True):
        at = dict(zip(KEY, key, strict=True))
        # Variants that other figures do not draw are left out here, too.
        main = part.filter(kind=CUTOFF, band="").rows(named=True)[0]
        here = None if bins is None else bins.filter(**at)
        if here is None or here.is_empty() or at["variant"] not in content.drawn_variants([str(at["variant"])]):
            continue
        # Effects at the bandwidth of the main estimate, and the placebos.
        shown = part.filter(
            pl.col("bandwidth") == main["bandwidth"], (pl.col("band") == "") | (pl.col("kind") == PLACEBO)
        )
        lines = discontinuity.Lines(
            main["bandwidth"],
            *(main[f"{side}_{name}"] for side in ("inside", "outside") for name in ("level", "slope")),
        )
        # The figure of bins, lines and effects.
        draw = partial(
            discontinuity.draw,
            [discontinuity.Bin(*row) for row in here.select("first", "last", "tokens", "outcome").iter_rows()],
            lines,
            [discontinuity.Effect(*row) for row in shown.select("cutoff", "effect", "low", "high").iter_rows()],
        )
        drawings.append(
            Drawing(
                slug("token-effect", *at.values()),
                _caption(at, main),
                draw,
                NumberSource([path_of(TOKEN_EFFECTS), path_of(TOKEN_EFFECT_BINS)]),
                [str(at["variant"])],
                _finding(at, main, part.filter(kind=PLACEBO)),
            )
        )
    return drawings


def _caption(at: dict[str, Any], main: dict[str, Any]) -> str:
    caption = TOKEN_EFFECT_BINS.prints[0].caption.format(**at | {"size": f"{at['size']:,}"})
    seeds = f" Values are means over {main['seeds']} seeds." * (main["seeds"] > 1)
    return f"{caption} Lines are fitted to {main['bandwidth']:,} ranks on each side (grey).{seeds}"


def _finding(at: dict[str, Any], main: dict[str, Any], placebos: pl.DataFrame) -> str:
    """Return effect, interval and placebos in words."""
    ends, over = (
        (("low", "high"), "tokens") if main["both_low"] is None else (("both_low", "both_high"), "tokens and seeds")
    )
    effect, low, high = (format_value(main[name], "real", 2) for name in ("effect", *ends))
    ratio = format_value(main["ratio"], "real", 2)
    says = (
        f"Being in the vocabulary of {at['variant']} changes the log-probability of a token's characters by {effect} "
        f"bits (95 % interval over {over}: {low} to {high}), a ratio of probabilities of {ratio}."
    )
    if main["least"] is not None:
        least, most = (format_value(main[name], "real", 2) for name in ("least", "most"))
        says += f" Half and twice the ranks give {least} to {most} bits."
    if main["untrained"] is not None:
        untrained = format_value(main["untrained"], "real", 2)
        says += f" With equal probabilities of all tokens, as before training, there are {untrained} bits."
    if placebos.height:
        out = placebos.filter((pl.col("low") > 0) | (pl.col("high") < 0)).height
        says += f" {out} of {pluralise(placebos.height, 'placebo cut-off')} {'have' if out != 1 else 'has'} an interval"
        says += " that excludes 0."
    return says
