"""The file that carries a proof: what is claimed, then the price of every byte of every pre-token.

Its first line is a JSON object of the claim: ``size`` (tokens of the vocabulary, the 256 bytes included), ``longest``
(longest token in bytes, or null), ``scale`` (units of price to a token) and ``bound``. Each line after it is a
pre-token in hexadecimal, a tab, and the prices of its bytes between spaces.
"""

import json
from pathlib import Path

from tokbench.atomic import atomic_file
from tokbench.optimum.prices import Proven
from tokbench.pretokens import PretokenCounts


def write_certificate(path: Path | str, counts: PretokenCounts, size: int, longest: int | None, found: Proven) -> None:
    """Write what proves a bound, whole or not at all."""
    claim = {"size": size, "longest": longest, "scale": found.scale, "bound": found.bound}
    ends = counts.offsets.tolist()
    with atomic_file(path) as partial, open(partial, "w", encoding="ascii", newline="\n") as file:
        file.write(f"{json.dumps(claim)}\n")
        for (pretoken, _), start, end in zip(counts.items(), ends, ends[1:], strict=False):
            file.write(f"{pretoken.hex()}\t{' '.join(map(str, found.prices[start:end].tolist()))}\n")
