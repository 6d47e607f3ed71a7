"""The composite picture of a panel: which pixels the records of a series become."""

from __future__ import annotations

import pytest
from browsing import Scripts
from hypothesis import given
from hypothesis import strategies as st

pytestmark = pytest.mark.browser

WIDTH, HEIGHT = 20, 10
PAINT = """(method, columns, ...ink) => {
  const picture = new MT.Picture(20, 10, 0, 20, 0, 10), series = MT.series.create('s', 'line', columns);
  const result = picture[method](series, 0, series.n, ...ink);
  return {rows: Array.from({length: 10}, (_, r) => Array.from(picture.pixels.slice(20 * r, 20 * r + 20))), result};
}"""
"""A picture of one pixel for each unit of both axes."""
POINTS = st.lists(st.tuples(st.integers(-3, 22), st.integers(0, 9)), min_size=1, max_size=30).map(sorted)


def painted(scripts: Scripts, method: str, columns: dict[str, list[int]], *ink: object) -> set[tuple[int, int]]:
    """Columns and rows of the pixels that are not empty."""
    rows = scripts.call(PAINT, method, columns, *ink)["rows"]
    return {(column, row) for row, pixels in enumerate(rows) for column, pixel in enumerate(pixels) if pixel}


@given(POINTS)
def test_a_line_passes_every_value_and_leaves_no_gap(scripts: Scripts, points: list[tuple[int, int]]) -> None:
    """In each column all values from the one in force to the last; after the last record it goes on."""
    found = painted(scripts, "line", {"x": [x for x, _ in points], "y": [y for _, y in points]}, 255)
    in_force = points[0][1]
    for column in range(WIDTH):
        here = [y for x, y in points if x == column]
        before = [y for x, y in points if x < column]
        in_force = before[-1] if before else points[0][1]
        passed = [in_force, *here]
        assert {row for c, row in found if c == column} == set(range(min(passed), max(passed) + 1))


@given(POINTS, st.integers(0, 12))
def test_a_bar_reaches_from_its_first_to_its_last_byte(
    scripts: Scripts, points: list[tuple[int, int]], height: int
) -> None:
    """Two pixels wide where there are few; cut off at the edges."""
    columns = {"x": [x for x, _ in points], "y": [y for _, y in points], "top": [y + height for _, y in points]}
    wanted = {
        (x + right, min(row, HEIGHT - 1))
        for x, y in points
        for right in (0, 1)
        for row in range(y, y + height + 1)
        if 0 <= x + right < WIDTH
    }
    assert painted(scripts, "beams", columns, 255) == wanted


@given(POINTS)
def test_every_point_of_a_cloud_is_seen(scripts: Scripts, points: list[tuple[int, int]]) -> None:
    """Three pixels wide and high where there are few, cut off at the edges."""
    wanted = {
        (x + right, y + up)
        for x, y in points
        for right in range(3)
        for up in range(3)
        if 0 <= x < WIDTH and x + right < WIDTH and y + up < HEIGHT
    }
    assert painted(scripts, "cloud", {"x": [x for x, _ in points], "y": [y for _, y in points]}, [1, 2, 3]) == wanted


def test_many_points_in_a_pixel_are_darker_than_one(scripts: Scripts) -> None:
    """By their alpha, which is the highest byte of a pixel."""
    rows = scripts.call(PAINT, "cloud", {"x": [2, 10, 10, 10], "y": [2, 5, 5, 5]}, [9, 9, 9])["rows"]
    assert 0 < rows[2][2] >> 24 < rows[5][10] >> 24 == 255
    assert rows[2][2] & 0xFFFFFF == 0x090909


@given(st.lists(st.integers(0, 19), min_size=1, max_size=40).map(sorted))
def test_events_show_how_many_there_were_when(scripts: Scripts, times: list[int]) -> None:
    """A strip from the bottom, highest where most were; the next strip stands above it."""
    found = scripts.call(PAINT, "events", {"x": times, "y": times}, 255, 0, 4)
    heights = [sum(bool(row[column]) for row in found["rows"]) for column in range(WIDTH)]
    counts = [times.count(column) for column in range(WIDTH)]
    assert [height > 0 for height in heights] == [count > 0 for count in counts]
    assert heights[counts.index(max(counts))] == max(heights) == 4
    assert found["result"] > 4  # a gap is left


@given(st.integers(60, 2000), st.integers(1, 5))
def test_strips_of_events_leave_two_thirds_of_a_picture_free(scripts: Scripts, height: int, strips: int) -> None:
    """However many series are counted; where that leaves room, each strip is 16 pixels high."""
    strip = scripts.call("(height, count) => new MT.Picture(9, height, 0, 9, 0, 9).stripOf(count)", height, strips)
    assert 2 <= strip <= 16
    assert strips * strip <= height / 3
    assert strip == 16 or strips * 19 > height / 3


@given(st.integers(0, 255), st.integers(0, 255), st.integers(0, 255), st.integers(0, 255))
def test_a_pixel_holds_its_colour_in_the_order_of_rgba(
    scripts: Scripts, red: int, green: int, blue: int, alpha: int
) -> None:
    """As the bytes of a little-endian number, out of a colour's text."""
    pixel = scripts.call("(text, alpha) => MT.colours.pixel(MT.colours.rgbOf(text), alpha)",
                         f"#{red:02x}{green:02x}{blue:02x}", alpha)  # fmt: skip
    assert int(pixel).to_bytes(4, "little") == bytes([red, green, blue, alpha])
