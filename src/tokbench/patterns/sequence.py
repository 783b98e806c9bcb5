"""Several patterns, each applied to the pieces of the one before, as one automaton.

All but the last have to be runs of a set: ``[set]+``, or ``[set]{1,n}``, no two of them with a character in common.
Such a pattern cuts a text where characters of its set meet others. So the characters fall into *worlds*, one for each
set and one for what is in none, and a match within one takes what is of another for the end of the text. Within the
world of a run of any length the last pattern cuts as anywhere else. Within that of a counted run it must not cut: that
is tried on all runs.

Patterns after such a one may cut its pieces further where that can be done as one reads (:mod:`.refined`), as numbers
after the pattern of GPT-2.
"""

from collections.abc import Sequence
from itertools import product

from tokbench.patterns.automaton import Automaton, automaton_of, looks_for_end, sets_in, symbols_of
from tokbench.patterns.characters import Ranges
from tokbench.patterns.parse import Characters, LanguageError, Node, Repeat, parsed
from tokbench.patterns.refined import refined

MOST_RUNS = 10_000


def automaton_of_sequence(patterns: Sequence[str]) -> Automaton:
    """The automaton of one pattern or several.

    Raises:
        LanguageError: a pattern is not of the language, or their sequence is none that is compiled.
    """
    if not patterns:
        raise LanguageError
    nodes = list(map(parsed, patterns))
    for count in range(len(nodes), 0, -1):
        try:
            return _cut_further(_runs_first(nodes[:count], nodes[count:]), nodes[count:])
        except LanguageError:
            if count == 1:
                raise
    raise LanguageError


def _cut_further(first: Automaton, nodes: Sequence[Node]) -> Automaton:
    """The pieces of an automaton cut further by patterns, one after another."""
    if any(map(looks_for_end, nodes)):
        raise LanguageError
    for node in nodes:
        first = refined(first, automaton_of(first.symbols, [node], [0] * first.symbols.classes.count))
    return first


def _runs_first(every: Sequence[Node], more: Sequence[Node]) -> Automaton:
    """The automaton of runs and a last pattern; symbols tell apart what further ones do."""
    *before, last = every
    runs = [_run(node) for node in before]
    sets = [node.ranges for node, _ in runs]
    symbols = symbols_of([last], [*sets, *(ranges for node in more for ranges in sets_in(node))])
    if before and symbols.final is not None:
        raise LanguageError
    worlds = [0] * symbols.classes.count
    for world, ranges in enumerate(sets, 1):
        for number in _classes(symbols.classes.members, ranges):
            if worlds[number]:
                raise LanguageError
            worlds[number] = world
    alone = automaton_of(symbols, [last], [0] * symbols.classes.count)
    nodes: list[Node] = [last]
    for world, (node, most) in enumerate(runs, 1):
        if most is None:
            nodes.append(last)
            continue
        letters = [number for number, other in enumerate(worlds) if other == world]
        if any(_cuts(alone, text) for text in _texts(letters, most)):
            raise LanguageError
        nodes.append(Repeat(node, 1, most))
    return automaton_of(symbols, nodes, worlds) if before else alone


def _run(node: Node) -> tuple[Characters, int | None]:
    """The set that is repeated, and how often at most."""
    if isinstance(node, Characters):
        return node, 1
    if isinstance(node, Repeat) and isinstance(node.node, Characters) and node.least == 1 and not node.lazy:
        return node.node, node.most
    raise LanguageError


def _classes(members: dict[Ranges, int], ranges: Ranges) -> list[int]:
    bits = members[ranges]
    return [number for number in range(bits.bit_length()) if bits >> number & 1]


def _texts(letters: Sequence[int], most: int) -> list[tuple[int, ...]]:
    """All texts of up to so many letters."""
    if sum(len(letters) ** length for length in range(1, most + 1)) > MOST_RUNS:
        raise LanguageError
    return [text for length in range(1, most + 1) for text in product(letters, repeat=length)]


def _cuts(automaton: Automaton, text: Sequence[int]) -> bool:
    """Whether a text is more than one piece."""
    symbols = [*text, automaton.symbols.end]
    matches = [automaton.match(symbols, start) for start in range(len(text))]
    return matches[0] != len(text) and any(end > start for start, end in enumerate(matches))
