"""Readers of published gold data.

The British Lexicon Project (Keuleers, Lacey, Rastle and Brysbaert 2012): lexical decisions on words and nonwords.
``blp-items.txt`` is tab-separated. Its columns include ``spelling``, ``lexicality`` (W or N), ``rt`` (mean reaction
time of correct answers, milliseconds) and ``accuracy``; a missing value is ``NA`` or empty.

CompoundPiece (Minixhofer, Pfeiffer and Vulić 2023): compounds of 36 languages from Wiktionary. The data set
``benjamin/compoundpiece`` is a table (Parquet, or CSV or TSV with a header) with ``word``, ``lang``, and
``segmentation``, the word's parts separated by ``-``. Files made by the authors' script lack the last column and have
the hyphens in ``word``.

The derivatives of DagoBERT (Hofmann, Pierrehumbert and Schütze 2020). ``sents_01_train.txt`` and similar files have one
sentence per line: ``subreddit|||derivative|||base|||left|||sentence|||right``. A derivative has up to three parts: the
text before its base, the base, and the text after it.

LADEC, the Large Database of English Compounds (Gagné, Spalding and Schmidtke 2019). The columns of ``LADECv1-2019.csv``
include the compound ``stim``, its constituents ``c1`` and ``c2``, and ``correctParse``, which is ``yes`` if these are
correct.

MorphoLex (Sánchez-Gutiérrez, Mailhot, Deacon and Wilson 2018): derivational morphology of 70,000 English words. The
columns of ``MorphoLEX_en.xlsx`` (or its sheets as CSV) include ``Word`` and ``MorphoLexSegm``. In the latter, ``(x)``
is a root, ``<x<`` a prefix and ``>x>`` a suffix: ``{<un<(break)>able>}``. Roots have their dictionary form and
inflection is not marked. So the parts of many words do not concatenate to the word.

MorphScore (Arnett and Bergen 2025): words of many languages, each split in two. ``english_morph_data.csv`` has an
index, ``full_word``, ``pt1`` and ``rest``. The language is the file name up to ``_morph_data``.

MorphyNet (Batsuren, Bella and Giunchiglia 2021): inflection and derivation in many languages.
``eng.inflectional.v1.tsv`` has lemma, form, features, and the form's parts separated by ``|`` (``-`` if unknown).
``eng.derivational.v1.tsv`` has source, target, their parts of speech, affix, and ``prefix`` or ``suffix``. The number
of fields distinguishes the two. The language is the file name up to the first dot.

The SIGMORPHON 2022 shared task on morpheme segmentation (Batsuren et al. 2022), words. ``eng.word.dev.tsv`` has lines
``word<TAB>m @@m @@m<TAB>code``. The morphemes are canonical, so those of many words do not concatenate to the word. The
test set without answers (``eng.word.test.tsv``) has one field per line and is rejected.

UnBlend (Pinter, Jacobs and Eisenstein 2020): novel blends and compounds of English. ``complex_words.tsv`` has ``word``,
its ``bases``, and ``sequence`` with one letter per letter of the word. A, B and C name the base of the letter, X marks
several bases, and P, S and O mark letters before, after and between. A part is a run of one letter. Letters of both
bases go to the base that they complete (``adhoc|rat``: adhoc, aristocrat; ``barri|cage``: barricade, cage). Otherwise
the word cannot be split, like words with interleaved bases.

UniMorph (Batsuren et al. 2022, and earlier releases): inflected forms. Lines are ``lemma<TAB>form<TAB>features``. Since
release 4 there is a fourth field, the form's parts separated by ``|``, or ``-`` if unknown. Without that field, a form
that begins with its lemma is split after it.
"""

import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from zipfile import BadZipFile, ZipFile

from pydantic import Field

from tokbench.errors import TokbenchError
from tokbench.io.compression import has_ending
from tokbench.io.numbers import real_number
from tokbench.io.paths import literal
from tokbench.io.text_files import MOST, first_line
from tokbench.metric.words import Decision, SegmentedWord, fields, language_tag, lines, records
from tokbench.resource import ResourceOptions, resource

ABSENT = ("", "NA", "NaN", "nan")
MORPHEME = re.compile(r"<([^<>(){}]+)<|\(([^<>(){}]+)\)|>([^<>(){}]+)>")
COLUMNS = ("Word", "MorphoLexSegm")
AFFIXES = ("prefix", "suffix")
LETTERS = frozenset("ABCXPSO")


@resource("british_lexicon_project", gold="lexical_decisions", files="blp-items*", cites=("keuleers2012",))
def british_lexicon_project(path: Path, language: str, options: ResourceOptions) -> Iterator[Decision]:
    """Words and nonwords with reaction times and accuracies."""
    for number, row in records(path, ("spelling", "lexicality", "rt", "accuracy"), "\t"):
        spelling, lexicality, *values = row
        if not spelling or lexicality not in ("W", "N"):
            raise TokbenchError(f"{path}:{number}: lexicality {lexicality!r} is neither W nor N; correct the line")
        try:
            reaction_time, accuracy = (None if value in ABSENT else real_number(value.strip()) for value in values)
        except ValueError:
            raise TokbenchError(
                f"{path}:{number}: rt and accuracy must be numbers, found {values}; correct it"
            ) from None
        yield Decision(language or "en", spelling, lexicality, reaction_time, accuracy)


@resource("compoundpiece", gold="segmentations", files="*", cites=("minixhofer2023",))
def compoundpiece(path: Path, language: str, options: ResourceOptions) -> Iterator[SegmentedWord]:
    """Words with their constituents; a word that is not a compound is one part."""
    for parts, tag in _rows(path):
        segments = parts.split("-")
        yield SegmentedWord(language or tag, "".join(segments), segments)


def _rows(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the parts of each word, separated by hyphens, and its language."""
    if has_ending(path.name, (".parquet",)):
        import polars as pl

        from tokbench.io.tables import read_frame

        frame = read_frame(path, "name the resource's own file", text=("word", "lang"))
        parts = "segmentation" if "segmentation" in frame.columns else "word"
        cells = frame.select(pl.col(parts).cast(pl.String).fill_null(pl.col("word")), "lang")
        for row, (parts_of_word, tag) in enumerate(cells.iter_rows(), 1):
            if parts_of_word is None or tag is None:
                raise TokbenchError(f"{path}: row {row} has no word or no language; fill or drop it")
            yield parts_of_word, tag
        return
    delimiter = "\t" if ".tsv" in path.name.lower() else ","
    _, head = next(lines(path), (0, ""))
    parts = "segmentation" if "segmentation" in head.split(delimiter) else "word"
    for _, (word, segmentation, tag) in records(path, ("word", parts, "lang"), delimiter):
        yield segmentation or word, tag


@resource("dagobert", gold="segmentations", files="sents_*.txt*", cites=("hofmann2020",))
def dagobert(path: Path, language: str, options: ResourceOptions) -> Iterator[SegmentedWord]:
    """Derivatives with prefix, base and suffix; those whose base changed its spelling cannot be split."""
    for number, line in lines(path):
        row = line.split("|||")
        if len(row) != 6:
            form = "subreddit|||derivative|||base|||left|||sentence|||right"
            raise TokbenchError(f"{path}:{number}: expected '{form}', found {line[:60]!r}; correct the line")
        word, base = row[1].strip(), row[2].strip()
        before, middle, after = word.partition(base) if base else ("", "", "")
        yield SegmentedWord(language or "en", word, [part for part in (before, base, after) if part] if middle else ())


@resource("ladec", gold="segmentations", files="LADEC*.csv*", cites=("gagne2019",))
def ladec(path: Path, language: str, options: ResourceOptions) -> Iterator[SegmentedWord]:
    """Compounds with their two constituents, restricted to correct parses."""
    for _, (compound, first, second, parse) in records(path, ("stim", "c1", "c2", "correctParse"), ","):
        if parse == "yes":
            yield SegmentedWord(language or "en", compound, (first, second))


@resource("morpholex", gold="segmentations", files="*.xlsx", cites=("sanchez2018",))
def morpholex(path: Path, language: str, options: ResourceOptions) -> Iterator[SegmentedWord]:
    """Words with prefixes, roots and suffixes."""
    for word, notation in _morpholex_rows(path):
        if word and notation:
            segments = [next(filter(None, parts)) for parts in MORPHEME.findall(notation)]
            yield SegmentedWord(language or "en", word, segments)


def _morpholex_rows(path: Path) -> Iterator[tuple[str, ...]]:
    """Yield word and notation from every sheet that has both."""
    if path.suffix.lower() != ".xlsx":
        yield from (tuple(row) for _, row in records(path, COLUMNS, ","))
        return
    import polars as pl
    from fastexcel import FastExcelError

    try:
        # Members may be far larger than the file, and the reader takes any size.
        with ZipFile(path) as parts:
            if sum(part.file_size for part in parts.infolist()) > MOST:
                raise BadZipFile(f"more than {MOST:,} bytes once decompressed")
        book = pl.read_excel(literal(path), sheet_id=0, infer_schema_length=0, raise_if_empty=False)
    except (OSError, ValueError, RuntimeError, BadZipFile, FastExcelError, pl.exceptions.PanicException) as error:
        raise TokbenchError(
            f"{path}: not a readable .xlsx workbook ({first_line(error)}); name the resource's own file"
        ) from None
    described = [sheet for sheet in book.values() if {*COLUMNS} <= {*sheet.columns}]
    if not described:
        raise TokbenchError(f"{path}: no sheet has the columns {' and '.join(COLUMNS)}; name MorphoLEX_en.xlsx")
    for sheet in described:
        yield from sheet.select(pl.col(COLUMNS).fill_null("").str.strip_chars()).iter_rows()


@resource("morphscore", gold="segmentations", files="*_morph_data.csv*", cites=("arnett2025",))
def morphscore(path: Path, language: str, options: ResourceOptions) -> Iterator[SegmentedWord]:
    """Words split into a first part and the rest; without a rest, the word is one part."""
    tag = language or language_tag(path, "_morph_data")
    for _, (word, first, rest) in records(path, ("full_word", "pt1", "rest"), ","):
        yield SegmentedWord(tag, word, (first, rest) if rest else (first,))


@resource("morphynet", gold="segmentations", files="*.v1.tsv*", cites=("batsuren2021",))
def morphynet(path: Path, language: str, options: ResourceOptions) -> Iterator[SegmentedWord]:
    """Inflected forms with their parts; derived words with their source and its affix."""
    tag = language or language_tag(path, ".")
    for number, row in fields(path, 4, "lemma<TAB>form<TAB>features<TAB>parts"):
        if len(row) < 6:
            yield SegmentedWord(tag, row[1], row[3].split("|") if row[3] != "-" else ())
            continue
        source, target, _, _, affix, kind = (field.strip() for field in row[:6])
        if kind not in AFFIXES:
            raise TokbenchError(f"{path}:{number}: {kind[:60]!r} is neither prefix nor suffix; correct the line")
        bare = affix.strip("-")
        yield SegmentedWord(tag, target, (bare, source) if kind == "prefix" else (source, bare))


@resource("sigmorphon2022", gold="segmentations", files="*.word.*.tsv*", cites=("batsuren2022",))
def sigmorphon2022(path: Path, language: str, options: ResourceOptions) -> Iterator[SegmentedWord]:
    """Words with their canonical morphemes."""
    tag = language or language_tag(path, ".")
    for _, (word, morphemes, *_) in fields(path, 2, "word<TAB>m @@m<TAB>code"):
        yield SegmentedWord(tag, word, morphemes.replace(" @@", "\0").split("\0"))


@resource("unblend", gold="segmentations", files="complex_words.tsv*", cites=("pinter2020",))
def unblend(path: Path, language: str, options: ResourceOptions) -> Iterator[SegmentedWord]:
    """Blends and compounds, split where the letters of one base end and those of the other begin."""
    columns = ("word", "bases", "sequence", "linearity")
    for number, (word, bases, sequence, linearity) in records(path, columns, "\t"):
        if len(sequence) != len(word) or not LETTERS.issuperset(sequence):
            raise TokbenchError(
                f"{path}:{number}: sequence {sequence!r} does not match the word {word!r}; correct the line"
            )
        parts = _parts(word, bases.split(), sequence) if linearity == "linear" else ()
        yield SegmentedWord(language or "en", word, parts)


def _parts(word: str, bases: list[str], sequence: str) -> list[str]:
    """Return the parts of a word; empty if shared letters complete neither base."""
    first, shared, second = (sequence.count(letter) for letter in "AXB")
    if shared:
        if len(bases) != 2 or "A" * first + "X" * shared + "B" * second not in sequence:
            return []
        start = sequence.index("A" * first + "X" * shared + "B" * second)
        meeting = start + first
        if word[start : meeting + shared] == bases[0]:
            sequence = sequence.replace("X", "A")
        elif word[meeting : meeting + shared + second] == bases[1]:
            sequence = sequence.replace("X", "B")
        else:
            return []
    places = iter(word)
    return ["".join(next(places) for _ in run) for _, run in groupby(sequence)]


class UniMorphOptions(ResourceOptions):
    language: str = Field("en", min_length=1)
    """Language tag of files for which the path gives none; the files do not contain it."""


@resource("unimorph", gold="segmentations", files="*", options=UniMorphOptions, cites=("batsuren2022unimorph",))
def unimorph(path: Path, language: str, options: UniMorphOptions) -> Iterator[SegmentedWord]:
    """Inflected forms with their parts, or with their lemma and its ending."""
    tag = language or options.language
    for _, (lemma, form, _, *parts) in fields(path, 3, "lemma<TAB>form<TAB>features"):
        if parts and parts[0] and parts[0] != "-":
            yield SegmentedWord(tag, form, parts[0].split("|"))
        else:
            yield SegmentedWord(tag, form, (lemma, form[len(lemma) :]) if form != lemma else (form,))
