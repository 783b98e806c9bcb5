"""SentencePiece's ``.model``: BPE with byte fallback in Tokbench's three phases, any other through its own library."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tokbench.adapters.forms.character_bpe import BLANK, CharacterTokens, cut_between
from tokbench.adapters.forms.files import named_file, read_bounded
from tokbench.adapters.forms.folder_classes import IDS_BY_NAME
from tokbench.adapters.forms.folder_settings import FolderSettings, special_to_add
from tokbench.adapters.forms.parsed import End, NativeTokenizer, ParsedTokenizer, ReadOptions, special_note
from tokbench.errors import TokbenchError, shortened
from tokbench.io.compression import plain_name
from tokbench.io.contents import REMEDY
from tokbench.io.json import parse_json
from tokbench.io.numbers import LARGEST_VOCABULARY
from tokbench.io.text_files import first_line
from tokbench.pretokenization.patterns.dialects import NotNativeError
from tokbench.runtime.exit_status import may_be_short
from tokbench.tokenizer.libraries import library_errors
from tokbench.tokenizer.libraries.charsmaps import check_charsmap

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
MODELS = {1: "unigram", 2: "BPE", 3: "words", 4: "characters"}
NORMALISED = {
    "metaspace": "U+2581 in a text becomes a space, as in its library",
    "space": "a space is added before every text, and removed by decoding",
}
"""Notes on steps of normalization."""


def model_class(place: str) -> Any:
    """Return the class ``ModelProto`` of the package ``sentencepiece``.

    Args:
        place: beginning of messages.

    Raises:
        TokbenchError: that package or ``protobuf`` is missing, or ``protobuf`` is older than the class needs.
    """
    try:
        from sentencepiece import sentencepiece_model_pb2
    except Exception as error:
        if may_be_short(error):
            raise
        raise TokbenchError(
            f"{place}: needs the packages 'sentencepiece' and 'protobuf' ({shortened(first_line(error), 200)}); "
            "pip install 'tokbench[existing]'"
        ) from None
    return sentencepiece_model_pb2.ModelProto  # type: ignore[attr-defined,unused-ignore]


def read(path: Path, options: ReadOptions, settings: FolderSettings) -> ParsedTokenizer:
    """Parse a model; control tokens in a text are plain text, user-defined symbols are tokens.

    Raises:
        TokbenchError: the file is damaged, or a package is missing.
    """
    if options.pattern is not None:
        raise TokbenchError(f"{path}: a SentencePiece model defines its segmentation; leave --pattern out")
    content = read_bounded(path)
    model = model_class(str(path))()
    with library_errors(f"{path}: not a model of SentencePiece"):
        model.ParseFromString(content)
        _check(model)
    # Ids of another file, and user-defined symbols that stay text, are written into the model.
    source, limit = "", len(model.pieces)
    if settings.kind in IDS_BY_NAME:
        source, limit = _renumber(model, path, settings)
    user_defined = [number for number, piece in enumerate(model.pieces[:limit]) if piece.type == USER_DEFINED]
    if options.added == "text":
        for number in user_defined:
            model.pieces[number].type = CONTROL
    if source or (user_defined and options.added == "text"):
        content = model.SerializeToString()
    pieces = [(piece.type, _utf8(piece.piece)) for piece in model.pieces[:limit]]
    names = {number: name for number, (_, name) in enumerate(pieces)}
    special = {number: name for number, (kind, name) in enumerate(pieces) if kind in (CONTROL, UNUSED)}
    symbols = {number: name for number, (kind, name) in enumerate(pieces) if kind == USER_DEFINED}
    tokens = sum(kind in (NORMAL, USER_DEFINED, BYTE) for kind, _ in pieces)
    sentences = [special_note(len(special), "control")] if special else []
    sentences += [f"{len(symbols):,} symbols of the user's are cut out of texts first"] if symbols else []
    sentences += [f"ids are those of {source}"] if source else []
    end = model.trainer_spec.eos_piece
    own = [End(end, "eos_piece of the model")] if end.encode() in special.values() else []
    added, notes = special_to_add(settings, names, options.added, str(path))
    sentences += [f"{len(added):,} added tokens are from {settings.source}"] if added else []
    special |= added
    native, reason = None, ""
    try:
        if source:
            raise NotNativeError(f"its ids are those of {source}")
        native = native_model(model, symbols, special, options.segmentation)
    except NotNativeError as error:
        reason = f"SentencePiece ({MODELS[model.trainer_spec.model_type]}): {error}"
    if native is not None:
        tokens = len(native.vocabulary)
        notes = [*notes, *(NORMALISED[step] for step in native.normalization)]
    return ParsedTokenizer(
        native,
        reason=reason,
        library="sentencepiece",
        content=content,
        settings={"limit": limit} if source else {},
        special=special,
        added=symbols,
        ordinary={*user_defined, *settings.ordinary},
        ends=[*settings.ends, *own],
        tokens=tokens,
        ids=max([limit - 1, *special]) + 1,
        notes=[*sentences, *notes],
    )


def native_model(
    model: Any, symbols: Mapping[int, bytes], special: Mapping[int, bytes], segmentation: str | None
) -> NativeTokenizer:
    """Return a model in Tokbench's three phases.

    Args:
        model: the model.
        symbols: user-defined symbols, with their ids.
        special: ids that encoding never returns, with their names.
        segmentation: method instead of the model's.

    Raises:
        NotNativeError: they are not equivalent; the message is the reason.
    """
    trainer, normalizer = model.trainer_spec, model.normalizer_spec
    # Models that our three phases do not have.
    if MODELS[trainer.model_type] != "BPE":
        raise NotNativeError("its segmentation is none of ours")
    if normalizer.precompiled_charsmap:
        raise NotNativeError(f"it normalises texts ({normalizer.name or 'a table of its own'})")
    if normalizer.remove_extra_whitespaces:
        raise NotNativeError("it removes spaces (remove_extra_whitespaces)")
    if not normalizer.escape_whitespaces or trainer.treat_whitespace_as_suffix:
        raise NotNativeError("it spells a space otherwise than before a word by U+2581")
    if not trainer.byte_fallback:
        raise NotNativeError("a character that is no token is the unknown token, as it has no byte fallback")
    kinds = {number: piece.type for number, piece in enumerate(model.pieces)}
    if unused := [number for number, kind in kinds.items() if kind == UNUSED]:
        raise NotNativeError(f"{len(unused):,} pieces are unused, so merges that make them are undone")
    if wrong := next((symbol for symbol in symbols.values() if b" " in symbol), None):
        raise NotNativeError(f"the symbol '{shortened(wrong.decode())}' has a space, which is spelled otherwise")
    # Tokens by their bytes.
    kept = {content.decode().replace(BLANK, " ").encode(): number for number, content in symbols.items()}
    pieces = {number: model.pieces[number].piece for number, kind in kinds.items() if kind == NORMAL}
    byte_ids = {int(model.pieces[symbol].piece[3:-1], 16): symbol for symbol, kind in kinds.items() if kind == BYTE}
    tokens = CharacterTokens(pieces, byte_ids, True, kept)
    longer = [token for token in tokens.ids if len(token.decode("utf-8", "replace")) > 1 and token not in kept]
    known = tokens.ids.keys()
    # Every character of a piece must be a piece, as segmentation begins with characters.
    characters = {sign for token in longer for sign in token.decode() if not sign.isascii()}
    if lacking := next((sign for sign in sorted(characters) if sign.encode() not in known), None):
        raise NotNativeError(f"a piece has the character U+{ord(lacking):04X}, which is no piece")
    setting = cut_between(longer, kept)
    # Scores in the order of the vocabulary.
    of_piece = {number: model.pieces[number].score for number in pieces}
    made = tokens.vocabulary(special, kept)
    scores = np.array([of_piece.get(number, -math.inf) for number in (made.ids if made.ids is not None else ())])
    vocabulary = tokens.vocabulary(special, kept, scores=scores)
    steps = ("metaspace", "space") if normalizer.add_dummy_prefix else ("metaspace",)
    return NativeTokenizer(vocabulary, setting, segmentation or "merge_scores", normalization=steps)


def _renumber(model: Any, path: Path, settings: FolderSettings) -> tuple[str, int]:
    """Move each piece of a model to its id in the ``vocab.json`` next to it, and the pieces without one behind all ids.

    Returns:
        The name of that file, and the number of its ids.

    Raises:
        TokbenchError: the file is missing or damaged, or lacks the unknown token.
    """
    several = plain_name(path.name) == "target.spm" and settings.options.get("separate_vocabs") is True
    file = named_file(path.parent, "target_vocab.json" if several else "vocab.json")
    if file is None:
        raise TokbenchError(f"{path}: its class '{settings.named}' has the ids in vocab.json, which is missing here")
    ids = parse_json(read_bounded(file), str(file), remedy=REMEDY)
    named: dict[int, str] = {}
    for name, number in ids.items():
        valid = type(number) is int and 0 <= number < LARGEST_VOCABULARY
        if not valid or named.setdefault(number, name) != name:
            raise TokbenchError(f"{file}: '{name:.40}' has the id {number!r:.20}; correct the file or remove it")
    pieces = {piece.piece: type(piece).FromString(piece.SerializeToString()) for piece in model.pieces}
    unknown = next((piece.piece for piece in model.pieces if piece.type == UNKNOWN), None)
    if unknown is not None and unknown not in ids:
        raise TokbenchError(f"{file}: the unknown token '{unknown}' has no id; pass the vocab.json of the model")
    del model.pieces[:]
    limit = max(named, default=-1) + 1
    for number in range(limit):
        name = named.get(number, f"<unused {number}>")
        piece = pieces.pop(name, None)
        if piece is None:
            model.pieces.add(piece=name, type=CONTROL)
        else:
            model.pieces.append(piece)
    model.pieces.extend(pieces.values())
    return file.name, limit


def _check(model: Any) -> None:
    """Check a model before the library reads it.

    Raises:
        ValueError: a piece, a score, the end of text or a normalization table is damaged.
    """
    if not 0 < len(model.pieces) <= LARGEST_VOCABULARY:
        raise ValueError(f"{len(model.pieces)} pieces")
    if not all(_utf8(piece.piece) for piece in model.pieces):
        raise ValueError("a piece that is empty")
    if not all(math.isfinite(piece.score) for piece in model.pieces):
        raise ValueError("a score that is no number")
    _utf8(model.trainer_spec.eos_piece)
    for normalizer in (model.normalizer_spec, model.denormalizer_spec):
        check_charsmap(normalizer.precompiled_charsmap)


def _utf8(text: str | bytes) -> bytes:
    """Return a text in UTF-8; the library returns bytes for text that is not UTF-8."""
    return text.encode() if isinstance(text, str) else text.decode().encode()
