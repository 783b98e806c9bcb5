"""What stands beside accuracies: how often tokens straddle the end of a context, and bits per byte of texts."""

import polars as pl

from tokbench.report.content import ReportContent
from tokbench.report.sections.origins import ANSWERS, tidy
from tokbench.report.tables import Column, Table

COUNTS = {
    "questions": Column("questions", kind="count"),
    "straddling_questions": Column("straddling_questions", "straddling questions", "count"),
    "choices": Column("choices", kind="count"),
    "straddling": Column("straddling", "straddling choices", "count"),
}


def boundaries(content: ReportContent) -> list[Table]:
    """Straddling choices by tokenizer and suite, then by task where there are any."""
    frame = content.part("boundaries")
    if frame is None:
        return []
    by_suite = ["variant", "size", "suite"]
    tables = {
        "boundaries": (
            by_suite,
            "Choices of which the context's own tokens do not open the tokens of the whole, and questions with such "
            "choices. These questions are scored given the context's text, in whatever tokens; a harness that counts "
            "off as many tokens as the context has would score the wrong ones.",
            frame.group_by(by_suite).agg(pl.col(list(COUNTS)).sum()),
        ),
        "boundaries-by-task": (
            [*by_suite, "task"],
            "The same by task, where there are such choices.",
            frame.filter(pl.col("straddling") > 0).select(*by_suite, "task", *COUNTS),
        ),
    }
    return [
        Table(
            name,
            caption,
            pl.DataFrame(content.in_order(part.rows()), schema=part.schema, orient="row"),
            [*(Column(key, kind="count") if key == "size" else Column(key) for key in keys), *COUNTS.values()],
            source=tidy("boundaries", ANSWERS),
            folded=True,
        )
        for name, (keys, caption, part) in tables.items()
        if part.height
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
            source=tidy("texts", ANSWERS),
        )
    ]
