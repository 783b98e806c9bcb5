"""Output of ``tokbench compare``: text for a terminal, Markdown, LaTeX, JSON and CSV."""

from collections.abc import Iterator
from pathlib import Path

from tokbench.inspection.comparison.json_objects import comparisons_json
from tokbench.inspection.comparison.ranking import best_sentence, ranking_rows
from tokbench.inspection.comparison.ranking_tables import (
    ranking_tables,
    rows_csv,
    tables_latex,
    tables_markdown,
    tables_text,
)
from tokbench.inspection.comparison.terminal import comparison_text
from tokbench.inspection.comparison.tokenizers import Comparisons
from tokbench.io.json import written
from tokbench.statistics.significance.eligibility import LOSSY


def comparison_output(compared: Comparisons, form: str, premium: str | None = None, most: int | None = None) -> str:
    """Return a comparison in a format.

    Args:
        compared: the comparison.
        form: ``text``, ``markdown``, ``latex``, ``json`` or ``csv``. Markdown, LaTeX and CSV have the rankings only.
        premium: reference language of premiums (default: no premiums).
        most: most tables of a pair in text (default: all).

    Raises:
        TokbenchError: the text has no premiums.
    """
    if form == "json":
        return written(comparisons_json(compared, premium))
    rankings = [(ranking, ranking_rows(ranking.comparison, premium)) for ranking in compared.rankings]
    if form == "csv":
        return rows_csv([{"source": ranking.source, **row} for ranking, rows in rankings for row in rows])
    tables = [table for ranking, rows in rankings for table in ranking_tables(rows, ranking.source, ranking.label)]
    if form == "markdown":
        return tables_markdown(tables)
    if form == "latex":
        return tables_latex(tables)
    if not rankings:
        pairs = (comparison_text(pair.a, pair.b, pair.parts, pair.unequal, pair.notes, most) for pair in compared.pairs)
        return "\n".join(pairs)
    sentences = []
    for ranking, rows in rankings:
        total = [row for row in rows if row["language"] is None]
        sentences.append(f"At {ranking.label}: " * bool(ranking.label) + best_sentence(total))
    return "\n".join([*sentences, "", tables_text(tables), *_rest(compared, most)])


def _rest(compared: Comparisons, most: int | None) -> Iterator[str]:
    """Yield what the rankings do not have: places that names do not say, notes, and other measures of each pair."""
    notes = [note for pair in compared.pairs for note in (*pair.notes, *pair.parts[0].notes) if LOSSY not in note]
    sides = [side for pair in compared.pairs for side in pair.named_sides]
    places = {f"{name}: {side.opened}." for name, side in sides if Path(side.place).name == name}
    known = [note for note in dict.fromkeys(notes) if note not in places]
    if known:
        yield "\n".join(known) + "\n"
    for pair in compared.pairs:
        if others := pair.parts[1:]:
            yield comparison_text(pair.a, pair.b, others, most=most)
