"""Covered pairs, spelled out: mark every pair inside every occurrence of every token."""


def covered_pairs(tokens: list[bytes], counts: list[tuple[bytes, int]]) -> int:
    total = 0
    for text, count in counts:
        marked: set[int] = set()
        for token in tokens:
            for start in range(len(text)):
                if text.startswith(token, start):
                    marked.update(range(start, start + len(token) - 1))
        total += len(marked) * count
    return total
