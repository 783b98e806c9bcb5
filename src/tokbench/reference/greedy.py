"""Plain-Python reference of greedy and longest-prefix segmentation."""


def greedy(text: bytes, first: dict[bytes, int], rest: dict[bytes, int]) -> list[int]:
    """Take the longest token of ``first``, then the longest of ``rest`` until the text is used up."""
    found = []
    ids = first
    while text:
        size = max(size for size in range(1, len(text) + 1) if text[:size] in ids)
        found.append(ids[text[:size]])
        text = text[size:]
        ids = rest
    return found
