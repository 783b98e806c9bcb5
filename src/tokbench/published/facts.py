"""The papers' numbers, read from the files of this package; printed numbers stay text, so that no digit is lost."""

from functools import cache
from importlib.resources import files

import polars as pl

PAPERS = {
    "pathpiece": "Tokenization Is More Than Compression",
    "greedtok": "A Partition Cover Approach to Tokenization",
    "picky_bpe": "BPE Gets Picky",
    "bytespan": "ByteSpan: Information-Driven Subword Tokenisation",
}
"""Titles, by the name that the files and the experiments give a paper."""


@cache
def cells() -> pl.DataFrame:
    """Every number that the papers print of one tokenizer or of one model.

    Returns:
        ``paper``, ``where`` (table), ``corpus``, ``model``, ``variant``, ``size`` (tokens with the 256 bytes, Int64),
        ``task`` (of translations whether vocabularies are ``joint`` or ``separate``, whose size is then that of each
        side), ``metric``, ``unit``, ``value`` (as printed); empty text where a column does not apply.
    """
    return _read("cells").cast({"size": pl.Int64})


@cache
def statistics() -> pl.DataFrame:
    """Numbers that the papers derive from others of their numbers.

    Returns:
        ``paper``, ``where``, ``statistic``, ``model``, ``size`` (empty text for all sizes), ``a`` and ``b`` (what is
        compared), ``relation`` (``=``, or ``<=`` and ``>`` where the text states a bound), ``value`` (as printed),
        ``note`` (what else the paper prints).
    """
    return _read("statistics")


@cache
def variants() -> pl.DataFrame:
    """The papers' tokenizers as recipes of ours.

    Returns:
        ``paper``, ``variant``, ``label`` (as printed), ``pretokenization`` (one of several, separated by ``|``),
        ``construction``, ``initial``, ``segmentation`` (likewise), ``options``
        (``phase.option=value``, separated by ``;``), ``budget`` (``option=value`` of its language models, or an
        option alone that is set to whatever; one of several, separated by ``|``; empty where it tells no variants
        apart).
    """
    return _read("variants")


@cache
def tasks() -> pl.DataFrame:
    """The papers' tasks: ``paper``, ``task``, ``lm_eval`` (the harness's name), ``questions`` and ``random`` (percent),
    both null where they are not needed. The numbers of questions are those of the harness's splits."""
    return _read("tasks").with_columns(
        pl.col("questions").cast(pl.Int64, strict=False), pl.col("random").cast(pl.Float64, strict=False)
    )


@cache
def regions() -> pl.DataFrame:
    """The regions of the papers' Venn diagrams, in tokens; columns as in a run's table ``venn``, and ``paper``,
    ``where``."""
    frame = _read("regions")
    names = ("paper", "where", "a", "b", "c")
    return frame.cast({name: pl.Int64 for name in frame.columns if name not in names})


@cache
def lacking() -> pl.DataFrame:
    """What of the papers cannot be recomputed: ``paper``, ``where``, ``what``, ``why``."""
    return _read("lacking")


@cache
def labels(paper: str) -> dict[str, str]:
    """What a paper calls its variants."""
    return dict(variants().filter(paper=paper).select("variant", "label").iter_rows())


def _read(name: str) -> pl.DataFrame:
    path = files(__package__).joinpath(f"{name}.csv")
    return pl.read_csv(path.read_bytes(), infer_schema=False).fill_null("")
