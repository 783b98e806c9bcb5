"""The answer at a glance: three or four short sentences on the scoreboard.

:mod:`tokbench.report.summary` has the longer sentences, with intervals, other sizes and other corpora.
"""

from tokbench.report.claims import Claim, claims, crossings, numbers
from tokbench.report.content import ReportContent
from tokbench.report.summary import among, crossed, how_far, on_other_corpora, other_sizes, states, subject, unranked

MOST = 4


def glance(content: ReportContent) -> list[str]:
    """A sentence on each measure, and one on the best of all pre-tokenizers where it has another than the baseline;
    while there is room also on the first one's last tokenizer, other sizes and corpora.

    Returns:
        At most :data:`MOST`; none where nothing is ranked or trained.
    """
    across = [crossed(one, bare=True) for one in crossings(content)[:1]]
    found = claims(content)[: MOST - len(across)]
    single = [unranked(one, content) for one in numbers(content)][: MOST - len(across) - len(found)]
    if not found:
        return [*across, *single]
    first, *others = found
    last = f"The last, {first.last['variant']}, {how_far(first, bare=True)}." if first.last["behind"] else ""
    elsewhere = [other_sizes(first), *on_other_corpora(first)]
    kept = [one for one in (last, *elsewhere) if one][: MOST - len(found) - len(across) - len(single)]
    more = [one for one in (*elsewhere, last) if one in kept]
    return [_sentence(first), *more, *across, *map(_sentence, others), *single]


def _sentence(claim: Claim) -> str:
    return f"{among(claim)}, {subject(claim)}; {states(claim)}."
