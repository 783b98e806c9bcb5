"""Plain-Python reference of segmentation by likelihood."""


def likelihood(text: bytes, scores: dict[bytes, float]) -> list[bytes]:
    """The tokens with the greatest sum of scores; among last tokens with equal sums, the longest."""
    best: list[tuple[float, int]] = [(0.0, 0)]
    for end in range(1, len(text) + 1):
        widths = [width for width in range(1, end + 1) if text[end - width : end] in scores]
        best.append(max((scores[text[end - width : end]] + best[end - width][0], width) for width in widths))
    found = []
    while text:
        width = best[len(text)][1]
        found.append(text[-width:])
        text = text[:-width]
    return found[::-1]


def every_segmentation(text: bytes, tokens: set[bytes]) -> list[list[bytes]]:
    """All ways to cut the text into tokens."""
    if not text:
        return [[]]
    return [
        [text[:size], *rest]
        for size in range(1, len(text) + 1)
        if text[:size] in tokens
        for rest in every_segmentation(text[size:], tokens)
    ]
