"""Plain-Python reference of segmentation by derivations: tokens from left to right that agree with their neighbours."""

from collections.abc import Sequence

Parts = dict[bytes, tuple[bytes, bytes]]


def derivations(tokens: Sequence[bytes], merges: Sequence[tuple[int, int, int]]) -> Parts | None:
    """The two parts of each token that text can have, by rank; None where a token may be made of later ones."""
    made: Parts = {}
    known = {bytes([byte]) for byte in range(256)}
    first: dict[tuple[bytes, bytes], bool] = {}
    for left, right, _ in merges:
        pair = tokens[left], tokens[right]
        if pair in first:
            continue
        first[pair] = known >= set(pair)
        if first[pair] and agree(*pair, made):
            made[pair[0] + pair[1]] = pair
            known.add(pair[0] + pair[1])
    late = [pair for pair, in_time in first.items() if not in_time and known >= set(pair)]
    return None if any(agree(*pair, made) for pair in late) else made


def agree(left: bytes, right: bytes, made: Parts) -> bool:
    """Whether merging the bytes of two tokens gives back the two."""
    numbers = {token: number for number, token in enumerate(made)}
    pairs = {parts: numbers[token] for token, parts in made.items()}
    limit = len(made)
    while pairs.get((left, right), limit) >= limit:
        if max(numbers.get(left, -1), numbers.get(right, -1)) < 0:
            return True
        if numbers.get(left, -1) > numbers.get(right, -1):
            limit, left = numbers[left], made[left][1]
        else:
            limit, right = numbers[right] + 1, made[right][0]
    return False


def cut(text: bytes, made: Parts) -> list[bytes]:
    """The only sequence of tokens in which all neighbours agree, the longest tokens tried first."""
    known = {bytes([byte]) for byte in range(256)} | set(made)
    found: list[bytes] = []

    def behind(start: int) -> bool:
        """Whether the rest of the text follows what has been found."""
        if start == len(text):
            return True
        for end in range(len(text), start, -1):
            token = text[start:end]
            if token in known and (not found or agree(found[-1], token, made)):
                found.append(token)
                if behind(end):
                    return True
                found.pop()
        return False

    behind(0)
    return found
