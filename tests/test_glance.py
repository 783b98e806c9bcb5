"""The sentences beneath the scoreboard: few, short, and each is what the rows of the scoreboard say."""

import re
from typing import Any

import polars as pl
import pytest

from tests.small_report import altered, whole
from tokbench.report.content import ReportContent
from tokbench.report.glance import MOST, glance
from tokbench.report.html import render
from tokbench.report.sections.answer import BEHIND, answer
from tokbench.report.summary import summary
from tokbench.statistics.scoreboard import ACCURACY, BITS, NGRAM, TOKENS
from tokbench.statistics.standing import ALIKE, BEST, UNTESTED, WORSE

BEGINNINGS = {
    TOKENS: r"(?P<best>\S+) needs the fewest tokens for (?P<corpus>\w+)",
    NGRAM: r"with token n-gram models of (?P<corpus>\w+), (?P<best>\S+) gives the fewest bits per byte",
    BITS: r"with the language model “(?P<model>[^”]+)”, (?P<best>\S+) gives the fewest bits per byte",
    ACCURACY: r"with the language model “(?P<model>[^”]+)”, (?P<best>\S+) answers the most questions of the suite "
    r"“(?P<suite>[^”]+)” right",
}
APART = (
    r"(?P<told>and is told apart from (?:all (?P<all>\d+) others|the other one)"
    r"|and is told apart from (?P<some>\d+) of (?P<of>\d+) others,(?: but not from (?P<near>.+?),)?"
    r" while nothing tells of (?P<untold>.+?)"
    r"|but is not told apart from (?P<alike>.+?)|though nothing tells whether by chance)"
)


def claim(sentence: str) -> tuple[str, dict[str, Any]] | None:
    """The measure that a sentence is about, and what it says; None of one about the last or other sizes."""
    for measure, begins in BEGINNINGS.items():
        found = re.fullmatch(
            rf"At a vocabulary of (?P<size>[\d,]+), {begins}, {APART}(?P<one>, by one training of each)?\.", sentence
        )
        if found:
            return measure, found.groupdict()
    return None


def rows_of(content: ReportContent, measure: str, said: dict[str, Any]) -> pl.DataFrame:
    """The ranked rows that a sentence is about."""
    named = {key: said[key] for key in ("corpus", "model", "suite") if said.get(key)}
    board = content.frames["scoreboard"].filter(measure=measure, size=int(said["size"].replace(",", "")), **named)
    return board.filter(pl.col("verdict").is_in([BEST, ALIKE, WORSE, UNTESTED]))


def check(content: ReportContent) -> list[str]:
    """Compare every claim with the rows; the measures that were told."""
    measures = []
    for sentence in glance(content):
        if (found := claim(sentence)) is None:
            continue
        measure, said = found
        rows = rows_of(content, measure, said)
        lowest = rows.sort("value", "variant", descending=[measure == ACCURACY, False])
        assert said["best"] == lowest["variant"][0] == rows.filter(verdict=BEST)["variant"].item()
        alike, others = rows.filter(verdict=ALIKE)["variant"].to_list(), rows.height - 1
        untold = rows.filter(verdict=UNTESTED)["variant"].to_list()
        if said["untold"]:
            assert [int(said["some"]), int(said["of"])] == [rows.filter(verdict=WORSE).height, others]
            assert (said["near"] or "", said["untold"]) == (" and ".join(sorted(alike)), " and ".join(sorted(untold)))
        elif said["told"].startswith("and is"):
            assert rows.filter(verdict=WORSE).height == others
            assert int(said["all"] or 1) == others
        elif said["alike"]:
            every = "the other one" if others == 1 else f"any of the {others} others"
            assert said["alike"] == (every if len(alike) == others else " and ".join(sorted(alike)))
        else:
            assert len(untold) == others
        trained_once = rows.filter(verdict=BEST)["seeds"].item() == 1
        assert bool(said["one"]) == (trained_once and len(untold) < others)
        measures.append(measure)
    return measures


def judged(*verdicts: str, measure: str = TOKENS) -> ReportContent:
    """The small report with these verdicts for all but the best of a measure, in order of value."""
    board = whole().frames["scoreboard"].with_row_index()
    rows = board.filter(pl.col("measure") == measure, pl.col("verdict").is_in([ALIKE, WORSE, UNTESTED]))
    given: dict[int, str] = {}
    for _, part in rows.group_by("size", "corpus", "model", "suite", maintain_order=True):
        given |= dict(zip(part["index"].to_list(), verdicts, strict=False))
    changed = pl.col("index").replace_strict(given, default=pl.col("verdict"), return_dtype=pl.String)
    return altered(whole(), scoreboard=board.with_columns(verdict=changed).drop("index"))


def test_every_sentence_is_what_the_scoreboard_says() -> None:
    assert check(whole()) == [TOKENS, BITS, ACCURACY]
    told = glance(whole())
    assert len(told) == MOST
    assert max(map(len, told)) < 170


@pytest.mark.parametrize(
    "verdicts",
    [
        *(
            (ALIKE,) * alike + (UNTESTED,) * untold + (WORSE,) * (3 - alike - untold)
            for alike in range(4)
            for untold in range(4 - alike)
        ),
    ],
)
@pytest.mark.parametrize("measure", [TOKENS, ACCURACY])
def test_whatever_the_verdicts(verdicts: tuple[str, ...], measure: str) -> None:
    assert measure in check(judged(*verdicts, measure=measure))


def test_what_is_not_tested_is_told_behind_the_page_too() -> None:
    assert "told apart from 1 of 3 others, but not from" in summary(judged(ALIKE, UNTESTED, WORSE))[0]
    assert "; nothing tells of" in summary(judged(ALIKE, UNTESTED, WORSE))[0]
    assert "no difference has an interval" in summary(judged(*[UNTESTED] * 3))[0]


def test_less_than_a_tenth_of_a_percent_is_not_none() -> None:
    board = whole().frames["scoreboard"].filter(measure=TOKENS, size=2048).sort("value", descending=True)
    close = board.with_columns(behind=pl.Series([0.0003, 0.0002, 0.0001, 0.0]))
    assert " needs 0.0300 % more." in glance(altered(whole(), scoreboard=close))[1]


def test_a_size_at_which_nothing_is_compared_is_none_of_all() -> None:
    board = whole().frames["scoreboard"].filter(measure=TOKENS)
    lone = board.filter(size=2048, verdict=BEST).with_columns(size=pl.lit(4096, pl.Int64))
    first = lone["variant"].item()
    assert f"{first} comes first at both sizes." in glance(altered(whole(), scoreboard=board))
    told = glance(altered(whole(), scoreboard=pl.concat([board, lone])))
    assert f"{first} comes first at both sizes compared." in told


def test_n_gram_models_stand_in_and_there_is_room_for_more() -> None:
    """How far the last is behind, and the other size, of the first measure."""
    board = whole().frames["scoreboard"].filter(pl.col("measure").is_in([TOKENS, NGRAM]))
    content = altered(whole(), scoreboard=board)
    assert check(content) == [TOKENS, NGRAM]
    tokens = board.filter(measure=TOKENS, size=2048).sort("value")
    last = (
        f"The last, {tokens['variant'][-1]}, needs {100 * (tokens['value'][-1] / tokens['value'][0] - 1):.1f} % more."
    )
    first = [one["variant"] for one in board.filter(measure=TOKENS, verdict=BEST).to_dicts()]
    assert first == [tokens["variant"][0]] * 2
    sentences = glance(content)
    assert sentences[1].startswith(f"{first[0]} comes first at both sizes")
    assert sentences[2] == last
    assert len(sentences) == MOST


def test_a_lone_measure_of_one_training_says_so() -> None:
    board = whole().frames["scoreboard"].with_columns(seeds=pl.lit(1, pl.Int64))
    assert check(altered(whole(), scoreboard=board)) == [TOKENS, BITS, ACCURACY]


def test_what_is_behind_them_is_folded_beneath(tmp_path: Any) -> None:
    section = answer(whole())
    assert list(section.after) == glance(whole())
    assert section.folded == (BEHIND, summary(whole()))
    nothing = altered(whole(), scoreboard=None)
    assert (glance(nothing), answer(nothing).folded, list(answer(nothing).after)) == ([], None, summary(nothing))
    frames = {"scoreboard": whole().frames["scoreboard"].filter(measure=TOKENS, size=2048)}
    render(type(whole())("t", {}, "", {}, whole().declared, frames), tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    table, sentences, folded = page.index("</table>"), page.index('<ul class="findings">'), page.index(BEHIND)
    assert table < sentences < folded < page.index('<ul class="notes">')
    assert page.count('<ul class="findings">') == page.count(BEHIND) == 1
