"""Arrow columns built over buffers equal those of Arrow's own conversion, and are read back without it."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokbench.io.arrow import array_of, number_column, text_column, truth_column

TEXTS = st.lists(st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=5), max_size=20)


@given(TEXTS, st.booleans())
def test_text_column_equals_that_of_arrow(values: list[str | None], large: bool) -> None:
    column = text_column(values, large=large)
    column.validate(full=True)
    assert column.equals(pa.array(values, pa.large_string() if large else pa.string()))


@given(st.lists(st.booleans(), max_size=20))
def test_truth_column_equals_that_of_arrow(values: list[bool]) -> None:
    assert truth_column(np.array(values, np.bool_)).equals(pa.array(values, pa.bool_()))


@pytest.mark.parametrize("kind", ["int8", "int32", "int64", "uint64", "float32", "float64"])
def test_numbers_are_those_of_a_column_and_of_its_slices(kind: str) -> None:
    values = np.arange(20).astype(kind)
    column = number_column(values[::2])
    assert column.equals(pa.array(values[::2]))
    for part in (column, pa.chunked_array([column[:4], column[4:]]), pa.chunked_array([], column.type)):
        read = array_of(part)
        assert read.dtype == values.dtype
        assert read.tolist() == part.to_pylist()
    assert array_of(column[3:7]).tolist() == values[::2][3:7].tolist()


@given(st.lists(st.none() | st.integers(-9, 9), max_size=20), st.integers(0, 20))
def test_empty_cells_are_replaced_or_rejected(values: list[int | None], start: int) -> None:
    column = pa.array(values, pa.int64())[start:]
    assert array_of(column, empty=-1).tolist() == [-1 if value is None else value for value in values[start:]]
    if column.null_count:
        with pytest.raises(ValueError, match="a cell is empty"):
            array_of(column)
