"""What larger corpora take, in tables of docs/scale.md."""

import math

from performance import table
from scale_plan import CORPORA, Corpus, of_rule
from scale_summary import STAGES, Expected, Rows, expected, growths, makespan, pretokens, sizes, vocabulary
from scale_tables import number, ranged, volume

NODES, CORES = 32, 8
PER_DOCUMENT = 100
"""Bytes that `prepare` counts for a document, :data:`tokbench.corpus.prepare.PER_DOCUMENT`."""
PER_DOCUMENT_OF_PARTS = 20
"""Those of `split_corpus`, :data:`tokbench.corpus.places.PER_DOCUMENT`."""
ATTEMPTS = 3
BY_WORK = ("build", "build_initial", "measure", "score_bytes")
"""Rules that ask for the memory that follows from their counts, or their model."""
LONGEST_MINUTES = 2880
"""That any job asks for on its own account."""


def corpora(rows: Rows, plans: dict[str, dict[str, int]]) -> list[tuple[Corpus, list[Expected]]]:
    """Every stage of every corpus."""
    grown, heaps = growths(rows), vocabulary(rows)
    found = []
    for corpus in CORPORA:
        about = (heaps, corpus.text, corpus.shards, plans[str(corpus.shards)])
        stages = [expected(stage, grown[stage.name], *about) for stage in STAGES if stage.name in grown]
        found.append((corpus, stages))
    return found


def whole(rows: Rows, plans: dict[str, dict[str, int]]) -> str:
    """The corpora side by side."""
    largest = pretokens(rows, sizes(rows)[-1])[0]
    lines: dict[str, list[str]] = {}

    def put(name: str, cell: str) -> None:
        lines.setdefault(name, [name]).append(cell)

    for corpus, stages in corpora(rows, plans):
        put("text", volume(corpus.text))
        put("times the largest measured", number(corpus.text / largest))
        put("shards", f"{corpus.shards:,}")
        put("text of a shard", volume(corpus.text / corpus.shards))
        put("jobs that the workflow plans", f"{sum(plans[str(corpus.shards)].values()):,}")
        heaps = vocabulary(rows)
        low, high = heaps.between(corpus.text, corpus.text)
        put("different pre-tokens, millions", ranged(*(each / 1e6 for each in (heaps.at(corpus.text), low, high))))
        hours = math.fsum(one.hours for one in stages)
        low, high = (math.fsum(ends) for ends in zip(*((one.low, one.high) for one in stages), strict=True))
        put("hours of one core", ranged(hours, low, high))
        put(f"hours on {NODES} x {CORES} cores", number(makespan(stages, NODES * CORES)))
        longest = max(stages, key=lambda one: one.longest)
        put("longest job, hours", f"{number(longest.longest)} ({longest.stage.name})")
        most = max(stages, key=lambda one: one.memory_mb)
        put("most memory of a job", f"{volume(most.memory_mb * 1e6)} ({most.stage.name})")
        put("documents", f"{corpus.documents:,}")
        put("so that `prepare` needs", volume(PER_DOCUMENT * corpus.documents))
        put("in parts, `split_corpus`", volume(PER_DOCUMENT_OF_PARTS * corpus.documents))
        put("disk that stays", volume(math.fsum(one.disk for one in stages if one.stage.kept)))
        put("disk that is freed again", volume(math.fsum(one.disk for one in stages if not one.stage.kept)))
    return table(("", *(corpus.name for corpus in CORPORA)), lines.values())


def by_stage(rows: Rows, plans: dict[str, dict[str, int]]) -> str:
    """Hours and memory of each stage in each corpus."""
    found = corpora(rows, plans)
    lines = []
    for place, one in enumerate(found[0][1]):
        cells = [one.stage.name]
        for _, stages in found:
            here = stages[place]
            cells += [f"{here.jobs:,}", ranged(here.hours, here.low, here.high)]
            cells += [volume(here.memory_mb * 1e6), number(here.beyond)]
        lines.append(cells)
    heads = [
        head for corpus in CORPORA for head in (f"{corpus.name}: jobs", "hours of one core", "memory", "times beyond")
    ]
    return table(("stage", *heads), lines)


def obstacles(rows: Rows, plans: dict[str, dict[str, int]]) -> str:
    """Single jobs that take longer, or more memory, than their rule asks for at first."""
    lines = []
    for corpus, stages in corpora(rows, plans):
        for one in stages:
            minutes = of_rule(one.stage.rule, "runtime")
            told = [remedy(one.longest * 60, minutes)]
            if told[0] and one.stage.rule == "prepare":
                told = ["`parts` of the corpus"]
            if one.stage.rule not in BY_WORK and one.memory_mb > of_rule(one.stage.rule):
                told.append(f"{volume(one.memory_mb * 1e6)} of memory, {of_rule(one.stage.rule):,} MB are asked for")
            if any(told):
                cells = [number(one.longest), number(minutes / 60), "; ".join(filter(None, told))]
                lines.append([corpus.name, one.stage.name, *cells])
    if not lines:
        return "No job takes more than its rule asks for."
    return table(("corpus", "stage", "hours of a job", "its rule asks for", "so it takes"), lines)


def remedy(taken: float, asked: int) -> str:
    """What a job needs that takes so many minutes, where its rule asks for so many at first."""
    if taken <= asked:
        return ""
    if taken <= min(LONGEST_MINUTES, ATTEMPTS * asked):
        return "a second or third attempt"
    return "`runtime` in the profile" if taken <= LONGEST_MINUTES else "more than two days"
