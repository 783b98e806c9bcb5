"""Gold data: every type of resource in its authors' form, its boundaries in bytes, and files that are none of it."""

import gzip
from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from xlsxwriter import Workbook

from tests.support.external_tokenizers import DATA, needs
from tokbench.errors import TokbenchError
from tokbench.intrinsic.resource import read_resource
from tokbench.metric.words import boundaries
from tokbench.resource import ResourceOptions, resource_files, resource_types

needs_data = needs(DATA / "morphology", DATA / "lexical_decision")
Cut = tuple[str, str, list[int] | None]


def read(kind: str, path: Path | str | dict[str, str], **options: object) -> pl.DataFrame:
    return read_resource(kind, resource_types[kind].options(path=path, **options))


def cuts(kind: str, path: Path | str, **options: object) -> list[Cut]:
    """Language, word and boundaries."""
    return list(read(kind, str(path), **options).iter_rows())


def text(path: Path, *lines: str) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


@given(st.lists(st.text("aÉß東\ud800", min_size=1, max_size=4), min_size=1, max_size=5))
def test_boundaries_cut_the_bytes_into_the_parts(segments: list[str]) -> None:
    word = "".join(segments)
    found = boundaries(word, segments)
    assert found is not None
    data = word.encode("utf-8", "surrogatepass")
    edges = [0, *found, len(data)]
    parts = [data[start:end].decode("utf-8", "surrogatepass") for start, end in pairwise(edges)]
    assert parts == segments


@pytest.mark.parametrize(
    ("word", "segments", "expected"),
    [
        ("making", ["mak", "ing"], [3]),
        ("making", ["make", "ing"], None),
        ("Haustür", ["Haus", "Tür"], [4]),
        ("Türschloss", ["Tür", "schloss"], [4]),
        ("İstanbul", ["i̇", "stanbul"], None),
        ("cats", ["cats"], []),
        ("cats", ["cat", "", "s"], None),
        ("cats", [], None),
    ],
)
def test_boundaries(word: str, segments: list[str], expected: list[int] | None) -> None:
    assert boundaries(word, segments) == expected


def test_ladec(tmp_path: Path) -> None:
    head = "id_master,c1,c2,stim,correctParse"
    path = text(tmp_path / "LADEC.csv", head, "1,gad,about,gadabout,yes", "2,gada,bout,gadabout,no")
    assert cuts("ladec", path) == [("en", "gadabout", [3])]


def test_morphscore_takes_the_language_from_the_name(tmp_path: Path) -> None:
    text(tmp_path / "turkish_morph_data.csv", ",full_word,pt1,rest", "0,yendirt,yendirt,", "1,yetişti,yetiş,ti")
    text(tmp_path / "english_morph_data.csv", ",full_word,pt1,rest", "0,\"o'er\",o,'er")
    assert cuts("morphscore", tmp_path) == [
        ("english", "o'er", [1]),
        ("turkish", "yendirt", []),
        ("turkish", "yetişti", [6]),
    ]
    assert cuts("morphscore", tmp_path, languages=["english"]) == [("english", "o'er", [1])]
    assert read("morphscore", {"tr": str(tmp_path / "turkish_morph_data.csv")})["language"].unique().to_list() == ["tr"]


def test_sigmorphon2022(tmp_path: Path) -> None:
    path = text(tmp_path / "eng.word.dev.tsv", "poniarding\tponiard @@ing\t100", "incult\tincult\t000")
    text(
        path, *path.read_text().splitlines(), "ingenuities\tingenuous @@ity @@s\t110", "poniarding\tponiard @@ing\t100"
    )
    expected = [("eng", "poniarding", [7]), ("eng", "incult", []), ("eng", "ingenuities", None)]
    assert cuts("sigmorphon2022", path) == expected


def test_unimorph_of_both_releases(tmp_path: Path) -> None:
    old = text(tmp_path / "eng_2017", "", "walk\twalked\tV;PST", "make\tmaking\tV;V.PTCP;PRS", "walk\twalk\tV;NFIN")
    new = text(tmp_path / "eng", "make\tmaking\tV;V.PTCP;PRS\tmak|ing", "walk\twalks\tV;3;SG;PRS\t-")
    assert cuts("unimorph", old) == [("en", "walked", [4]), ("en", "making", None), ("en", "walk", [])]
    assert cuts("unimorph", new, language="eng") == [("eng", "making", [3]), ("eng", "walks", [4])]


def test_morphynet_inflected_and_derived(tmp_path: Path) -> None:
    text(tmp_path / "hun.inflectional.v1.tsv", "ház\tházakban\tN|PL\tház|ak|ban", "lo\tlovak\tN\t-")
    text(
        tmp_path / "hun.derivational.v1.tsv",
        "happy\tunhappy\tJ\tJ\tun\tprefix",
        "teach\tteacher\tN\tN\ter\tsuffix",
        "deny\tdenial\tV\tN\tal\tsuffix",
    )
    assert cuts("morphynet", tmp_path) == [
        ("hun", "unhappy", [2]),
        ("hun", "teacher", [5]),
        ("hun", "denial", None),
        ("hun", "házakban", [4, 6]),
        ("hun", "lovak", None),
    ]
    wrong = text(tmp_path / "eng.derivational.v1.tsv", "a\tb\tN\tN\tc\tinfix")
    with pytest.raises(TokbenchError, match=r"v1\.tsv:1: 'infix' is neither prefix nor suffix"):
        read("morphynet", str(wrong))


def test_dagobert(tmp_path: Path) -> None:
    rows = ("r/a|||unhappiness|||happiness|||a|||the ___ of|||b", "r/a|||superbookish|||book|||a|||x ___|||b")
    path = text(tmp_path / "sents_01_train.txt", *rows, "r/a|||deniable|||deny|||a|||x ___|||b")
    assert cuts("dagobert", path) == [
        ("en", "unhappiness", [2]),
        ("en", "superbookish", [5, 9]),
        ("en", "deniable", None),
    ]
    with pytest.raises(TokbenchError, match=r"short\.txt:1: expected 'subreddit\|\|\|derivative"):
        read("dagobert", str(text(tmp_path / "short.txt", "a|||b")))


@pytest.mark.parametrize("form", ["parquet", "csv", "tsv"])
def test_compoundpiece(tmp_path: Path, form: str) -> None:
    rows = {
        "word": ["Haustür", "kirjasto"],
        "lang": ["de", "fi"],
        "norm": ["Haus-Tür", ""],
        "segmentation": ["Haus-tür", ""],
    }
    frame, path = pl.DataFrame(rows), tmp_path / f"valid.{form}"
    if form == "parquet":
        frame.with_columns(pl.col("segmentation").replace("", None)).write_parquet(path)
    else:
        frame.write_csv(path, separator="\t" if form == "tsv" else ",")
    assert cuts("compoundpiece", path) == [("de", "Haustür", [4]), ("fi", "kirjasto", [])]


def test_compoundpiece_as_its_script_writes_it(tmp_path: Path) -> None:
    frame = pl.DataFrame({"word": ["haus-tür", "tür"], "type": ["positive", "negative"], "lang": ["de", "de"]})
    frame.write_parquet(tmp_path / "germanet.parquet")
    assert cuts("compoundpiece", tmp_path / "germanet.parquet") == [("de", "haustür", [4]), ("de", "tür", [])]


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ("blend\taquamation\taqua cremation\tAAAABBBBBB\tlinear\t-", [4]),
        ("blend\tadhocrat\tadhoc aristocrat\tAAAAXBBB\tlinear\t-", [5]),
        ("blend\tbarricage\tbarricade cage\tAAAAAXBBB\tlinear\t-", [5]),
        ("blend\thatriotism\thate patriot\tAXXBBBBSSS\tlinear\t-", None),
        ("blend\tfanimatic\tfan animation cinematic\tAXXBXXXCC\tlinear\t-", None),
        ("blend\tbirkini\tbirqa bikini\tXXABBBB\tnonlinear\t-", None),
        ("opaque compound\twordmills\tword mill\tAAAABBBBS\tlinear\t-", [4, 8]),
        ("opaque compound\tdownblousing\tdown blouse\tPPPPAAAAASSS\tlinear\t-", [4, 9]),
    ],
)
def test_unblend(tmp_path: Path, row: str, expected: list[int] | None) -> None:
    head = "class\tword\tbases\tsequence\tlinearity\tsemantic relation"
    assert cuts("unblend", text(tmp_path / "complex_words.tsv", head, row))[0][2] == expected


def test_unblend_rejects_a_sequence_of_another_length(tmp_path: Path) -> None:
    path = text(tmp_path / "complex_words.tsv", "word\tbases\tsequence\tlinearity", "ab\ta b\tAAB\tlinear")
    with pytest.raises(TokbenchError, match=r"complex_words\.tsv:2: sequence 'AAB' does not match the word 'ab'"):
        read("unblend", str(path))


def workbook(path: Path, *sheets: list[list[str]]) -> Path:
    """An .xlsx file with these rows."""
    with Workbook(path) as book:
        for rows in sheets:
            sheet = book.add_worksheet()
            for place, row in enumerate(rows):
                sheet.write_row(place, 0, row)
    return path


def test_morpholex(tmp_path: Path) -> None:
    head = ["ELP_ItemID", "Word", "POS", "MorphoLexSegm"]
    sheet = [
        head,
        ["1", "unbreakable", "", "{<un<(break)>able>}"],
        ["2", "airplane", "NN", "{(air)}{(plane)}"],
        ["3", "ability", "NN", "{(able)>ity>}"],
        ["4", "carelessness", "NN", "{(care)>less>>ness>}"],
        ["5", "abacus", "NN", "{(abacus)}"],
    ]
    expected = [
        ("en", "unbreakable", [2, 7]),
        ("en", "airplane", [3]),
        ("en", "ability", None),
        ("en", "carelessness", [4, 8]),
        ("en", "abacus", []),
    ]
    assert cuts("morpholex", workbook(tmp_path / "MorphoLEX_en.xlsx", [["Presentation"]], sheet)) == expected
    assert cuts("morpholex", text(tmp_path / "0-1-1.csv", *map(",".join, sheet))) == expected
    with pytest.raises(TokbenchError, match="no sheet has the columns Word and MorphoLexSegm"):
        read("morpholex", str(workbook(tmp_path / "other.xlsx", [["Presentation"]])))
    with pytest.raises(TokbenchError, match=r"not a readable \.xlsx workbook"):
        read("morpholex", str(text(tmp_path / "false.xlsx", "no zip")))


def test_a_workbook_of_an_unknown_version_of_zip_is_rejected(tmp_path: Path) -> None:
    content = bytearray(workbook(tmp_path / "MorphoLEX_en.xlsx", [["Word", "MorphoLexSegm"]]).read_bytes())
    content[content.index(b"PK\x01\x02") + 6] = 255
    (tmp_path / "newer.xlsx").write_bytes(content)
    with pytest.raises(TokbenchError, match=r"not a readable \.xlsx workbook \(zip file version 25\.5\)"):
        read("morpholex", str(tmp_path / "newer.xlsx"))


def test_british_lexicon_project(tmp_path: Path) -> None:
    head = "spelling\tcoltheart.N\tlexicality\trt\tzscore\taccuracy"
    rows = ("aband\t1\tN\t706.5\t.1\t0.925", "abbey\t2\tW\tNA\tNA\t0.5")
    frame = read("british_lexicon_project", str(text(tmp_path / "blp-items.txt", head, *rows)))
    assert frame.rows() == [("en", "aband", "N", 706.5, 0.925), ("en", "abbey", "W", None, 0.5)]
    for row, message in (("a\t1\tX\t1\t1\t1", "'X' is neither W nor N"), ("a\t1\tW\tx\t1\t1", "must be numbers")):
        with pytest.raises(TokbenchError, match=rf"bad\.txt:2: .*{message}"):
            read("british_lexicon_project", str(text(tmp_path / "bad.txt", head, row)))


# Files


def test_compressed_files_are_read(tmp_path: Path) -> None:
    path = tmp_path / "eng.word.dev.tsv.gz"
    path.write_bytes(gzip.compress(b"cats\tcat @@s\t100\n"))
    assert cuts("sigmorphon2022", path) == [("eng", "cats", [3])]
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(TokbenchError, match=r"dev\.tsv\.gz: cannot be read"):
        read("sigmorphon2022", str(path))


def test_a_line_that_is_no_text_is_named(tmp_path: Path) -> None:
    path = tmp_path / "eng.word.dev.tsv"
    path.write_bytes(b"cats\tcat @@s\t100\n\xff\n")
    with pytest.raises(TokbenchError, match=r"dev\.tsv:2: cannot be read"):
        read("sigmorphon2022", str(path))


def test_places_of_files(tmp_path: Path) -> None:
    for name in ("b_morph_data.csv", "a_morph_data.csv", "README.md"):
        (tmp_path / name).touch()
    options = ResourceOptions(path=[str(tmp_path)])
    assert [path.name for _, path in resource_files("morphscore", options)] == ["a_morph_data.csv", "b_morph_data.csv"]
    by_pattern = ResourceOptions(path={"xx": [str(tmp_path / "b*")]})
    assert resource_files("morphscore", by_pattern) == [("xx", tmp_path / "b_morph_data.csv")]
    with pytest.raises(TokbenchError, match=r"no file 'LADEC\*\.csv\*' in the folder"):
        resource_files("ladec", options)
    with pytest.raises(TokbenchError, match=r"no file at '.*absent'; name an existing file"):
        resource_files("ladec", ResourceOptions(path=[str(tmp_path / "absent")]))


@pytest.mark.parametrize(
    ("kind", "lines", "message"),
    [
        ("ladec", ["a,b", "1,2"], r"file: no column 'stim' \(there are a, b\)"),
        ("ladec", ["stim,c1,c2,correctParse", "a,b"], r"file:2: 2 fields, the header has 4; correct the line"),
        ("sigmorphon2022", ["cats"], r"file:1: expected 'word<TAB>m @@m<TAB>code', found 'cats'"),
        ("unimorph", ["a\tb"], r"file:1: expected 'lemma<TAB>form<TAB>features'"),
        ("sigmorphon2022", [], r"file: no word of a resource of type 'sigmorphon2022'"),
    ],
)
def test_other_files_are_rejected(tmp_path: Path, kind: str, lines: list[str], message: str) -> None:
    with pytest.raises(TokbenchError, match=message):
        read(kind, str(text(tmp_path / "file", *lines)))


def test_languages_that_are_not_there_are_rejected(tmp_path: Path) -> None:
    path = text(tmp_path / "eng.word.dev.tsv", "cats\tcat @@s\t100")
    with pytest.raises(TokbenchError, match="no word of a resource"):
        read("sigmorphon2022", str(path), languages=["deu"])


# The gold data that are at hand


@needs_data
@pytest.mark.parametrize(
    ("kind", "folder", "words", "unspelt", "whole"),
    [
        ("ladec", "ladec", 8_372, 0, 0),
        ("morphscore", "morphscore", 33_123, 191, 71),
        ("sigmorphon2022", "sigmorphon2022", 115_126, 34_146, 17_427),
        ("unimorph", "unimorph", 92_383, 12_993, 22_756),
        ("unblend", "unblend", 312, 64, 0),
    ],
)
def test_distributed_segmentations(kind: str, folder: str, words: int, unspelt: int, whole: int) -> None:
    frame = read(kind, str(DATA / "morphology" / folder))
    lengths = frame["boundaries"].list.len()
    assert (len(frame), int(lengths.is_null().sum()), int((lengths == 0).sum())) == (words, unspelt, whole)
    size = frame["word"].str.len_bytes()
    assert frame["boundaries"].list.min().drop_nulls().min() >= 1  # type: ignore[operator]
    assert (frame["boundaries"].list.max() < size).drop_nulls().all()


@needs_data
def test_distributed_lexical_decisions() -> None:
    frame = read("british_lexicon_project", str(DATA / "lexical_decision" / "blp_items_recovered.tsv.gz"))
    assert (len(frame), frame["reaction_time"].null_count(), frame["accuracy"].null_count()) == (55_867, 216, 0)
    known = frame.drop_nulls().with_columns(size=pl.col("word").str.len_bytes())
    found = [
        round(float(known.filter(lexicality=letter).select(pl.corr("size", measure)).item()), 2)
        for letter in "WN"
        for measure in ("reaction_time", "accuracy")
    ]
    assert found == [0.22, 0.05, 0.31, -0.01]
