"""GreedTok and GreedWMC: every gain is recomputed for every choice, from sets of cuts."""

Words = list[tuple[bytes, int]]


def places(word: bytes, token: bytes) -> list[int]:
    return [start for start in range(len(word)) if word.startswith(token, start)]


def joined(word: bytes, cuts: set[int], token: bytes) -> set[int]:
    """Return the cuts cleared by a token of GreedTok: valid matches from left to right, without overlaps."""
    cleared: set[int] = set()
    free = 0
    for start in places(word, token):
        end = start + len(token)
        if start >= free and {start, end} <= cuts:
            cleared |= cuts & set(range(start + 1, end))
            free = end
    return cleared


def covered(word: bytes, cuts: set[int], token: bytes) -> set[int]:
    """Return the cuts cleared by a token of GreedWMC: all cuts inside any of its matches."""
    inside = {cut for start in places(word, token) for cut in range(start + 1, start + len(token))}
    return cuts & inside


def choose(words: Words, candidates: set[bytes], limit: int, constrained: bool) -> list[tuple[bytes, int]]:
    """Return the tokens in order of choice, each with its gain. Ties: the shorter token, then the lesser bytes.

    >>> candidates = substrings([(b'banana', 1)], 3)
    >>> choose([(b'banana', 1)], candidates, 2, constrained=True)
    [(b'an', 2), (b'ana', 1)]
    >>> choose([(b'banana', 1)], candidates, 2, constrained=False)
    [(b'ana', 4), (b'ba', 1)]
    """
    clears = joined if constrained else covered
    state = [(word, count, set(range(len(word) + 1))) for word, count in words]
    choice: list[tuple[bytes, int]] = []
    while len(choice) < limit:
        gains = {
            token: sum(count * len(clears(word, cuts, token)) for word, count, cuts in state) for token in candidates
        }
        best = min(gains, key=lambda token: (-gains[token], len(token), token), default=b"")
        if not gains.get(best):
            break
        for word, _, cuts in state:
            cuts -= clears(word, cuts, best)
        choice.append((best, gains[best]))
    return choice


def substrings(words: Words, longest: int) -> set[bytes]:
    """Return all substrings of 2 to ``longest`` bytes."""
    return {
        word[start:end]
        for word, _ in words
        for start in range(len(word))
        for end in range(start + 2, min(len(word), start + longest) + 1)
    }
