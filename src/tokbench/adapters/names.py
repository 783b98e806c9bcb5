"""What other libraries call a tokenizer's ids: tokens by their printable spelling, special ids by their names."""

from tokbench.byte_level import spell
from tokbench.tokenizer import Tokenizer
from tokbench.vocabulary import Vocabulary


def spellings(tokenizer: Tokenizer) -> list[str]:
    """The tokens' printable spellings, by their places in the vocabulary; all different."""
    flags = tokenizer.vocabulary.continuation
    marks = [False] * len(tokenizer) if flags is None else flags.tolist()
    return [spell(token, mark) for token, mark in zip(tokenizer.vocabulary.tokens, marks, strict=True)]


def ids_of(vocabulary: Vocabulary) -> list[int]:
    """The id of each token, by its place."""
    return list(range(len(vocabulary))) if vocabulary.ids is None else vocabulary.ids.tolist()


def special_names(tokenizer: Tokenizer) -> dict[str, int]:
    """The special ids of a tokenizer that was made elsewhere, by name.

    Those are left out that have none, whose name is no text or that of another, or is how a token is spelt.
    """
    taken = set(spellings(tokenizer))
    found: dict[str, int] = {}
    for number, name in tokenizer.vocabulary.special.items():
        try:
            text = name.decode()
        except UnicodeDecodeError:
            continue
        if text and text not in taken:
            found.setdefault(text, number)
    return found


def special_ids(tokenizer: Tokenizer) -> dict[str, int]:
    """All special ids by name: a tokenizer's own, and those of the end of a text and of padding."""
    return special_names(tokenizer) | tokenizer.end_and_padding


def unused_name(number: int) -> str:
    """What an id is called that stands for nothing, or has no name of its own; no token is spelt with a blank."""
    return f"<unused {number}>"


def names_by_id(tokenizer: Tokenizer) -> list[str]:
    """What each id below ``id_limit`` is called; all different."""
    names = list(map(unused_name, range(tokenizer.id_limit)))
    for spelling, number in zip(spellings(tokenizer), ids_of(tokenizer.vocabulary), strict=True):
        names[number] = spelling
    for name, number in special_names(tokenizer).items():
        names[number] = name
    return names
