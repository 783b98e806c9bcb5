"""What stands beside accuracies: how often tokens straddle the end of a context, and bits per byte of texts."""

import polars as pl

from tokbench.report.content import ReportContent
from tokbench.report.tables import Column, Table


def boundaries(content: ReportContent) -> list[Table]:
    """Straddling choices by tokenizer and task."""
    frame = content.part("boundaries")
    if frame is None:
        return []
    names = ["variant", "size", "suite", "task", "questions", "straddling_questions", "choices", "straddling"]
    chosen = frame.select(names)
    total = chosen["straddling"].sum()
    columns = [
        Column("variant"),
        Column("size", kind="count"),
        Column("suite"),
        Column("task"),
        Column("questions", kind="count"),
        Column("straddling_questions", "straddling questions", "count"),
        Column("choices", kind="count"),
        Column("straddling", "straddling choices", "count"),
    ]
    return [
        Table(
            "boundaries",
            "Choices of which the context's own tokens do not open the tokens of the whole, and questions with such "
            f"choices ({total:,} choices in all). These questions are scored given the context's text, in whatever "
            "tokens; a harness that counts off as many tokens as the context has would score the wrong ones.",
            pl.DataFrame(content.in_order(chosen.rows()), schema=chosen.schema, orient="row"),
            columns,
            {},
            folded=True,
        )
    ]


def texts(content: ReportContent) -> list[Table]:
    """Bits per byte on the texts of suites."""
    frame = content.part("texts")
    if frame is None:
        return []
    chosen = frame.select("variant", "model", "suite", "size", "text", "value")
    columns = [
        *(Column(name) for name in ("variant", "model", "suite")),
        Column("size", kind="count"),
        Column("text"),
        Column("value", "bits per byte", "real"),
    ]
    return [
        Table(
            "texts",
            "Bits per byte of each model on the texts of its suites, as lm-eval defines them: disjoint windows, "
            "divided by the bytes of the text as distributed.",
            pl.DataFrame(content.in_order(chosen.rows()), schema=chosen.schema, orient="row"),
            columns,
            {},
        )
    ]
