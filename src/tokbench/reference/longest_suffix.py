"""Plain-Python reference of segmentation by the longest suffix."""


def longest_suffix(text: bytes, ids: dict[bytes, int]) -> list[int]:
    """Take the longest token at the end until the text is used up."""
    found = []
    while text:
        size = max(size for size in range(1, len(text) + 1) if text[-size:] in ids)
        found.append(ids[text[-size:]])
        text = text[:-size]
    return found[::-1]
