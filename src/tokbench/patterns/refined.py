"""A pattern's pieces cut further by a second one, as one automaton.

The second must know of every place, as it comes to it, whether its match ends there: it never reads on in vain. A
number, up to three of them, one or what is none, and runs of a set are such. Then both are followed side by side, and a
match of the two ends where the second's does, or where the first's does, whichever comes first.

Two things have to hold. Where the second cuts, it must be settled that the first's match goes on to there, and does not
end before. And whatever the first has read when it is cut, from there on it must cut as at the start of a match, for a
scan starts there with nothing known. Both are tried in every state; states are equal if no text tells them apart.
"""

from collections.abc import Iterator

from tokbench.patterns.automaton import DEAD, START, Automaton, groups_of, smallest
from tokbench.patterns.borders import Steps
from tokbench.patterns.parse import LanguageError

GAP = -1
"""The state of the second pattern between two matches."""
MOST_PAIRS = 4000
Pair = tuple[int, int]


def refined(first: Automaton, second: Automaton) -> Automaton:
    """The automaton that cuts every piece of the first by the second.

    Args:
        first: matches at every character that there is.
        second: of the same symbols.

    Raises:
        LanguageError: there is none, or it has too many states.
    """
    cutting = _Cutting(second)
    surely, ends_later = Steps(first).surely, able(first)
    symbols = first.symbols
    numbers: dict[Pair, int] = {}
    targets: list[list[int]] = [[DEAD] * symbols.count, [DEAD] * symbols.count]
    ends: list[int] = [0, 0]
    pending: list[Pair] = []
    alike: list[tuple[int, int]] = []

    def number(state: int, inner: int) -> int:
        if state == DEAD:
            return DEAD
        if (state, inner) not in numbers:
            if len(targets) >= MOST_PAIRS:
                raise LanguageError
            numbers[state, inner] = len(targets)
            targets.append([DEAD] * symbols.count)
            ends.append(0)
            pending.append((state, inner))
        return numbers[state, inner]

    for symbol in range(symbols.end):
        if not surely >> first.targets[START][symbol] & 1:
            raise LanguageError
        targets[START][symbol] = number(first.targets[START][symbol], cutting.begun(symbol))
    while pending:
        state, inner = pair = pending.pop()
        place = numbers[pair]
        for symbol in range(symbols.count):
            ended, target = first.ends[state] >> symbol & 1, first.targets[state][symbol]
            cut, then = (False, GAP) if symbol == symbols.end else cutting.step(inner, symbol)
            if cut and not ended and ends_later >> target & 1:
                if not surely >> target & 1:
                    raise LanguageError
                ended = 1
            ends[place] |= ended << symbol
            if cut and ended:
                if target != DEAD:
                    alike.append((number(target, then), targets[START][symbol]))
            elif not cut:
                targets[place][symbol] = number(target, then)
    made = Automaton(symbols, tuple(map(tuple, targets)), tuple(ends), first.worlds)
    group = groups_of(made)
    if any(group[one] != group[other] for one, other in alike):
        raise LanguageError
    return smallest(made)


class _Cutting:
    """The second pattern, character by character."""

    def __init__(self, automaton: Automaton) -> None:
        self._automaton = automaton
        for state in self._reached():  # Where a match goes on no longer, it ends: so it never ends before.
            ends, targets = automaton.ends[state], automaton.targets[state]
            if any(target == DEAD and not ends >> symbol & 1 for symbol, target in enumerate(targets)):
                raise LanguageError

    def _reached(self) -> Iterator[int]:
        seen = {START, DEAD}
        pending = [START]
        while pending:
            for target in self._automaton.targets[pending.pop()]:
                if target not in seen:
                    seen.add(target)
                    pending.append(target)
                    yield target

    def begun(self, symbol: int) -> int:
        """The state after the first character of a piece."""
        return self._automaton.targets[START][symbol] or GAP

    def step(self, state: int, symbol: int) -> tuple[bool, int]:
        """Whether there is a cut before a character, and the state after it."""
        if state == GAP:
            begun = self.begun(symbol)
            return begun != GAP, begun
        target = self._automaton.targets[state][symbol]
        return (False, target) if target != DEAD else (True, self.begun(symbol))


def able(automaton: Automaton) -> int:
    """The states, as bits, in which a match may still end."""
    found = sum(1 << state for state, ends in enumerate(automaton.ends) if ends)
    while True:
        more = found
        for state, targets in enumerate(automaton.targets):
            if any(found >> target & 1 for target in targets):
                more |= 1 << state
        if more == found:
            return found
        found = more
