"""Heads of Parquet's pages: every page is found, and one that is longer than the file is rejected before it is read."""

import io
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokbench.errors import TokbenchError
from tokbench.inputs.parquet import parquet
from tokbench.inputs.parquet_pages import Head, ends_of_pages, page_head


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("codec", ["none", "zstd", "snappy"])
def test_every_page_is_found(codec: str, version: str) -> None:
    """With dictionaries and without, statistics, checksums and lists: the last page ends where its column does."""
    draw = np.random.default_rng(0)
    table = pa.table(
        {
            "number": draw.integers(0, 1 << 40, 5000),
            "text": [f"{value:x}" * 9 for value in draw.integers(0, 1 << 40, 5000)],
            "list": [[1, 2, 3]] * 5000,
            "truth": [True, None] * 2500,
        }
    )
    sink = io.BytesIO()
    pq.write_table(
        table,
        sink,
        compression=codec,
        data_page_version=version,
        data_page_size=2000,
        row_group_size=1700,
        write_batch_size=100,
        use_dictionary=["number"],
        write_page_checksum=True,
    )
    about = pq.read_metadata(io.BytesIO(sink.getvalue()))
    numbers = []
    for group in range(about.num_row_groups):
        for column in range(about.num_columns):
            chunk = about.row_group(group).column(column)
            start = min(one for one in (chunk.dictionary_page_offset, chunk.data_page_offset) if one is not None)
            ends = list(ends_of_pages(sink, start, start + chunk.total_compressed_size))
            assert ends[-1] == start + chunk.total_compressed_size
            numbers.append(len(ends))
    assert max(numbers) > 9


def test_a_head_by_hand() -> None:
    """A data page of 21 bytes, 300 when unpacked, of one value; the specification's encoding, byte by byte."""
    head = bytes([0x15, 0, 0x15, 0xD8, 0x04, 0x15, 42, 0x2C, 0x15, 2, 0x15, 0, 0x15, 6, 0x15, 6, 0, 0])
    assert page_head(head + b"rest") == Head(len(head), 21)
    assert all(page_head(head[:size]) is None for size in range(len(head)))
    assert page_head(bytes([0x15, 0, 0x15, 2, 0x15, 1, 0])) is None


@given(st.binary(max_size=60))
def test_any_bytes(data: bytes) -> None:
    head = page_head(data)
    assert head is None or (0 < head.length <= len(data) and head.page >= 0)
    assert all(end > 0 for end in ends_of_pages(io.BytesIO(data), 0, len(data)))


def test_a_page_longer_than_the_file_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "one.parquet"
    pq.write_table(pa.table({"text": ["a" * 40, "b"]}), path, use_dictionary=False, compression="none")
    data = bytearray(path.read_bytes())
    assert page_head(bytes(data[4:])) is not None
    longer = bytes([0x15, 0, 0x15, 0xD8, 0x04, 0x15, 0xFE, 0xFF, 0xFF, 0xFF, 0x0F])
    data[4 : 4 + len(longer)] = longer
    path.write_bytes(data)
    with (
        pytest.raises(TokbenchError, match="its parts do not stand where it says"),
        parquet(path, "a table", "make it again", in_pieces=True),
    ):
        pass
