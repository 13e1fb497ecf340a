"""Sizes in, sizes out."""

import pytest

from gmlake_jax.sizes import format_bytes, parse_bytes


@pytest.mark.parametrize(
    ("text", "count"),
    [("0", 0), ("512", 512), ("512 B", 512), ("1KiB", 1024), ("1kb", 1000), ("2.5 MiB", 5 << 19), ("1TiB", 1 << 40)],
)
def test_reads_sizes(text, count):
    assert parse_bytes(text) == count


@pytest.mark.parametrize("text", ["", "KiB", "1 XiB", "-1", "1.2.3", "1 KiB extra"])
def test_refuses_what_is_no_size(text):
    with pytest.raises(ValueError, match="not a size"):
        parse_bytes(text)


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (512, "512 B"),
        (1536, "1.5 KiB"),
        ((1 << 30) - 1, "1.0 GiB"),
        (3 << 30, "3.0 GiB"),
        (-(2 << 20), "-2.0 MiB"),
        (5 << 50, "5120.0 TiB"),
    ],
)
def test_prints_sizes_as_the_native_side_does(count, text):
    assert format_bytes(count) == text
