"""Plain text as LaTeX prints it."""

import re

_LATEX = {mark: rf"\{mark}" for mark in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "–": "--",
    "−": "$-$",
    "×": r"$\times$",
    "∞": r"$\infty$",
    "≈": r"$\approx$",
    "★": r"$\star$",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
    "○": r"$\circ$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "∩": r"$\cap$",
    "∪": r"$\cup$",
    "›": r"\guilsinglright{}",
    "…": r"\ldots{}",
    "†": r"$\dagger$",
    "‡": r"$\ddagger$",
    "\n": " ",
}
_RAISED = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")


def latex(text: str) -> str:
    """Plain text with every character that LaTeX would read as a command written so that it prints."""
    return re.sub(
        "[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+|.",
        lambda found: (
            rf"\textsuperscript{{{found[0].translate(_RAISED)}}}"
            if found[0][0] in "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"
            else _LATEX.get(found[0], found[0])
        ),
        text,
        flags=re.DOTALL,
    )
