r"""Whether a text is scanned in time that grows with its length, whatever it is.

A scan may read beyond the end of its match, as ``\s*[\r\n]+`` reads blanks after a line feed in the hope of another,
and what it read in vain is read again. Were every scan to read to the end of a run that way, time would grow with the
square of the run.

A scan *waits* while no end was seen since some place and none is certain to come. Let scan i wait over a stretch, and
a later scan j start within it. Follow both over the same characters: pairs of states, of which the second begins at the
start of a match. If there is no cycle among the pairs in which both wait, then both wait together over at most N
characters, N being the number of pairs. Take any character, and the first scan that waits over it. Every other scan
that waits over it began to wait at most N characters before, each at another place, as matches are not empty. So no
character is read by more than N + 2 scans.
"""

from collections.abc import Hashable, Mapping
from typing import TypeVar

from tokbench.patterns.automaton import DEAD, START, Automaton
from tokbench.patterns.borders import Steps

Pair = tuple[int, int]
Node = TypeVar("Node", bound=Hashable)


def is_linear(automaton: Automaton) -> bool:
    """Whether no two scans can wait over the same characters for any length."""
    surely = Steps(automaton).surely
    letters = range(automaton.symbols.end)
    waits = [
        {
            symbol: target
            for symbol in letters
            if (target := automaton.targets[state][symbol]) != DEAD
            and not automaton.ends[state] >> symbol & 1
            and not surely >> target & 1
        }
        for state in range(len(automaton.targets))
    ]
    if not _cycle({state: set(steps.values()) for state, steps in enumerate(waits)}):
        return True
    begun = {
        (target, automaton.targets[START][symbol])
        for state in range(1, len(automaton.targets))
        for symbol in letters
        if (target := automaton.targets[state][symbol]) != DEAD and not surely >> target & 1
    }
    pending = [pair for pair in begun if pair[1] != DEAD]
    seen = set(pending)
    both: dict[Pair, set[Pair]] = {}
    while pending:
        first, second = pair = pending.pop()
        both[pair] = set()
        for symbol, target in waits[first].items():
            after = target, automaton.targets[second][symbol]
            if after[1] == DEAD:
                continue
            if symbol in waits[second]:
                both[pair].add(after)
            if after not in seen:
                seen.add(after)
                pending.append(after)
    return not _cycle(both)


def _cycle(ways: Mapping[Node, set[Node]]) -> bool:
    """Whether a graph has a cycle: what is left when nodes without a way are taken out again and again."""
    left = {node: set(others) for node, others in ways.items()}
    while ended := {node for node, others in left.items() if not others}:
        left = {node: others - ended for node, others in left.items() if node not in ended}
    return bool(left)
