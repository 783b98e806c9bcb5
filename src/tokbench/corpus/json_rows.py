"""Texts in lines of JSON."""

from typing import Any

from tokbench.corpus.long_lines import long_strings
from tokbench.corpus.sources import JsonLinesSource
from tokbench.errors import TokbenchError
from tokbench.inputs.json import HALF_PAIR, parse_json

REMEDY = "mend the line"


def text_of_line(line: bytes, source: JsonLinesSource, path: str, number: int) -> tuple[str, bytes]:
    """Language tag, empty where it has none, and text of one line.

    Raises:
        TokbenchError: it is not JSON, or has no text; the message names file and line.
    """
    place = f"{path}:{number}"
    if (cut := long_strings(line)) is not None:
        rest, long = cut
        try:
            language, text = fields_of(parse_json(rest, path, line=number, lenient=True), source, place)
            if language not in long:
                return language, long.pop(text, None) or text.encode("utf-8", "surrogatepass")
        except TokbenchError:
            pass  # The whole line has the places that messages tell.
    language, text = fields_of(parse_json(line, path, line=number, remedy=REMEDY, lenient=True), source, place)
    return language, text.encode("utf-8", "surrogatepass")


def fields_of(row: Any, source: JsonLinesSource, place: str) -> tuple[str, str]:
    """Language tag and text of what a line holds.

    Raises:
        TokbenchError: it has no text, or a language that is none.
    """
    text = row.get(source.text_field) if isinstance(row, dict) else None
    if not isinstance(text, str):
        raise TokbenchError(f"{place}: not a JSON object with a string under '{source.text_field}'; {REMEDY}")
    tag = (row.get(source.language_field) if source.language_field else None) or ""
    if not isinstance(tag, str | int) or HALF_PAIR.search(str(tag)):
        raise TokbenchError(f"{place}: the language under '{source.language_field}' is no text; {REMEDY}")
    return str(tag), text
