"""Export to a SentencePiece model, if it returns the same ids as ours on pre-tokens.

SentencePiece processes characters, our tokens are bytes. Pieces are therefore tokens in GPT-2's printable spelling, one
character a byte. The model's normalization table maps each character of a text to the spelling of its bytes, its
denormalization table maps them back. Ids are ours, and unused ids are unused pieces. End of text and padding follow,
and last the unknown piece, for the characters that the table lacks. These are U+0000, unassigned characters, and
private-use characters outside the basic plane. SentencePiece finds pieces by name. If a token or a special token has
the name of a control piece or of the unknown piece, a number is added to the latter's name.

SentencePiece has no pre-tokens. If a scheme splits texts, pass the model one pre-token at a time, otherwise the text.
It ranks merges by their result, as tiktoken does, and adds scores in single precision: equality of ids is checked by
comparison.
"""

import io
import json
import unicodedata
from collections.abc import Collection, Iterator
from functools import cache
from itertools import chain, count
from pathlib import Path
from tempfile import TemporaryDirectory

from tokbench.adapters.forms.patterns import pattern_of
from tokbench.adapters.forms.sentencepiece import CONTROL, NORMAL, UNKNOWN, UNUSED, model_class
from tokbench.adapters.names import ids_of, special_ids, spellings, unused_name
from tokbench.adapters.same_ids import MOST_COMPARED, compare
from tokbench.errors import TokbenchError
from tokbench.pretokens import PretokenCounts
from tokbench.tokenizer import Tokenizer
from tokbench.tokenizer.hugging_face import CHARACTERS, PADDING, spell
from tokbench.vocabulary import Vocabulary, usable_scores

MODEL = "tokenizer.model"
SETTINGS = "sentencepiece.json"
"""File of the settings that the model lacks: the pre-tokenization pattern, and the special tokens."""
KINDS = {"merge": "BPE", "ranked": "BPE", "likelihood": "UNIGRAM"}
"""Segmentations that SentencePiece implements, with their names there."""
WAYS = {"BPE": "ranks merges by what they make", "UNIGRAM": "sums scores in single precision"}
"""Possible reasons for different ids, by model."""
UNKNOWN_PIECE = "<unk>"


def to_sentencepiece(tokenizer: Tokenizer, characters: Collection[str] | None = None) -> bytes:
    """Return a serialised model of the same tokenizer; ids are not compared.

    Args:
        tokenizer: tokenizer to export.
        characters: characters of the normalization table (default: None, all that it can have).

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
    # Pieces in the order of ids; ids that nothing has become unused pieces.
    vocabulary, special = tokenizer.vocabulary, special_ids(tokenizer)
    taken = set(spellings(tokenizer))
    control = {number: _unused_name(name, taken) for name, number in special.items()}
    unknown = _unused_name(UNKNOWN_PIECE, taken)
    known = {number: (name, 0.0, CONTROL) for number, name in control.items()}
    for token, number, piece in zip(vocabulary.tokens, ids_of(vocabulary), _pieces(vocabulary, kind), strict=True):
        known[number] = (spell(token), *piece)
    for number in range(max(known) + 1):
        text, score, form = known.get(number, (unused_name(number), 0.0, UNUSED))
        model.pieces.add(piece=text, score=score, type=form)
    model.pieces.add(piece=unknown, score=0, type=UNKNOWN)
    # Special pieces, and tables that spell each byte as a character.
    trainer = model.trainer_spec
    trainer.model_type = type(trainer).ModelType.Value(kind)
    trainer.vocab_size = len(model.pieces)
    trainer.unk_piece, trainer.pad_piece = unknown, control[special[PADDING]]
    trainer.bos_piece = trainer.eos_piece = control[tokenizer.end_of_text]
    trainer.bos_id = trainer.eos_id = tokenizer.end_of_text
    trainer.pad_id, trainer.unk_id = special[PADDING], len(model.pieces) - 1
    tables = type(model).FromString(_tables(None if characters is None else frozenset(characters)))
    model.normalizer_spec.CopyFrom(tables.normalizer_spec)
    model.denormalizer_spec.CopyFrom(tables.denormalizer_spec)
    model.normalizer_spec.escape_whitespaces = False
    serialised: bytes = model.SerializeToString()
    return serialised


def _unused_name(name: str, taken: set[str]) -> str:
    """Return a name that is not in ``taken``, and add it."""
    numbered = (f"{name.removesuffix('>')} {number}>" for number in count(1))
    unused = next(candidate for candidate in chain([name], numbered) if candidate not in taken)
    taken.add(unused)
    return unused


def _pieces(vocabulary: Vocabulary, kind: str) -> Iterator[tuple[float, int]]:
    """Yield score and type of each token's piece; tokens that no merge makes, and barred ones, match no text."""
    if kind == "BPE":
        ranks: dict[int, int] = {}
        if vocabulary.merges is None:  # The rank of a token is its place.
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


@cache
def spelt(character: str) -> bool:
    """Return whether the normalization table contains a character."""
    return _is_spelt(character, unicodedata.category(character))


def _is_spelt(character: str, category: str) -> bool:
    return character != "\0" and category not in ("Cn", "Cs") and not (category == "Co" and ord(character) > 0xFFFF)


@cache
def _tables(characters: frozenset[str] | None) -> bytes:
    """Return a serialised model with only the two tables, which only SentencePiece's trainer can compile.

    A character of a text is looked up without its neighbours, so a table of some characters maps them as that of all.
    """
    import sentencepiece

    # Rules from each character to the characters of its bytes.
    every = map(chr, range(0x110000)) if characters is None else sorted(characters)
    names = [f"{ord(character):X}" for character in CHARACTERS]
    rules = [
        (f"{ord(character):X}", " ".join([names[byte] for byte in character.encode()]))
        for character in every
        if _is_spelt(character, unicodedata.category(character))
    ]
    # Training on four letters compiles the rules; nothing else of the model is used.
    trained = io.BytesIO()
    with TemporaryDirectory() as folder:
        there, back = (Path(folder) / name for name in ("there.tsv", "back.tsv"))
        changed = [(code, spelling) for code, spelling in rules if code != spelling]
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


def export(
    tokenizer: Tokenizer,
    counts: PretokenCounts,
    folder: Path,
    most: int = MOST_COMPARED,
    characters: Collection[str] | None = None,
) -> str:
    """Write ``tokenizer.model`` and ``sentencepiece.json`` if ids are equal on every pre-token that is text.

    Pre-tokens with characters that the model's table lacks are skipped; the message has their number.

    Args:
        tokenizer: tokenizer to export.
        counts: pre-tokens to compare ids on.
        folder: output folder.
        most: maximum number of pre-tokens to compare, the most frequent ones.
        characters: characters of the model's table, which include all of ``counts`` (default: None, all that it can
            have).

    Returns:
        One sentence about the comparison.

    Raises:
        TokbenchError: SentencePiece cannot express the tokenizer.
    """
    import sentencepiece

    pattern = pattern_of(tokenizer.scheme)
    model = to_sentencepiece(tokenizer, characters)
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    comparison = compare(tokenizer, counts, processor.encode, most, lambda text: all(map(spelt, text)))
    if comparison.differs is not None:
        way = WAYS[KINDS[tokenizer.segmentation]]
        raise TokbenchError(
            f"SentencePiece, which {way}, gives other ids for {comparison.differs!r}; nothing is written"
        )
    (folder / MODEL).write_bytes(model)
    settings = {
        "pretokenization": tokenizer.scheme.setting,
        "pattern": pattern,
        "special_tokens": special_ids(tokenizer),
    }
    (folder / SETTINGS).write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")
    restriction = "" if pattern is None else ", each given by itself"
    left = f"; {comparison.left_out} hold characters that are {UNKNOWN_PIECE} to it" if comparison.left_out else ""
    return f"{MODEL} gives the same ids on {comparison}{restriction}{left}"
