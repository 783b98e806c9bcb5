"""Whether some text has a token within a pre-token, or as one by itself, where patterns that are compiled cut texts.

A match is followed through the automaton of the patterns (:mod:`tokbench.patterns`). It may have begun anywhere before
the token, so it comes to it in any state that there is; where none of these lives through the token's characters with
an end still to come, no match holds the token. What lies between matches holds none of the characters at which every
match succeeds. So a no is a proof. A yes is none: what a state has read before may be what no text has there.
"""

from bisect import bisect_right
from collections.abc import Iterable

from tokbench.fitness.contexts import LONGEST, head_of
from tokbench.patterns.automaton import DEAD, START, Automaton
from tokbench.patterns.borders import Steps
from tokbench.patterns.refined import able


class Pieces:
    """The pre-tokens of an automaton.

    Args:
        automaton: what cuts texts.
    """

    def __init__(self, automaton: Automaton) -> None:
        self._automaton = automaton
        self._sure, self._able = Steps(automaton).sure, able(automaton)
        self._starts = [first for first, _ in automaton.symbols.classes.runs]
        self._reached = self._from({START})

    def within(self, token: bytes) -> bool:
        """False where every text is cut within the token's bytes.

        Bytes at its ends that may belong to a character with others around them are left out: what is cut within the
        rest is cut within the token.
        """
        classes = self._classes(_whole_characters(token))
        if len(classes) < 2 or not any(self._sure >> number & 1 for number in classes):
            return True
        return any(self._able >> state & 1 for state in self._through(self._reached, classes))

    def alone(self, token: bytes) -> bool:
        """False where no text has the token as a pre-token by itself."""
        rest = _whole_characters(token)
        classes = self._classes(rest)
        if rest != token or not any(self._sure >> number & 1 for number in classes):
            return self.within(token)
        return any(self._automaton.ends[state] for state in self._through({START}, classes))

    def _classes(self, text: bytes) -> list[int]:
        runs = self._automaton.symbols.classes.runs
        codes = map(ord, text.decode("utf-8", "surrogateescape"))
        return [runs[bisect_right(self._starts, code) - 1][1] for code in codes]

    def _through(self, states: set[int], classes: Iterable[int]) -> set[int]:
        for number in classes:
            states = self._after(states, self._automaton.symbols.of_class(number))
        return states

    def _after(self, states: Iterable[int], symbols: Iterable[int]) -> set[int]:
        return {self._automaton.targets[state][symbol] for state in states for symbol in symbols} - {DEAD}

    def _from(self, states: set[int]) -> set[int]:
        while more := self._after(states, range(self._automaton.symbols.count)) - states:
            states = states | more
        return states


def _whole_characters(token: bytes) -> bytes:
    """A token without the bytes at its ends that may be a part of a character."""
    start = 0
    while start < min(LONGEST, len(token)) and token[start] & 0xC0 == 0x80:
        start += 1
    return token[start : len(token) - len(head_of(token))]
