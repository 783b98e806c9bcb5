"""The printable spelling of bytes that GPT-2 introduced and Hugging Face's byte-level tokenizers share."""

CHARACTERS: tuple[str, ...]
"""The character of each of the 256 bytes: itself where printable, else one from U+0100 upwards in byte order."""


def _characters() -> tuple[str, ...]:
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    replacements = iter(range(0x100, 0x200))
    return tuple(chr(byte if byte in printable else next(replacements)) for byte in range(256))


CHARACTERS = _characters()
BYTE_OF = {character: byte for byte, character in enumerate(CHARACTERS)}
CONTINUATION = "\u203f"
"""Stands before tokens that match only inside a pre-token. No byte is spelt with it, so spellings stay unique,
which WordPiece's own ``##`` would not be."""


def spell(token: bytes, continuation: bool = False) -> str:
    """A token's printable spelling."""
    return (CONTINUATION if continuation else "") + "".join(CHARACTERS[byte] for byte in token)


def unspell(spelling: str) -> bytes:
    """The bytes of a printable spelling."""
    return bytes(BYTE_OF[character] for character in spelling.removeprefix(CONTINUATION))
