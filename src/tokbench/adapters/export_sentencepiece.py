"""Export to a SentencePiece model, where that gives the same ids as ours on pre-tokens.

SentencePiece works on characters, our tokens are bytes. Pieces are therefore tokens in GPT-2's printable spelling, one
character a byte, and the model's table of normalisation turns each character of a text into the spelling of its bytes,
the table for decoding back. Ids are ours, those that stand for nothing being unused pieces; end of text and padding
follow, and last the unknown piece, which stands for the characters that the table does not hold: U+0000, and those that
Unicode has not assigned or leaves to private use outside the basic plane. SentencePiece finds pieces by name. Where a
token or a special token has the name of a control piece or of the unknown piece, these get a number in theirs.

SentencePiece has no pre-tokens. Where a scheme cuts, its model is to be given one pre-token at a time; without a
scheme, the text. It ranks merges by what they make, as tiktoken does, and sums scores in single precision: whether ids
are the same is found by comparing.
"""

import io
import json
import unicodedata
from collections.abc import Iterator
from functools import cache
from itertools import chain, count
from pathlib import Path
from tempfile import TemporaryDirectory

from tokbench.adapters.added_tokens import ids_of, special_ids, spellings, unused_name
from tokbench.adapters.forms.patterns import pattern_of
from tokbench.adapters.forms.sentencepiece import CONTROL, NORMAL, UNKNOWN, UNUSED, model_class
from tokbench.adapters.same_ids import MOST_COMPARED, compare
from tokbench.errors import TokbenchError
from tokbench.pretokens import PretokenCounts
from tokbench.tokenizer import Tokenizer
from tokbench.tokenizer.hugging_face import PADDING, spell
from tokbench.vocabulary import Vocabulary, usable_scores

MODEL = "tokenizer.model"
SETTINGS = "sentencepiece.json"
"""What the model does not hold: the pattern of the pre-tokenization, and the special tokens."""
KINDS = {"merge": "BPE", "ranked": "BPE", "likelihood": "UNIGRAM"}
"""Segmentations that SentencePiece has, and what it calls them."""
WAYS = {"BPE": "ranks merges by what they make", "UNIGRAM": "sums scores in single precision"}
"""What may make its ids others than ours."""
UNKNOWN_PIECE = "<unk>"


def to_sentencepiece(tokenizer: Tokenizer) -> bytes:
    """A model of the same tokenizer, serialised; whether its ids are the same is not checked.

    Raises:
        TokbenchError: SentencePiece has no model for the segmentation.
    """
    kind = KINDS.get(tokenizer.segmentation)
    if kind is None:
        raise TokbenchError(
            f"SentencePiece has no model for segmentation '{tokenizer.segmentation}', only for {', '.join(KINDS)}; "
            "nothing is written"
        )
    model = model_class("--to sentencepiece")()
    vocabulary, special = tokenizer.vocabulary, special_ids(tokenizer)
    taken = set(spellings(tokenizer))
    control = {number: _free(name, taken) for name, number in special.items()}
    unknown = _free(UNKNOWN_PIECE, taken)
    known = {number: (name, 0.0, CONTROL) for number, name in control.items()}
    for token, number, piece in zip(vocabulary.tokens, ids_of(vocabulary), _pieces(vocabulary, kind), strict=True):
        known[number] = (spell(token), *piece)
    for number in range(max(known) + 1):
        text, score, form = known.get(number, (unused_name(number), 0.0, UNUSED))
        model.pieces.add(piece=text, score=score, type=form)
    model.pieces.add(piece=unknown, score=0, type=UNKNOWN)
    trainer = model.trainer_spec
    trainer.model_type = type(trainer).ModelType.Value(kind)
    trainer.vocab_size = len(model.pieces)
    trainer.unk_piece, trainer.pad_piece = unknown, control[special[PADDING]]
    trainer.bos_piece = trainer.eos_piece = control[tokenizer.end_of_text]
    trainer.bos_id = trainer.eos_id = tokenizer.end_of_text
    trainer.pad_id, trainer.unk_id = special[PADDING], len(model.pieces) - 1
    tables = type(model).FromString(_tables())
    model.normalizer_spec.CopyFrom(tables.normalizer_spec)
    model.denormalizer_spec.CopyFrom(tables.denormalizer_spec)
    model.normalizer_spec.escape_whitespaces = False
    serialised: bytes = model.SerializeToString()
    return serialised


def _free(name: str, taken: set[str]) -> str:
    """Return a name that is not taken yet, and mark it as taken."""
    numbered = (f"{name.removesuffix('>')} {number}>" for number in count(1))
    found = next(one for one in chain([name], numbered) if one not in taken)
    taken.add(found)
    return found


def _pieces(vocabulary: Vocabulary, kind: str) -> Iterator[tuple[float, int]]:
    """The score and the type of each token's piece; what no merge makes, and what is barred, matches nothing."""
    if kind == "BPE":
        ranks: dict[int, int] = {}
        if vocabulary.merges is None:  # What is joined has its own place as its rank.
            ranks = {index: index for index, token in enumerate(vocabulary.tokens) if len(token) > 1}
        else:
            for rank, (_, _, made) in enumerate(vocabulary.merges.tolist()):
                ranks.setdefault(made, rank)
        for index, token in enumerate(vocabulary.tokens):
            yield (-float(ranks[index]), NORMAL) if index in ranks else (0.0, NORMAL if len(token) == 1 else CONTROL)
        return
    assert vocabulary.scores is not None
    for score, usable in zip(*usable_scores(vocabulary.tokens, vocabulary.scores), strict=True):
        yield (float(score), NORMAL if usable else UNUSED)


def spelt(character: str) -> bool:
    """Whether the table of normalisation holds a character."""
    category = unicodedata.category(character)
    return character != "\0" and category not in ("Cn", "Cs") and not (category == "Co" and ord(character) > 0xFFFF)


@cache
def _tables() -> bytes:
    """A model that has nothing but the two tables, which only SentencePiece's own trainer compiles."""
    import sentencepiece

    rules = [(ord(character), spell(character.encode())) for character in map(chr, range(0x110000)) if spelt(character)]
    trained = io.BytesIO()
    with TemporaryDirectory() as folder:
        there, back = (Path(folder) / name for name in ("there.tsv", "back.tsv"))
        pairs = [(f"{code:X}", " ".join(f"{ord(sign):X}" for sign in spelling)) for code, spelling in rules]
        changed = [(code, spelling) for code, spelling in pairs if code != spelling]
        there.write_text("".join(f"{code}\t{spelling}\n" for code, spelling in changed), encoding="ascii")
        back.write_text("".join(f"{spelling}\t{code}\n" for code, spelling in changed), encoding="ascii")
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(["a b c d"]),
            model_writer=trained,
            model_type="char",
            vocab_size=9,
            hard_vocab_limit=False,
            normalization_rule_tsv=str(there),
            denormalization_rule_tsv=str(back),
            add_dummy_prefix=False,
            remove_extra_whitespaces=False,
            minloglevel=2,
        )
    return trained.getvalue()


def export(tokenizer: Tokenizer, counts: PretokenCounts, folder: Path, most: int = MOST_COMPARED) -> str:
    """Write ``tokenizer.model`` and ``sentencepiece.json`` if ids are the same on every pre-token that is text.

    Pre-tokens with characters that the model's table does not hold are left out, and counted in what is said.

    Args:
        tokenizer: what to export.
        counts: pre-tokens on which the two must agree.
        folder: where the files go.
        most: pre-tokens that are compared at the most, the most frequent ones.

    Returns:
        One sentence on what was compared.

    Raises:
        TokbenchError: SentencePiece cannot express it.
    """
    import sentencepiece

    pattern = pattern_of(tokenizer.scheme)
    model = to_sentencepiece(tokenizer)
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    told = compare(tokenizer, counts, processor.encode, most, lambda text: all(map(spelt, text)))
    if told.differs is not None:
        way = WAYS[KINDS[tokenizer.segmentation]]
        raise TokbenchError(f"SentencePiece, which {way}, gives other ids for {told.differs!r}; nothing is written")
    (folder / MODEL).write_bytes(model)
    settings = {
        "pretokenization": tokenizer.scheme.setting,
        "pattern": pattern,
        "special_tokens": special_ids(tokenizer),
    }
    (folder / SETTINGS).write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")
    one = "" if pattern is None else ", each given by itself"
    left = f"; {told.left_out} hold characters that are {UNKNOWN_PIECE} to it" if told.left_out else ""
    return f"{MODEL} gives the same ids on {told}{one}{left}"
