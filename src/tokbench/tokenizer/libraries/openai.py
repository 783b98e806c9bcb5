"""OpenAI's ``tiktoken``: a file of ranks, and a pattern."""

from collections.abc import Mapping

import tiktoken

from tokbench.tokenizer.rank_lines import parse_ranks


class Tiktoken:
    """Ranks and a pattern; special tokens of the encoding are recognised in texts, all others are plain text.

    Args:
        encoding: the library's object.
    """

    unknown = None

    def __init__(self, encoding: tiktoken.Encoding) -> None:
        self.encoding = encoding

    def encode(self, text: str) -> list[int]:
        if not self.encoding.special_tokens_set:
            return self.encoding.encode_ordinary(text)
        return self.encoding.encode(text, allowed_special="all")

    def spans(self, text: str) -> None:
        return None

    def decode(self, ids: list[int], names: Mapping[int, bytes]) -> bytes:
        if names.keys().isdisjoint(ids):
            return self.encoding.decode_bytes(ids)
        return b"".join(names[token_id] if token_id in names else self.bytes_of(token_id) for token_id in ids)

    def name(self, token_id: int) -> bytes:
        try:
            return self.encoding.decode_single_token_bytes(token_id)
        except KeyError:
            return b""

    def id_of(self, name: str) -> int | None:
        try:
            return self.encoding.encode_single_token(name)
        except KeyError:
            return None

    def bytes_of(self, token_id: int) -> bytes:
        return self.encoding.decode_single_token_bytes(token_id)

    def form(self, token_id: int) -> tuple[bytes, bool]:
        return self.name(token_id), False

    def normalized(self, text: str) -> str:
        return text

    def changed(self, text: str) -> int:
        return 0


def unmatched(pattern: str, text: str) -> str:
    """Return the characters of a text that are not in a match of a pattern."""
    single = {bytes([value]): value for value in range(256)}
    encoding = tiktoken.Encoding("sets", pat_str=pattern, mergeable_ranks=single, special_tokens={})
    matched = set(encoding.decode_bytes(encoding.encode_ordinary(text)).decode())
    return "".join(character for character in text if character not in matched)


def open(content: bytes, pattern: str, shift: int = 0, special: Mapping[str, int] | None = None) -> Tiktoken:
    """Open the tokenizer of a file of ranks.

    Args:
        content: lines of base64 and rank.
        pattern: pre-tokenization pattern.
        shift: number added to a rank for its id, default: 0.
        special: special tokens recognised in texts, with their ids; default: none.
    """
    ranks = {token: rank + shift for token, rank in parse_ranks(content, "ranks").items()}
    marks = dict(special or {})
    return Tiktoken(tiktoken.Encoding("imported", pat_str=pattern, mergeable_ranks=ranks, special_tokens=marks))
