"""Lengths of time and sizes of memory: what is read, and what is refused."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modak.text import amounts, units

DURATIONS = [
    ("12:00:00", 43_200),
    ("30:00:00", 108_000),
    ("1-06:00:00", 108_000),
    ("1 day, 6:00:00", 108_000),
    ("2 days 00:30:00", 174_600),
    ("1:00:00 ", 3600),
    ("1:30", 5400),
    ("90", 90),
    ("26 h", 93_600),
    ("90 min", 5400),
    ("1.5h", 5400),
    ("2d", 172_800),
    ("1 h 30 min", 5400),
    ("1h30m", 5400),
    ("54 min 52 s", 3292),
    ("1d 12h", 129_600),
    ("60m", 3600),
    ("PT1H30M", 5400),
    ("P1DT12H", 129_600),
]


@pytest.mark.parametrize(("text", "seconds"), DURATIONS)
def test_durations(text: str, seconds: int) -> None:
    """Every documented way to write a duration."""
    assert units.duration(text) == seconds


@pytest.mark.parametrize(
    "text",
    ["", "1 fortnight, 2:00:00", "-1:00", "1:60:00", "1:00:00:00", "nan", "1e3", "٣:00", "1 week", "1h30", "30 min 1 h", "PT", "P1H"],
)
def test_what_is_no_duration(text: str) -> None:
    """Everything else is refused, also 30 minutes or seconds after an hour."""
    with pytest.raises(ValueError, match="not a duration"):
        units.duration(text)


@pytest.mark.parametrize("text", ["x" * 10_000, "1d" + " " * 10_000 + "x", "1h " * 10_000])
def test_a_long_text_is_refused_at_once(text: str) -> None:
    """With a short message."""
    began = time.process_time()
    with pytest.raises(ValueError, match="not a duration") as caught:
        units.duration(text)
    assert len(str(caught.value)) < 200
    assert time.process_time() - began < 1


@given(st.integers(1, 365 * 86_400))
def test_a_time_as_answers_print_it_is_read(seconds: int) -> None:
    """To the accuracy with which it is printed."""
    assert units.duration(amounts.format_duration(seconds)) == pytest.approx(seconds, rel=0.01)


@pytest.mark.parametrize(
    ("text", "seconds"), [("00:00:02", 2), ("1-02:03:04", 93_784), ("10:00:00.500", 36_000), ("02:03", 123), ("", None), ("x", None)]
)
def test_slurm_times(text: str, seconds: int | None) -> None:
    """`[d-][hh:]mm:ss`; nothing for a cell that is empty."""
    assert units.elapsed(text) == seconds


@given(st.integers(0, 365 * 86_400))
def test_a_clock_reads_back(seconds: int) -> None:
    """What is printed for a scheduler is read as the same number of seconds."""
    assert units.duration(units.clock(seconds)) == seconds


@pytest.mark.parametrize(
    ("text", "size"),
    [
        *(("10 GB", 10**10), ("10G", 10**10), ("512MiB", 2**29), ("1.5 GB", 1_500_000_000), ("2gib", 2**31), ("1T", 10**12)),
        *(("3 PB", 3 * 10**15), ("3P", 3 * 10**15), ("2 PiB", 2**51), ("4 GBytes", 4 * 10**9), ("4GiByte", 2**32)),
        ("65.6 GB", 65_600_000_000),
    ],
)
def test_memory(text: str, size: int) -> None:
    """Units without an ``i`` are powers of ten."""
    assert units.memory(text) == size


@pytest.mark.parametrize("text", ["", "GB", "-1 GB", "1e3 GB", "10 XB", "10 GB x", "1i"])
def test_what_is_no_memory(text: str) -> None:
    """Everything else is refused."""
    with pytest.raises(ValueError, match="is not a size"):
        units.memory(text)


@pytest.mark.parametrize("prefixes", [("kMGTP", 1000), ("KMGTP", 1000), (["Ki", "Mi", "Gi", "Ti", "Pi"], 1024)])
def test_every_prefix_of_a_size_is_as_many_times_the_one_before(prefixes: tuple[list[str], int]) -> None:
    """Powers of ten, or with an ``i`` of 1024."""
    names, step = prefixes
    assert [units.memory(f"3 {name}B") for name in ("", *names)] == [3 * step**power for power in range(6)]
