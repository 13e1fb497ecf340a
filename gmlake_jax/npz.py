"""Arrays of an npz file, none of which is read before its type, length and size were looked at.

An npz is a zip archive, and says itself how large its arrays are; both may lie. So the directory, the sum of the sizes
and the ratio of compression are bounded, the header of an array is read before its content, and never more than it
declares. Nothing is unpickled. Whatever is wrong is a ValueError of one line, or an OSError.
"""

from __future__ import annotations

import os
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from gmlake_jax.untrusted import MIB, brief, is_whole, open_regular, parse_json

MOST_BYTES = 2048 * MIB  # of a file, and of its arrays together
_ALWAYS_ALLOWED = 64 * MIB
_MOST_RATIO = 100  # events of recordings compress to a tenth
_MOST_DIRECTORY = MIB // 16
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED = 1

_END = struct.Struct("<4s8xII2x")  # signature, size and offset of the directory
_END64 = struct.Struct("<4s36xQQ")
_LOCATOR64_SIZE = 20

_DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
    KeyError,
    TypeError,
    OverflowError,
)


_MOST_HEADER = 1 << 14
_SIMPLE_TYPE = re.compile(r"[<>|=]?[?biufcSUV]\d{0,6}", re.ASCII)  # not O: nothing is unpickled
_TO_JSON = str.maketrans({"'": '"', "(": "[", ")": "]"})
_LAST_COMMA = re.compile(r",\s*([\]}])")


class Header(NamedTuple):
    """What an array says of itself."""

    dtype: np.dtype[Any]
    length: int


def _directory_size(file: IO[bytes]) -> int:
    """What `zipfile` will read at once; it looks at the same places."""
    size = file.seek(0, os.SEEK_END)
    tail_size = min(size, _END.size + _END64.size + _LOCATOR64_SIZE + (1 << 16))
    file.seek(-tail_size, os.SEEK_END)
    tail = file.read(tail_size)
    at = len(tail) - _END.size
    if not (tail.startswith(b"PK\5\6", max(at, 0)) and tail.endswith(b"\0\0")):
        at = tail.rfind(b"PK\5\6")
    if at < 0:
        raise zipfile.BadZipFile("no directory of a zip archive")
    at64 = at - _LOCATOR64_SIZE - _END64.size
    if at64 >= 0 and tail.startswith(b"PK\6\6", at64):
        return int(_END64.unpack_from(tail, at64)[1])
    return int(_END.unpack_from(tail, at)[1])


def _check_sizes(entries: list[zipfile.ZipInfo], file_size: int) -> None:
    total = sum(entry.file_size for entry in entries)
    allowed = min(MOST_BYTES, max(_ALWAYS_ALLOWED, _MOST_RATIO * file_size))
    if total > allowed:
        raise ValueError(f"its arrays say that they have {total:,} bytes; {allowed:,} are read from such a file")


class Arrays:
    """The arrays of an open file by name. Cost: a header reads some bytes; a read takes the array's size in memory."""

    def __init__(self, archive: zipfile.ZipFile, file_size: int):
        entries = archive.infolist()
        _check_sizes(entries, file_size)
        self._archive = archive
        self._entries = {entry.filename.removesuffix(".npy"): entry for entry in entries}
        self.names = frozenset(self._entries)

    @contextmanager
    def _open(self, name: str) -> Iterator[tuple[IO[bytes], Header]]:
        entry = self._entries[name]
        if entry.compress_type not in _METHODS or entry.flag_bits & _ENCRYPTED:
            raise ValueError(f"array {name!r} is encrypted, or compressed by a method that npz files do not use")
        with self._archive.open(entry) as stream:
            yield stream, _read_header(name, stream, entry.file_size)

    def header(self, name: str) -> Header:
        with self._open(name) as (_, header):
            return header

    def read(self, name: str) -> NDArray[Any]:
        with self._open(name) as (stream, header):
            data = stream.read(header.length * header.dtype.itemsize)
            if stream.read(1):  # also has the checksum compared
                raise ValueError(f"array {name!r} is longer than it says")
        return np.frombuffer(data, header.dtype, header.length)


def _read_header(name: str, stream: IO[bytes], size: int) -> Header:
    values = _header_values(stream)
    if not isinstance(values, dict) or not {"descr", "shape"} <= set(values):
        raise ValueError(f"array {name!r} does not say its type and shape")
    dtype, length = _dtype_of(name, values["descr"]), _length_of(name, values["shape"])
    if stream.tell() + length * dtype.itemsize != size:
        raise ValueError(f"array {name!r} does not have the {length:,} entries that it says")
    return Header(dtype, length)


def _length_of(name: str, shape: Any) -> int:
    if not isinstance(shape, list) or not all(is_whole(size, low=0) for size in shape):
        raise ValueError(f"array {name!r} has the shape {brief(shape, 40)}, which is none")
    if len(shape) != 1:
        raise ValueError(f"array {name!r} must be one-dimensional, not {len(shape)}-d")
    return int(shape[0])


def _header_values(stream: IO[bytes]) -> Any:
    """The header is a literal of Python, of which npz files use what JSON can say too. Nothing is evaluated."""
    version = npy.read_magic(stream)
    width = {(1, 0): 2, (2, 0): 4}.get(version)
    if width is None:
        raise ValueError(f"version {version} of the npy format is not read")
    length = int.from_bytes(stream.read(width), "little")
    if length > _MOST_HEADER:
        raise ValueError("an array's header is too long")
    text = stream.read(length).decode("latin-1").translate(_TO_JSON)
    for word, replacement in (("False", "false"), ("True", "true")):
        text = text.replace(word, replacement)
    return parse_json(_LAST_COMMA.sub(r"\1", text))


def _dtype_of(name: str, description: Any) -> np.dtype[Any]:
    """Of one simple type, or of columns of simple types."""
    if not (_is_simple(description) or (isinstance(description, list) and all(map(_is_column, description)))):
        raise ValueError(f"array {name!r} has the type {brief(description, 40)}, which is not read")
    columns = [(label, kind) for label, kind in description] if isinstance(description, list) else description
    return np.dtype(columns)


def _is_simple(kind: Any) -> bool:
    return isinstance(kind, str) and _SIMPLE_TYPE.fullmatch(kind) is not None


def _is_column(column: Any) -> bool:
    return isinstance(column, list) and len(column) == 2 and isinstance(column[0], str) and _is_simple(column[1])


@contextmanager
def open_arrays(path: str | os.PathLike[str]) -> Iterator[Arrays]:
    """The arrays in the npz file at `path`."""
    try:
        with open_regular(path, MOST_BYTES) as file:
            if _directory_size(file) > _MOST_DIRECTORY:
                raise ValueError("it has too many entries")
            with zipfile.ZipFile(file) as archive:
                yield Arrays(archive, file.seek(0, os.SEEK_END))
    except _DAMAGED as error:
        raise ValueError(f"damaged or truncated: {brief(error) or type(error).__name__}") from error
