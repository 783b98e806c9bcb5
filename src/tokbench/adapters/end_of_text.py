"""End of text of an imported tokenizer: the token that its files name, or a special token with a known name."""

from collections.abc import Mapping
from typing import Any

from tokbench.adapters.forms.parsed import ParsedTokenizer
from tokbench.errors import TokbenchError, listed, shortened
from tokbench.tokenizer.hugging_face import END_OF_TEXT

KNOWN = (
    *(END_OF_TEXT, "<|end_of_text|>", "</s>", "<eos>", "<|eos|>", "[EOS]", "<\uff5cend\u2581of\u2581sentence\uff5c>"),
    *("<|eot_id|>", "<EOT>", "<|EOT|>"),
)
"""Known names of the end of text, the preferred one first."""


def end_of_text(
    parsed: ParsedTokenizer, special: Mapping[int, bytes], chosen: str | None, place: str
) -> tuple[dict[str, Any] | None, list[str]]:
    """Return the end of text, None if there is none, and notes for the report.

    Args:
        found: The parsed file.
        special: Ids that encoding never returns, with their names.
        chosen: The token named by the user.
        place: The file, for messages.

    Returns:
        The name ``token``, its ``id`` and the ``source`` that names it.

    Raises:
        TokbenchError: The token named by the user is not a special or added token.
    """
    names: dict[str, int] = {}
    for number, name in [*sorted(special.items()), *sorted(parsed.added.items())]:
        names.setdefault(name.decode("utf-8", "replace"), number)
    if chosen is not None and chosen not in names:
        known = f"({listed(names)}); name one of them" if names else "(it has none); leave it out"
        raise TokbenchError(
            f"{place}: the end of text '{shortened(chosen)}' is not one of its special and added tokens {known}"
        )
    token, source, notes = _named(names, parsed, chosen)
    if token is None:
        return None, notes
    if names[token] in parsed.added:
        notes.append(f"a text that contains '{shortened(token)}' gives the id of the end of text, too")
    return {"token": token, "id": names[token], "source": source}, notes


def _named(names: Mapping[str, int], parsed: ParsedTokenizer, chosen: str | None) -> tuple[str | None, str, list[str]]:
    """Return the token, the source that names it, and notes about names that were skipped."""
    if chosen is not None:
        return chosen, "the given name", []
    by_id = {number: name for name, number in names.items()}
    skipped: list[str] = []
    for token, source in parsed.ends:
        name = by_id.get(token) if isinstance(token, int) else token
        if name in names:
            return name, source, skipped
        quoted = f"the id {token}" if isinstance(token, int) else f"'{shortened(token)}'"
        skipped.append(f"{source} is ignored: {quoted} is no special or added token")
    return (
        next((name for name in KNOWN if names.get(name, -1) not in {-1, *parsed.ordinary}), None),
        "its name",
        skipped,
    )
