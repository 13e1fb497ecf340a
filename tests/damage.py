"""Files that are damaged, or made by somebody who means harm: each a function of a seed, so that a failure can be seen
again. `damaged(kind, seed)` gives the name's end and the bytes of one file of a kind that gmlake_jax reads.

Damage is done to the bytes (cut off, flipped, exchanged, repeated) and to the content (numbers out of all bounds, other
types, missing and exchanged fields, lies in headers).
"""

import copy
import io
import json
import pickle
import struct
import zipfile

import histories
import numpy as np

from gmlake_jax import live_page
from gmlake_jax.formats.leases import rmm_bytes, trace_bytes
from gmlake_jax.formats.torch_writer import torch_bytes
from gmlake_jax.history.files import json_bytes, npz_bytes, to_parts
from gmlake_jax.history.schema import EVENT

NESTED = "[" * 100_000
ODD_VALUES = (
    *(None, True, False, -1, 0, 1, 2, 7, 255, 1 << 31, -(1 << 31), 1 << 32, 1 << 47, 1 << 48, 1 << 62, (1 << 63) - 1),
    *(1 << 63, -(1 << 63), 1 << 64, 10**30, 10**400, 0.5, -0.0, 1e300, float("nan"), float("inf"), -float("inf")),
    *("", "x", "\x1b[2J", "\ud800", "\0", "line\nline", "x" * 70_000, "1", [], {}, [[]], {"x": {}}, [None], [1, 2, 3]),
)


class Damage:
    """The random decisions for one seed."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)

    def below(self, count):
        return int(self.random.integers(count))

    def one_of(self, choices):
        return choices[self.below(len(choices))]

    # --- bytes

    def to_bytes(self, data):
        ways = (self.cut, self.flip, self.exchange, self.repeat, self.overwrite, self.number)
        for _ in range(1 + self.below(3)):
            data = self.one_of(ways)(data) or b"x"
        return data

    def cut(self, data):
        return data[: self.below(len(data))] if self.below(3) else data[self.below(len(data)) :]

    def flip(self, data):
        changed = bytearray(data)
        for _ in range(1 + self.below(8)):
            changed[self.below(len(data))] ^= 1 << self.below(8)
        return bytes(changed)

    def exchange(self, data):
        a, b, c = sorted(self.below(len(data)) for _ in range(3))
        return data[:a] + data[b:c] + data[a:b] + data[c:]

    def repeat(self, data):
        a, b = sorted(self.below(len(data)) for _ in range(2))
        return data[:b] + data[a:b] * (1 + self.below(5)) + data[b:]

    def overwrite(self, data):
        at, size = self.below(len(data)), 1 + self.below(16)
        return data[:at] + self.random.bytes(size) + data[at + size :]

    def number(self, data):
        """A number of a header becomes the largest of its width."""
        at, width = self.below(len(data)), self.one_of((1, 2, 4, 8))
        return data[:at] + b"\xff" * width + data[at + width :]

    # --- content made of dicts and lists

    def to_content(self, content):
        content = copy.deepcopy(content)
        for _ in range(1 + self.below(2)):
            holder, key = self.place_in(content)
            self.one_of((self.set_odd, self.set_odd, self.set_odd, self.drop, self.swap))(holder, key)
        return content

    def place_in(self, content):
        """A dict or list in it, and a key or index there; deep places as likely as shallow ones."""
        holder, key = content, self.key_of(content)
        while isinstance(holder[key], dict | list) and holder[key] and self.below(6):
            holder = holder[key]
            key = self.key_of(holder)
        return holder, key

    def key_of(self, holder):
        return self.one_of(list(holder)) if isinstance(holder, dict) else self.below(len(holder))

    def set_odd(self, holder, key):
        holder[key] = copy.deepcopy(self.one_of(ODD_VALUES))

    def drop(self, holder, key):
        del holder[key]

    def swap(self, holder, key):
        other = self.key_of(holder)
        holder[key], holder[other] = holder[other], holder[key]

    # --- arrays

    def to_arrays(self, arrays):
        arrays = dict(arrays)
        name = self.one_of(sorted(arrays))
        ways = (self.odd_number, self.odd_number, self.odd_number, self.other_type, self.other_length, self.rename)
        self.one_of(ways)(arrays, name)
        return arrays

    def odd_number(self, arrays, name):
        rows = arrays[name] = np.array(arrays[name])
        column = rows[self.one_of(rows.dtype.names)] if rows.dtype.names else rows
        if len(column):
            bounds = np.iinfo(column.dtype)
            column[self.below(len(column))] = self.one_of(
                (bounds.min, bounds.max, bounds.max // 2 + 1, 0, 3, bounds.max // 3)
            )

    def other_type(self, arrays, name):
        kinds = ("<f8", "<i2", ">i8", "<U3", "?", "<c16", "<M8[s]", "V3", "<u8")
        arrays[name] = np.zeros(len(arrays[name]), self.one_of(kinds))

    def other_length(self, arrays, name):
        rows = arrays[name]
        others = (rows[:0], rows[:-1], np.concatenate([rows, rows]), rows.reshape(1, -1), rows.reshape(-1, 1))
        arrays[name] = self.one_of(others)

    def rename(self, arrays, name):
        if self.below(2):
            del arrays[name]
        else:
            other = self.one_of(sorted(arrays))
            arrays[name], arrays[other] = arrays[other], arrays[name]

    # --- zip archives that lie

    def to_archive(self, data):
        """Fields of a header of the central directory, or of an array, say something else."""
        changed = bytearray(data)
        at = data.find(b"PK\x01\x02", self.below(len(data)))
        at = at if at >= 0 else data.find(b"PK\x01\x02")
        offset, width = self.one_of(((8, 2), (10, 2), (16, 4), (20, 4), (24, 4), (28, 2), (30, 2), (42, 4)))
        value = self.one_of((0, 1, 8, 12, 14, 99, (1 << 8 * width) - 1, self.below(1 << 8 * width)))
        changed[at + offset : at + offset + width] = value.to_bytes(8, "little")[:width]
        return bytes(changed)

    def header(self, data):
        shapes = (b"(1,)", b"(-1,)", b"(99999999999999999999,)", b"()", b"(2, 2)", b"('a',)", b"(None,)", b"(1e9,)")
        lies = [b"'shape': " + shape for shape in shapes]
        lies += [b"'shape': " + b"(" * 3000, b"'descr': '|O'", b"'descr': '<i9'", b"'descr': [('a', 'b')]"]
        archive = zipfile.ZipFile(io.BytesIO(data))
        chosen, buffer = self.one_of(archive.namelist()), io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as target:
            for name in archive.namelist():
                content = archive.read(name)
                target.writestr(name, _with_header(content, self.one_of(lies)) if name == chosen else content)
        return buffer.getvalue()


def _with_header(array, lie):
    size = struct.unpack_from("<H", array, 8)[0]
    header = b"{" + lie + b", 'fortran_order': False, 'descr': '<i8', 'shape': (3,), }"
    if b"descr" not in lie:
        header = b"{'descr': '<i8', 'fortran_order': False, " + lie + b", }"
    header = header.ljust(118) + b"\n"
    return array[:8] + struct.pack("<H", len(header)) + header + array[10 + size :]


def _arrays_of(data):
    with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}


def _saved(arrays):
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def _with_meta(arrays, meta):
    return _saved(arrays | {"meta": np.frombuffer(_json(meta), np.uint8)})


def _json(content):
    """With NaN and lone surrogates, as Python writes them."""
    return json.dumps(content).encode()


# --- the kinds of files

RECORDING, LIFE, SNAPSHOT = histories.recording(), histories.life(), histories.stitched_snapshot()
HISTORIES = (RECORDING, LIFE, SNAPSHOT)
RECORDINGS = (RECORDING, LIFE)


def npz(damage):
    history = damage.one_of(HISTORIES)
    data, (meta, tables) = npz_bytes(history), to_parts(history)
    arrays = {name: np.array(rows) for name, rows in tables.items()} | {"meta": np.frombuffer(_json(meta), np.uint8)}
    ways = (
        lambda: damage.to_bytes(data),
        lambda: _saved(damage.to_arrays(arrays)),
        lambda: _with_meta(arrays, damage.to_content(meta)),
        lambda: damage.to_archive(data),
        lambda: damage.header(data),
    )
    return damage.one_of(ways)()


def json_file(damage):
    data = json_bytes(damage.one_of(HISTORIES))
    if damage.below(3) == 0:
        return damage.to_bytes(data)
    text = _json(damage.to_content(json.loads(data)))
    return text if damage.below(20) else text.replace(b"[", NESTED.encode(), 1)


def trace(damage):
    data = trace_bytes(damage.one_of(RECORDINGS))
    arrays = _arrays_of(data)
    ways = (
        lambda: damage.to_bytes(data),
        lambda: _saved(damage.to_arrays(arrays)),
        lambda: damage.to_archive(data),
        lambda: damage.header(data),
    )
    return damage.one_of(ways)()


def rmm(damage):
    data = rmm_bytes(damage.one_of(RECORDINGS))
    if damage.below(2):
        return damage.to_bytes(data)
    rows = [line.split(",") for line in data.decode().splitlines()]
    return "\n".join(",".join(map(str, row)) for row in damage.to_content(rows) if isinstance(row, list)).encode(
        errors="replace"
    )


def torch(damage):
    data = torch_bytes(damage.one_of(HISTORIES))
    if damage.below(3) == 0:
        return damage.to_bytes(data)
    return pickle.dumps(damage.to_content(pickle.loads(data)), damage.one_of((2, 4, 5)))


STATS = {
    "format": "gmlake-stats-1",
    "version": "1",
    "state": "active",
    "ordinals": [0, 3],
    "devices": [
        {
            "bytes_in_use": 5,
            "peak_bytes_in_use": 6,
            "bytes_limit": 10,
            "fragmentation": 0.5,
            "num_failures": 1,
            "ways": {"stitch": {"count": 1, "bytes": 2}, "grow": {"count": 1, "bytes": 2}},
            "driver_calls": {"map": 1, "time_us": 5},
        }
    ]
    * 2,
}


def stats(damage):
    data = _json(STATS)
    return damage.to_bytes(data) if damage.below(3) == 0 else _json(damage.to_content(STATS))


def page(damage, content):
    """What `gmlake top` reads; `content` is that of a page of a living process."""
    data = _json(content if damage.below(3) == 0 else damage.to_content(content))
    header = live_page._HEADER.pack(live_page._MAGIC, damage.one_of((0, 1, 2, 2, 2, 4, (1 << 64) - 2)), len(data))
    whole = header + data
    return damage.to_bytes(whole) if damage.below(3) == 0 else whole


KINDS = {"npz": npz, "json": json_file, "trace": trace, "rmm": rmm, "torch": torch, "stats": stats}


def damaged(kind, seed):
    """The bytes of one damaged file."""
    return KINDS[kind](Damage([seed, *kind.encode()]))


# --- bombs: small files that ask for much


def zip_bomb(name, header, size, lie=None):
    """An archive with an array of zeros, `size` bytes that compress to a thousandth; `lie`: what the directory says."""
    buffer = io.BytesIO()
    with (
        zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open(name, "w", force_zip64=True) as member,
    ):
        member.write(header)
        for _ in range(size >> 20):
            member.write(bytes(1 << 20))
    data = buffer.getvalue()
    if lie is not None:
        at = data.rfind(b"PK\x01\x02")
        data = data[: at + 24] + struct.pack("<I", lie) + data[at + 28 :]
    return data


def memo_bomb():
    """A pickle of some bytes that has Python reserve 32 GiB for the values that it numbers."""
    return b"\x80\x02}r\xff\xff\xff\x7f."


def reference_bomb(count=100_000):
    """Segments that are one and the same list of blocks, again and again."""
    block = {"address": 1, "size": 512, "state": "active_allocated", "requested_size": 512, "frames": []}
    segment = {"device": 0, "address": 1, "total_size": 512, "stream": 0, "blocks": [block] * count}
    return pickle.dumps({"segments": [segment] * count, "device_traces": [[]]}, 4)


def event_header(size):
    """The header of an array of events that takes `size` bytes; the rest of the rows is zeros."""
    count = size // EVENT.itemsize
    text = f"{{'descr': {EVENT.descr!r}, 'fortran_order': False, 'shape': ({count},), }}".ljust(501) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode()


def many_entries(count):
    """An archive whose directory is all that it has: Python makes an object of each entry."""
    entry = b"PK\x01\x02".ljust(46, b"\0")
    directory = entry * count
    return b"PK\x03\x04" + directory + struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, 1, 1, len(directory), 4, 0)
