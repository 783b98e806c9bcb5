"""The file that carries a proof: the claim, then the price of every byte of every pre-token.

Its first line is a JSON object with the claim: ``size`` (tokens of the vocabulary, the 256 bytes included), ``longest``
(longest token in bytes, or null), ``max_pretoken_bytes`` (longest pre-token in bytes, or null), ``scale`` (units of
price to a token) and ``bound``. Each further line is a pre-token in hexadecimal, a tab, and the prices of its bytes,
separated by spaces.
"""

import json
from pathlib import Path

from tokbench.atomic import atomic_file
from tokbench.optimum.prices import Proven
from tokbench.pretokens import PretokenCounts


def write_certificate(
    path: Path | str,
    counts: PretokenCounts,
    size: int,
    longest: int | None,
    max_pretoken_bytes: int | None,
    found: Proven,
) -> None:
    """Write what proves a bound, whole or not at all.

    Args:
        path: the file.
        counts: the pre-tokens that the bound is of, without longer ones.
        size: tokens of the vocabulary.
        longest: longest token, in bytes; no limit when None.
        max_pretoken_bytes: longest pre-token; no limit when None.
        found: the bound and its prices.
    """
    claim = {
        "size": size,
        "longest": longest,
        "max_pretoken_bytes": max_pretoken_bytes,
        "scale": found.scale,
        "bound": found.bound,
    }
    ends = counts.offsets.tolist()
    with atomic_file(path) as partial, open(partial, "w", encoding="ascii", newline="\n") as file:
        file.write(f"{json.dumps(claim)}\n")
        for (pretoken, _), start, end in zip(counts.items(), ends, ends[1:], strict=False):
            file.write(f"{pretoken.hex()}\t{' '.join(map(str, found.prices[start:end].tolist()))}\n")
