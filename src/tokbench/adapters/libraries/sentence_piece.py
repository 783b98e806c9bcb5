"""Google's ``sentencepiece``: a ``.model`` file."""

import sentencepiece

BLANK = "\u2581"
"""The character by which pieces spell a blank."""


class SentencePiece:
    """A model, without the ids that begin and end a text.

    Args:
        processor: the library's.
    """

    def __init__(self, processor: sentencepiece.SentencePieceProcessor) -> None:
        self.processor = processor
        self.size: int = processor.get_piece_size()
        self.unknown: int | None = processor.unk_id()

    def encode(self, text: str) -> list[int]:
        ids: list[int] = self.processor.encode(text, out_type=int)
        return ids

    def spans(self, text: str) -> list[tuple[int, int]]:
        """As its message of a text has them: of a character in several pieces the last has it, the others nothing."""
        pieces = self.processor.encode(text, out_type="immutable_proto").pieces
        return [(piece.begin, piece.end) for piece in pieces]

    def decode(self, ids: list[int]) -> bytes:
        for one in ids:
            if one >= self.size:
                raise KeyError(one)
        return str(self.processor.decode(ids)).encode()

    def name(self, one: int) -> bytes:
        return str(self.processor.id_to_piece(one)).encode() if one < self.size else b""

    def id_of(self, name: str) -> int | None:
        number = int(self.processor.piece_to_id(name))
        return number if self.name(number) == name.encode() else None

    def bytes_of(self, one: int) -> bytes:
        if one >= self.size:
            raise KeyError(one)
        piece = str(self.processor.id_to_piece(one))
        if self.processor.is_byte(one):  # Called <0x41>.
            return bytes([int(piece[1:-1], 16)])
        return piece.replace(BLANK, " ").encode()

    def normalized(self, text: str) -> str:
        found = str(self.processor.normalize(text)).replace(BLANK, " ")
        return found if text.startswith(" ") else found.removeprefix(" ")


def open(content: bytes) -> SentencePiece:
    """The tokenizer of a model; an error of the library where it is none."""
    processor = sentencepiece.SentencePieceProcessor()
    processor.LoadFromSerializedProto(content)
    return SentencePiece(processor)
