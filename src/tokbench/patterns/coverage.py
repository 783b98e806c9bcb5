"""Proof that the matches of a pattern leave nothing of any text out."""

from tokbench.patterns.borders import Steps
from tokbench.patterns.sequence import automaton_of_sequence


def left_out(pattern: str) -> str | None:
    """Return a character that may lie outside of all matches, None if there is none.

    None is a proof: from every character on, all paths of the automaton lead to a match. A character is no proof of the
    contrary.

    Args:
        pattern: a regular expression.

    Raises:
        LanguageError: the pattern is not compiled.
    """
    automaton = automaton_of_sequence((pattern,))
    sure = Steps(automaton).sure
    return next((chr(code) for code, number in automaton.symbols.classes.runs if not sure >> number & 1), None)
