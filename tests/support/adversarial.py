"""Strings made to go wrong: damaged UTF-8, every script, edges of schemes, runs, and tokens in the wrong company."""

from collections.abc import Callable, Iterator, Sequence
from random import Random

SCRIPTS = (
    *((0x20, 0x7E), (0xA1, 0x24F), (0x300, 0x36F), (0x370, 0x3FF), (0x400, 0x52F), (0x590, 0x5F4), (0x600, 0x6FF)),
    *((0x900, 0x97F), (0x980, 0x9FF), (0xB80, 0xBFF), (0xE01, 0xE5B), (0xF00, 0xFD4), (0x10A0, 0x10FF)),
    *((0x1100, 0x11FF), (0x1200, 0x137C), (0x1780, 0x17F9), (0x2000, 0x206F), (0x2070, 0x209C), (0x2150, 0x218B)),
    *((0x3040, 0x30FF), (0x4E00, 0x9FFF), (0xAC00, 0xD7A3), (0xE000, 0xE0FF), (0xFE00, 0xFE0F), (0xFFF0, 0xFFFF)),
    *((0x10000, 0x1007F), (0x12000, 0x123FF), (0x1D400, 0x1D7FF), (0x1F1E6, 0x1F1FF), (0x1F300, 0x1F6FF)),
    *((0x20000, 0x2A6DF), (0xE0020, 0xE007F), (0x10FFF0, 0x10FFFF)),
)
"""First and last code points: blocks of many scripts, marks, digits and numerals, emoji, tags, the very last ones."""

BLANKS = "\n \r\n \r \n\r \t \x0b \x0c \x1c \x1f \u0085 \u00a0 \u1680 \u180e \u2002 \u200b \u2028 \u3000 \ufeff"
QUOTES = "'s 't 're 've 'm 'll 'd 'S 'LL ' ''s ’s don't we'll I'd've rock'n'roll"
OTHERS = "0 1 007 ٣ ४ ² ½ Ⅷ 一 1a a1 3.14 1,000 _ - -- ... #! a A é e\u0301 ß \u200d \x00 \x7f"
SPECIALS = "<|endoftext|> <|padding|> </s> [UNK] <unk> ## ▁ Ġ Ċ ‿"
EDGES = [b" ", b"  ", *(text.encode() for text in f"{BLANKS} {QUOTES} {OTHERS} {SPECIALS}".split(" "))]
"""Where schemes cut or do not, and what means something to some tokenizer."""

NOT_UTF8 = [
    *(b"\x80", b"\xbf", b"\xc0\x80", b"\xc1\xbf", b"\xc3", b"\xe0\x80\x80", b"\xe6\x9d", b"\xed\xa0\x80"),
    *(b"\xed\xbf\xbf", b"\xf0\x80\x80\x80", b"\xf0\x9f\xa6", b"\xf4\x90\x80\x80", b"\xf8\x88\x80\x80\x80"),
    *(b"\xfe", b"\xff", b"\xff\xfe", b"\xc3\x28", b"\xe2\x28\xa1", b"\xe2\x82\x28"),
]


class Strings:
    """An endless supply.

    Args:
        tokens: tokens of vocabularies, to be repeated, cut and joined.
        prose: text to take pieces of.
        seed: equal seeds give equal strings.
    """

    def __init__(self, tokens: Sequence[bytes], prose: bytes, seed: int) -> None:
        self.tokens = tokens
        self.prose = prose
        self.random = Random(seed)
        self.kinds: list[Callable[[], bytes]] = [
            self.noise,
            self.script,
            self.script,
            self.passage,
            self.passage,
            self.damaged,
            self.edges,
            self.edges,
            self.run,
            self.joined_tokens,
            self.joined_tokens,
            self.cut_token,
            self.few_bytes,
        ]

    def __iter__(self) -> Iterator[bytes]:
        while True:
            parts = self.random.choice((1, 1, 1, 2, 3))
            yield b"".join(self.random.choice(self.kinds)() for _ in range(parts))

    def noise(self) -> bytes:
        return self.random.randbytes(self.random.randrange(30))

    def script(self) -> bytes:
        first, last = self.random.choice(SCRIPTS)
        points = self.random.choices(range(first, last + 1), k=self.random.randrange(1, 10))
        return "".join(map(chr, points)).encode()

    def passage(self) -> bytes:
        start = self.random.randrange(len(self.prose))
        return self.prose[start : start + self.random.randrange(60)]

    def damaged(self) -> bytes:
        text = bytearray(self.script() + self.passage()[:10] + self.script())
        place = self.random.randrange(len(text))
        text[place : place + self.random.randrange(3)] = self.random.choice(NOT_UTF8)
        return bytes(text)

    def edges(self) -> bytes:
        return b"".join(self.random.choices(EDGES, k=self.random.randrange(1, 8)))

    def run(self) -> bytes:
        unit = self.random.choice([*EDGES, *NOT_UTF8]) if self.random.random() < 0.6 else self.token()
        times = self.random.choice((2, 3, 5, 8, 16, 17, 33, 50)) // (1 + len(unit) // 8) + 1
        return unit * times + self.random.choice((b"", unit[:-1], b" "))

    def joined_tokens(self) -> bytes:
        return b"".join(self.token() for _ in range(self.random.randrange(1, 7)))

    def cut_token(self) -> bytes:
        token = self.token()
        return token[self.random.randrange(len(token)) :] + token[: self.random.randrange(len(token) + 1)]

    def few_bytes(self) -> bytes:
        return bytes(self.random.choices(self.random.choice((b"ab", b"a ", b" \n", b"\x00\xff", b"1a'")), k=20))

    def token(self) -> bytes:
        return self.random.choice(self.tokens)

    def huge(self, size: int) -> list[bytes]:
        """Strings of ``size`` bytes or a little more that some schemes, or all, leave whole."""
        short = [self.random.choice([token for token in self.tokens if 1 < len(token) < 9]) for _ in range(3)]
        return [
            b"a" * size,
            b"\xff" * size,
            b" " * size,
            "é".encode() * (size // 2),
            *(token * (size // len(token) + 1) for token in short),
            bytes(self.random.choices(b"ab", k=size)),
            bytes(self.random.choices(b"etaoinshrdlu", k=size)),
            self.random.randbytes(size),
            bytes(range(256)) * (size // 256 + 1),
            bytes(byte for byte in self.prose if byte > 32)[:size],
        ]
