"""Certificates of lower bounds: file format, and an independent check of the proof.

The first line is a JSON object with the claim: ``size`` (tokens of the vocabulary, including the 256 bytes),
``longest`` (longest token in bytes), ``max_pretoken_bytes`` (longest pre-token in bytes), ``scale`` (units of price per
token) and ``bound``. The two limits are null if there is none. Each further line is a pre-token in hexadecimal, a tab,
and the prices of its bytes, separated by spaces.

The check is plain Python and shares no code with the search.

Proof: consider a vocabulary of the 256 bytes and K other tokens, and any segmentation of a pre-token that occurs c
times. A single byte costs c, and its price is at most c. A longer token costs c, which is at least the prices of its
bytes minus its saving there, if that is positive. So all tokens used cost at least the prices of all bytes minus the
savings of the K tokens at all their places. No K tokens save more than the K substrings with the greatest savings.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from heapq import nlargest
from itertools import accumulate
from pathlib import Path
from typing import Any

from tokbench.errors import TokbenchError
from tokbench.io.atomic import atomic_file
from tokbench.optimum.graph import ProvenBound
from tokbench.pretokens import PretokenCounts


def write_certificate(
    path: Path | str,
    counts: PretokenCounts,
    size: int,
    longest: int | None,
    max_pretoken_bytes: int | None,
    proof: ProvenBound,
) -> None:
    """Write the certificate of a bound atomically.

    Args:
        path: path of the file.
        counts: pre-tokens covered by the bound, without longer ones.
        size: tokens of the vocabulary, including the 256 bytes.
        longest: longest token, in bytes; None for no limit.
        max_pretoken_bytes: longest pre-token, in bytes; None for no limit.
        proof: the bound and its prices.
    """
    claim = {
        "size": size,
        "longest": longest,
        "max_pretoken_bytes": max_pretoken_bytes,
        "scale": proof.scale,
        "bound": proof.bound,
    }
    ends = counts.offsets.tolist()
    with atomic_file(path) as partial, open(partial, "w", encoding="ascii", newline="\n") as file:
        file.write(f"{json.dumps(claim)}\n")
        for (pretoken, _), start, end in zip(counts.items(), ends, ends[1:], strict=False):
            file.write(f"{pretoken.hex()}\t{' '.join(map(str, proof.prices[start:end].tolist()))}\n")


BYTES = 256


def proves(
    counts: Mapping[bytes, int], prices: Mapping[bytes, Sequence[int]], size: int, scale: int, longest: int | None
) -> int:
    """Return the bound proven by prices: tokens that any vocabulary needs at least.

    Args:
        counts: occurrences by pre-token.
        prices: prices of its bytes by pre-token, in units of 1 / scale tokens.
        size: tokens of the vocabulary, including the 256 bytes.
        scale: units of price per token.
        longest: longest token, in bytes; None for no limit.

    Raises:
        ValueError: a pre-token has more or fewer prices than bytes, or a price exceeds the cost of a single byte.
    """
    total, saved = 0, Counter[bytes]()
    for pretoken, count in counts.items():
        byte_prices = prices[pretoken]
        if len(byte_prices) != len(pretoken):
            raise ValueError(f"{pretoken!r} has {len(byte_prices)} prices for {len(pretoken)} bytes")
        if max(byte_prices, default=0) > count * scale:
            raise ValueError(f"a byte of {pretoken!r} is priced at {max(byte_prices)}, above its {count} x {scale}")
        before = [0, *accumulate(byte_prices)]
        total += before[-1]
        for start in range(len(pretoken)):
            last = len(pretoken) if longest is None else min(len(pretoken), start + longest)
            for end in range(start + 2, last + 1):
                saving = before[end] - before[start] - count * scale
                if saving > 0:
                    saved[pretoken[start:end]] += saving
    least = total - sum(nlargest(size - BYTES, saved.values()))
    return -(-least // scale)


def read_certificate(path: Path) -> tuple[dict[str, Any], dict[bytes, list[int]]]:
    """Read the claim and the prices of a certificate.

    Raises:
        ValueError: the format is invalid, or a pre-token is duplicated.
    """
    with open(path, encoding="ascii") as file:
        claim = json.loads(file.readline())
        prices: dict[bytes, list[int]] = {}
        for number, line in enumerate(file, 2):
            spelt, _, numbers = line.partition("\t")
            pretoken = bytes.fromhex(spelt)
            if pretoken in prices:
                raise ValueError(f"line {number}: {pretoken!r} is duplicated")
            prices[pretoken] = [int(price) for price in numbers.split()]
    if not isinstance(claim, dict) or not {"size", "longest", "scale", "bound"} <= claim.keys():
        raise ValueError("line 1: no claim of size, longest, scale and bound")
    if not isinstance(claim.get("max_pretoken_bytes"), int | None):
        raise ValueError("line 1: max_pretoken_bytes must be a whole number or null")
    if not all(isinstance(claim[key], int) and claim[key] > 0 for key in ("size", "scale")):
        raise ValueError("line 1: size and scale must be whole numbers above 0")
    return claim, prices


def read_counts(path: Path) -> dict[bytes, int]:
    """Read pre-tokens and counts from Parquet or from TSV ``hex<TAB>count``; counts of duplicates are added."""
    counts: Counter[bytes] = Counter()
    if path.suffix.lower() == ".parquet":
        from pyarrow.parquet import ParquetFile

        with path.open("rb") as file:  # Arrow expands "~" at the start of a path
            table = ParquetFile(file).read(columns=["pretoken", "count"], use_threads=False)
        for pretoken, count in zip(*(table[name].to_pylist() for name in ("pretoken", "count")), strict=True):
            counts[pretoken] += count
    else:
        for line in path.read_text(encoding="ascii").splitlines():
            spelt, number = line.split("\t")
            counts[bytes.fromhex(spelt)] += int(number)
    return {pretoken: count for pretoken, count in counts.items() if pretoken and count}


def check_certificate(certificate: Path, counts: Path) -> tuple[dict[str, Any], int]:
    """Check a proof on the text that it is about.

    Args:
        certificate: file of :func:`write_certificate`.
        counts: file of pre-token counts.

    Returns:
        The claim, and the number of tokens that the certificate proves, which is at least the claimed one.

    Raises:
        TokbenchError: a file is not of its kind, pre-tokens have no prices, or less is proven than claimed.
    """
    try:
        text = read_counts(counts)
    except (ValueError, KeyError) as error:
        raise TokbenchError(f"{counts}: not pre-token counts ({error})") from None
    try:
        claim, prices = read_certificate(certificate)
        if (longest := claim.get("max_pretoken_bytes")) is not None:
            text = {pretoken: count for pretoken, count in text.items() if len(pretoken) <= longest}
        if missing := text.keys() - prices.keys():
            raise ValueError(f"{len(missing):,} pre-tokens of {counts} have no prices, {min(missing)!r} among them")
        proven = proves(text, prices, claim["size"], claim["scale"], claim["longest"])
    except (ValueError, TypeError) as error:
        raise TokbenchError(f"{certificate}: proves nothing: {error}") from None
    if proven < claim["bound"]:
        raise TokbenchError(f"{certificate}: claims {claim['bound']} tokens, but proves {proven} only")
    return claim, proven
