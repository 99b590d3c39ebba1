"""How many bytes the values of an Arrow array amount to, where each has its own: in a file, many can share one text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Sizes = NDArray[np.int64]

OF_A_VALUE = 32
"""Minimum bytes counted per value."""


def sizes(array: pa.Array) -> Sizes:
    """Return the bytes of each value."""
    if isinstance(array, pa.ExtensionArray):
        return sizes(array.storage)
    of = _OF.get(type(array))
    return of(array) if of else np.full(len(array), max(OF_A_VALUE, _width(array.type)), np.int64)


def _width(kind: pa.DataType) -> int:
    return int(kind.byte_width) if pa.types.is_fixed_size_binary(kind) else 0


def _of_dictionary(array: pa.DictionaryArray) -> Sizes:
    of_each = np.append(sizes(array.dictionary), OF_A_VALUE)  # the last is that of a null
    return np.asarray(of_each[_numbers(array.indices, len(array.dictionary))], np.int64)


def _of_structs(array: pa.StructArray) -> Sizes:
    return np.asarray(OF_A_VALUE + np.sum([sizes(part) for part in array.flatten()], axis=0), np.int64)


def _of_runs(array: pa.RunEndEncodedArray) -> Sizes:
    ends = np.clip(_numbers(array.run_ends) - array.offset, 0, len(array))
    return np.asarray(np.repeat(sizes(array.values), np.diff(ends, prepend=0)), np.int64)


def _of_equal_lists(array: pa.FixedSizeListArray) -> Sizes:
    length = array.type.list_size
    inner = sizes(array.values)[array.offset * length :][: len(array) * length]
    return np.asarray(OF_A_VALUE + inner.reshape(len(array), length).sum(axis=1), np.int64)


def _of_lists(array: pa.ListArray | pa.ListViewArray) -> Sizes:
    sums = np.concatenate([[0], np.cumsum(sizes(array.values))])
    offsets = _numbers(array.offsets)
    begins = offsets[: len(array)]
    ends = begins + _numbers(array.sizes) if hasattr(array, "sizes") else offsets[1:]
    return np.asarray(OF_A_VALUE + sums[ends] - sums[begins], np.int64)


def _of_views(array: pa.StringViewArray) -> Sizes:
    """A view is 16 bytes, of which the first four are the length."""
    views = np.frombuffer(array.buffers()[1], np.int32).reshape(-1, 4)
    return np.asarray(OF_A_VALUE + views[array.offset :][: len(array), 0].astype(np.int64), np.int64)


def _of_texts(array: pa.StringArray) -> Sizes:
    return np.asarray(OF_A_VALUE + _numbers(pc.binary_length(array)), np.int64)


def _of_unions(array: pa.UnionArray) -> Sizes:
    return np.full(len(array), OF_A_VALUE + array.nbytes, np.int64)


def _numbers(array: pa.Array, null: int = 0) -> Sizes:
    filled = pc.fill_null(array, null) if array.null_count else array
    return np.asarray(filled.to_numpy(zero_copy_only=False), np.int64)


_OF: dict[type, Callable[..., Sizes]] = {
    pa.DictionaryArray: _of_dictionary,
    pa.StructArray: _of_structs,
    pa.RunEndEncodedArray: _of_runs,
    pa.FixedSizeListArray: _of_equal_lists,
    **dict.fromkeys((pa.ListArray, pa.LargeListArray, pa.MapArray), _of_lists),
    **dict.fromkeys((pa.ListViewArray, pa.LargeListViewArray), _of_lists),
    **dict.fromkeys((pa.StringArray, pa.LargeStringArray, pa.BinaryArray, pa.LargeBinaryArray), _of_texts),
    **dict.fromkeys((pa.StringViewArray, pa.BinaryViewArray), _of_views),
    pa.UnionArray: _of_unions,
}
