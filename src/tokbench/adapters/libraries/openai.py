"""OpenAI's ``tiktoken``: a file of ranks, and a pattern."""

import tiktoken

from tokbench.adapters.forms.ranks import parse_ranks


class Tiktoken:
    """Ranks and a pattern; no special token is known, so that each is text.

    Args:
        encoding: the library's.
    """

    unknown = None

    def __init__(self, encoding: tiktoken.Encoding) -> None:
        self.encoding = encoding

    def encode(self, text: str) -> list[int]:
        return self.encoding.encode_ordinary(text)

    def decode(self, ids: list[int]) -> bytes:
        return self.encoding.decode_bytes(ids)

    def name(self, one: int) -> bytes:
        try:
            return self.encoding.decode_single_token_bytes(one)
        except KeyError:
            return b""

    def bytes_of(self, one: int) -> bytes:
        return self.encoding.decode_single_token_bytes(one)

    def normalized(self, text: str) -> str:
        return text


def open(content: bytes, pattern: str, shift: int = 0) -> Tiktoken:
    """The tokenizer of a file of ranks.

    Args:
        content: lines of base64 and rank.
        pattern: the regular expression that cuts texts.
        shift: what is added to a rank to get an id.
    """
    ranks = {token: rank + shift for token, rank in parse_ranks(content, "ranks").items()}
    return Tiktoken(tiktoken.Encoding("imported", pat_str=pattern, mergeable_ranks=ranks, special_tokens={}))
