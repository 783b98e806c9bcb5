"""Pre-tokenizations in the ``tokenizers`` library: its ``Split`` by the same patterns, whose engine is Oniguruma.

The two engines agree on characters of Unicode 16; on later ones each goes by its own edition. Where a pattern means
something else to Oniguruma, what it cuts otherwise is found on text and nothing is exported.
"""

from collections.abc import Iterator
from itertools import islice, pairwise
from typing import TYPE_CHECKING

from tokbench.adapters.probes import lines
from tokbench.errors import shortened
from tokbench.memory import may_be_short
from tokbench.pretokenization import Pretokenization
from tokbench.pretokens import PretokenCounts

if TYPE_CHECKING:
    from tokenizers.pre_tokenizers import Split

MOST = 20_000
"""Pre-tokens that are put together to running text."""
TOGETHER = 50
"""Pre-tokens of one text."""
PROBES = (
    "I'LL pay 12345 now!!\n\n  ok",
    "\t a\u00a0\u3000b \u2028\r\n\r\n c  ",
    "naïve Straße e\u0301 'ſ ſ's 'ré $1,234.56",
    "東京タワー Жук مرحبا नमस्ते 각",
    "\x00\x7f <|x|> a_b--c ...//\n/",
    *(
        f"{sign} {sign}a{sign}1{sign}{sign}\n{sign}.{sign}A{sign}中"
        for sign in "¼²٣Ⅷ𝟙_·ªʰǅﬁßİıſK\u0301\u200d\u20dd\u2028\x85\x1c\xa0\u180e\u200b\ufeff\ufffd$—「€😀"
    ),
)
"""Texts on which engines may differ: blanks, cases, marks, numbers, scripts, and signs of every kind among others."""


def splits_of(scheme: Pretokenization) -> "list[Split] | str":
    """What cuts text as the scheme does, one after another; or why nothing does."""
    from tokenizers import Regex
    from tokenizers.pre_tokenizers import Split

    if scheme.splits is None:
        return f"no regular expression cuts as pre-tokenization '{scheme.label}' does"
    try:
        return [Split(Regex(pattern), "isolated") for pattern in scheme.splits]
    except Exception as error:  # The library raises nothing more special.
        if may_be_short(error):
            raise
        return f"Hugging Face's engine does not take the pattern of '{scheme.label}' ({error})"


def cut_otherwise(scheme: Pretokenization, splits: "list[Split]", counts: PretokenCounts | None) -> str | None:
    """A text that ``splits`` do not cut as the scheme does, None where none is found."""
    from tokenizers.pre_tokenizers import Sequence

    theirs = Sequence(splits)
    for text in (*PROBES, *lines(), *_running(counts)):
        written = text.encode()
        pieces = [written[start:end] for start, end in pairwise(scheme.boundaries(written).tolist())]
        if pieces != [piece.encode() for piece, _ in theirs.pre_tokenize_str(text)]:
            return text
    return None


def why_not(scheme: Pretokenization, counts: PretokenCounts | None) -> str | None:
    """Why the library cannot cut as the scheme does, None where it can."""
    splits = splits_of(scheme)
    if isinstance(splits, str):
        return splits
    text = cut_otherwise(scheme, splits, counts)
    return None if text is None else f"Hugging Face's engine cuts '{shortened(text)}' otherwise than '{scheme.label}'"


def _running(counts: PretokenCounts | None) -> Iterator[str]:
    """Text made of frequent pre-tokens; what is no UTF-8 in them is left out."""
    pretokens = iter(()) if counts is None else (token for token, _ in islice(counts.items(), MOST))
    while together := list(islice(pretokens, TOGETHER)):
        yield b"".join(together).decode("utf-8", "ignore")
