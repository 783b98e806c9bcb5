"""The sentences beneath the scoreboard: few, short, and each is what the rows of the scoreboard say."""

import re
from typing import Any

import polars as pl
import pytest

from tests.support.small_report import altered, board_of_seeds, whole
from tokbench.report.content import ReportContent
from tokbench.report.glance import MOST, glance
from tokbench.report.html import render
from tokbench.report.sections.answer import BEHIND, answer
from tokbench.report.summary import summary
from tokbench.statistics.scoreboard import ACCURACY, BITS, NGRAM, TOKENS
from tokbench.statistics.standing import ALIKE, BEST, UNTESTED, WORSE
from tokbench.statistics.verdicts import TWO_TRAININGS

BEGINNINGS = {
    TOKENS: r"(?P<best>\S+) needs the fewest tokens for (?P<corpus>\w+)",
    NGRAM: r"with token n-gram models of (?P<corpus>\w+), (?P<best>\S+) gives the fewest bits per byte",
    BITS: r"with the language model “(?P<model>[^”]+)”, (?P<best>\S+) gives the fewest bits per byte",
    ACCURACY: r"with the language model “(?P<model>[^”]+)”, (?P<best>\S+) answers the most questions of the suite "
    r"“(?P<suite>[^”]+)” right",
}
STATES = (
    r"(?:significantly worse: (?P<worse>[^;]+?))?(?:(?:; )?no significant difference: (?P<alike>[^;]+?))?"
    r"(?:(?:; )?not tested \((?P<why>.+?)\): (?P<untested>[^;]+?))?"
)


def claim(sentence: str) -> tuple[str, dict[str, Any]] | None:
    """The measure that a sentence is about, and what it says; None of one about the last or other sizes."""
    for measure, begins in BEGINNINGS.items():
        found = re.fullmatch(rf"At a vocabulary of (?P<size>[\d,]+), {begins}; {STATES}\.", sentence)
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
        others = rows.height - 1
        every = {1: "the other one", 2: "both others"}.get(others, f"all {others} others")
        worse = rows.filter(verdict=WORSE).height
        assert said["worse"] == (every if worse == others else f"{worse} of {others} others" if worse else None)
        for verdict, key in ((ALIKE, "alike"), (UNTESTED, "untested")):
            names = sorted(rows.filter(verdict=verdict)["variant"].to_list())
            assert said[key] == (every if len(names) == others else " and ".join(names) or None)
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
    why = pl.when(changed == UNTESTED).then(pl.lit(TWO_TRAININGS)).otherwise("reason")
    return altered(whole(), scoreboard=board.with_columns(verdict=changed, reason=why).drop("index"))


def test_every_sentence_is_what_the_scoreboard_says() -> None:
    assert check(whole()) == [TOKENS, BITS, ACCURACY]
    told = glance(whole())
    assert len(told) == MOST
    assert max(map(len, told)) < 200


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
    told = summary(judged(ALIKE, UNTESTED, WORSE))[0]
    assert "After correction, significantly worse: 1 of 3 others; no significant difference: " in told
    assert "; not tested (two trainings; significance needs three): " in told
    told = summary(judged(*[UNTESTED] * 3))[0]
    assert "Not tested (two trainings; significance needs three): all 3 others." in told


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


@pytest.mark.parametrize("seeds", [1, 2, 3])
def test_models_need_trainings_for_a_best_and_for_a_verdict(seeds: int) -> None:
    content = altered(whole(), scoreboard=board_of_seeds(seeds))
    told = glance(content)
    behind = " ".join(summary(content))
    if seeds == 1:
        assert check(content) == [TOKENS, NGRAM], "n-gram models are not trained with seeds"
        assert told[2:] == [
            "At a vocabulary of 2,048, bits per byte with the language model “tiny (3 seeds)”: from 2.000 (bpe) to "
            "2.320 (random); not tested: one training.",
            "At a vocabulary of 2,048, accuracy of the language model “tiny” on the suite “offline”: from 71.4 % "
            "(sage) to 41.4 % (random); not tested: one training.",
        ]
        assert behind.count("not tested: one training. Another seed could change their order.") == 2
        return
    assert check(content) == [TOKENS, BITS, ACCURACY]
    [bits] = [one for one in told if "fewest bits" in one]
    words = "not tested (two trainings; significance needs three)" if seeds == 2 else "significantly worse"
    assert bits == (
        "At a vocabulary of 2,048, with the language model “tiny (3 seeds)”, bpe gives the fewest bits per byte; "
        f"{words}: all 3 others."
    )


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
