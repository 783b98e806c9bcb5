"""Names of ids for other libraries: printable spellings of tokens, and names of special and unused ids."""

from itertools import pairwise

from tokbench.tokenizer import Tokenizer
from tokbench.tokenizer.hugging_face import CONTINUATION, spell
from tokbench.vocabulary import Vocabulary


def spellings(tokenizer: Tokenizer) -> list[str]:
    """Return the tokens' printable spellings, in the order of the vocabulary; all different."""
    flags = tokenizer.vocabulary.continuation
    marks = [False] * len(tokenizer) if flags is None else flags.tolist()
    data, offsets = tokenizer.vocabulary.flat()
    text = spell(data.tobytes())  # It has one character for each byte.
    places = zip(pairwise(offsets.tolist()), marks, strict=True)
    return [CONTINUATION * mark + text[start:end] for (start, end), mark in places]


def ids_of(vocabulary: Vocabulary) -> list[int]:
    """Return the id of each token, in the order of the vocabulary."""
    return list(range(len(vocabulary))) if vocabulary.ids is None else vocabulary.ids.tolist()


def special_names(tokenizer: Tokenizer) -> dict[str, int]:
    """Return the special ids of an external tokenizer, by name.

    Names that are empty, not UTF-8, or the spelling of a token are excluded; of ids with equal names only the first is
    included.
    """
    taken = set(spellings(tokenizer))
    names: dict[str, int] = {}
    for number, name in tokenizer.vocabulary.special.items():
        try:
            text = name.decode()
        except UnicodeDecodeError:
            continue
        if text and text not in taken:
            names.setdefault(text, number)
    return names


def special_ids(tokenizer: Tokenizer) -> dict[str, int]:
    """Return all special ids by name: the tokenizer's, and those of the end of text and padding."""
    return special_names(tokenizer) | tokenizer.end_and_padding


def unused_name(number: int) -> str:
    """Return the name of an id that is unused or has no name; no spelling of a token contains a space."""
    return f"<unused {number}>"


def names_by_id(tokenizer: Tokenizer) -> list[str]:
    """Return the name of each id below ``id_limit``; all different."""
    names = list(map(unused_name, range(tokenizer.id_limit)))
    for spelling, number in zip(spellings(tokenizer), ids_of(tokenizer.vocabulary), strict=True):
        names[number] = spelling
    for name, number in special_names(tokenizer).items():
        names[number] = name
    return names
