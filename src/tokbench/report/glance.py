"""The answer at a glance: three or four short sentences, of which the scoreboard above them bears out every one.

What stands behind each, with intervals, other sizes and other corpora, :mod:`tokbench.report.summary` tells.
"""

from tokbench.report.claims import Claim, claims, crossings
from tokbench.report.content import ReportContent
from tokbench.report.summary import among, crossed, few_of, how_far, on_other_corpora, other_sizes, subject

MOST = 4


def glance(content: ReportContent) -> list[str]:
    """A sentence on each measure, and one on the best of all pre-tokenizers where it has another than the baseline;
    while there is room also on the first one's last tokenizer, other sizes and corpora.

    Returns:
        At most :data:`MOST`; none where nothing is ranked.
    """
    found = claims(content)[:MOST]
    across = [crossed(one, bare=True) for one in crossings(content)[:1]]
    if not found:
        return across
    found = found[: MOST - len(across)]
    first, *others = found
    last = f"The last, {first.last['variant']}, {how_far(first, bare=True)}." if first.last["behind"] else ""
    elsewhere = [other_sizes(first), *on_other_corpora(first)]
    kept = [one for one in (last, *elsewhere) if one][: MOST - len(found) - len(across)]
    beside = [one for one in (*elsewhere, last) if one in kept]
    return [_sentence(first), *beside, *across, *map(_sentence, others)]


def _sentence(claim: Claim) -> str:
    trained = ", by one training of each" * (claim.best["seeds"] == 1 and len(claim.untested) < claim.ranked - 1)
    return f"{among(claim)}, {subject(claim)}, {_apart(claim)}{trained}."


def _apart(claim: Claim) -> str:
    """Whether the best is told apart from the others."""
    rest = claim.ranked - 1
    if len(claim.untested) == rest:
        return "though nothing tells whether by chance"
    if claim.untested:
        near = f"but not from {few_of(claim.alike)}, " * bool(claim.alike)
        apart = rest - len(claim.untested) - len(claim.alike)
        return f"and is told apart from {apart} of {rest} others, {near}while nothing tells of {few_of(claim.untested)}"
    if not claim.alike:
        return f"and is told apart from {'the other one' if rest == 1 else f'all {rest} others'}"
    if len(claim.alike) == rest:
        return f"but is not told apart from {'the other one' if rest == 1 else f'any of the {rest} others'}"
    return f"but is not told apart from {few_of(claim.alike)}"
