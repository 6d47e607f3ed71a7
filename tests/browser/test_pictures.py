"""Panels saved as pictures: SVG and PNG."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import pytest
from browsing import Opened

pytestmark = pytest.mark.browser

PANELS = ("time", "sequence", "windows", "delays", "frames", "goodput")
SVG = "{http://www.w3.org/2000/svg}"
BLUE, TEXT = "rgb(0,114,178)", "rgb(27,31,36)"


def saved(opened: Opened, panel: str, name: str, folder: Path) -> Path:
    """What the button of a panel saves."""
    with opened.page.expect_download() as download:
        opened.page.locator(f'[data-mt-panel="{panel}"] button[data-format="{name}"]').click()
    path = folder / download.value.suggested_filename
    download.value.save_as(path)
    return path


def drawing(path: Path) -> Xml.Element:
    """A picture's root element; it asks for nothing from elsewhere."""
    text = path.read_text()
    assert "http" not in text.replace("http://www.w3.org/", "")
    return Xml.fromstring(text)


def texts(root: Xml.Element) -> list[str]:
    """All texts in a picture."""
    return ["".join(one.itertext()).strip() for one in root.iter(f"{SVG}text")]


def marks(root: Xml.Element, colour: str) -> int:
    """How many shapes are drawn in a colour."""
    return sum(colour in (one.get("fill"), one.get("stroke")) for one in root.iter(f"{SVG}path"))


@pytest.mark.parametrize("panel", PANELS)
def test_every_panel_can_be_saved_as_svg(opened: Opened, report: Path, tmp_path: Path, panel: str) -> None:
    """Called after the capture and the panel, with title, legend and time axis."""
    opened.open(report)
    path = saved(opened, panel, "svg", tmp_path)
    assert path.name == f"snd-{panel}.svg"
    found = texts(drawing(path))
    title = opened.page.locator(f'[data-mt-panel="{panel}"] .fold').text_content().strip()
    assert found[0] == title
    assert found[-1] == "seconds since the start of the trace"
    assert {"0", "10", "50"} <= set(found)
    legend = opened.page.locator(f'[data-mt-panel="{panel}"] .entry').all_inner_texts()
    assert all(any(text.startswith(label) for text in legend) for label in found[2:3])
    assert len(legend) > 0


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_png_is_twice_as_wide_as_the_panel_and_light(
    opened: Opened, report: Path, tmp_path: Path, theme: str
) -> None:
    """Also of a dark page: its corner is white, its text dark."""
    page = opened.open(report, f"#theme={theme}")
    path = saved(opened, "delays", "png", tmp_path)
    octets = path.read_bytes()
    assert octets[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", octets[16:24])
    assert width == 2 * page.evaluate("document.querySelector('[data-mt-panel=delays]').clientWidth")
    assert height > 2 * page.evaluate("document.querySelector('[data-mt-panel=delays] .canvas').clientHeight")
    corner, dark = pixels(page, octets)
    assert corner == [255, 255, 255, 255]
    assert 0.001 < dark < 0.2


def pixels(page: Any, octets: bytes) -> tuple[list[int], float]:
    """The colour of a picture's corner, and the share of its pixels that are nearly black."""
    found: tuple[list[int], float] = page.evaluate(
        "async octets => { const blob = new Blob([new Uint8Array(octets)], {type: 'image/png'});"
        " const image = await createImageBitmap(blob), canvas = document.createElement('canvas');"
        " canvas.width = image.width; canvas.height = image.height;"
        " const context = canvas.getContext('2d'); context.drawImage(image, 0, 0);"
        " const { data } = context.getImageData(0, 0, image.width, image.height);"
        " let dark = 0; for (let i = 0; i < data.length; i += 4) dark += data[i] + data[i + 1] + data[i + 2] < 150;"
        " return [Array.from(data.slice(0, 4)), dark / (data.length / 4)]; }",
        list(octets),
    )
    return found


def test_marks_of_a_dark_page_are_drawn_as_in_the_light_one(opened: Opened, report: Path, tmp_path: Path) -> None:
    """Polls have the colour of text, and the pictures of both themes are alike."""
    found = []
    for theme in ("light", "dark"):
        opened.page.goto("about:blank")
        opened.open(report, f"#theme={theme}&t=15,25")
        root = drawing(saved(opened, "frames", "svg", tmp_path))
        found.append((texts(root), marks(root, TEXT), marks(root, BLUE)))
        opened.requests.clear()
    assert found[0] == found[1]
    assert found[0][1] >= 6


def test_exact_marks_are_vectors_and_many_records_one_picture(opened: Opened, report: Path, tmp_path: Path) -> None:
    """Each segment in view has its shape; above the limit all are in an embedded image."""
    page = opened.open(report)
    exact = drawing(saved(opened, "sequence", "svg", tmp_path))
    assert marks(exact, BLUE) >= len(opened.values("segments", "x")) > 50
    page.evaluate("MT.engine.exactLimit = 5")
    opened.look(1, 50)
    many = drawing(saved(opened, "sequence", "svg", tmp_path))
    assert marks(many, BLUE) < marks(exact, BLUE)
    embedded = [value for one in many.iter(f"{SVG}image") for key, value in one.attrib.items() if key.endswith("href")]
    assert max(map(len, embedded)) > 2_000
    assert all(value.startswith("data:image/png") for value in embedded)


def test_a_folded_panel_is_saved_as_if_it_were_unfolded(opened: Opened, report: Path, tmp_path: Path) -> None:
    """It stays folded, and what is drawn has as many marks."""
    page = opened.open(report)
    shown = drawing(saved(opened, "delays", "svg", tmp_path))
    page.locator('[data-mt-panel="delays"] .fold').click()
    page.keyboard.press("w")
    page.keyboard.press("0")
    folded = drawing(saved(opened, "delays", "svg", tmp_path))
    assert page.locator('[data-mt-panel="delays"] .canvas').is_hidden()
    assert marks(folded, BLUE) == marks(shown, BLUE) > 20


def test_a_hidden_series_is_not_in_the_picture(opened: Opened, report: Path, tmp_path: Path) -> None:
    """Neither its marks nor its entry of the legend."""
    opened.open(report, "#hide=rtt")
    root = drawing(saved(opened, "delays", "svg", tmp_path))
    assert "round trip" not in texts(root)
    assert "smoothed round trip" in texts(root)
    assert marks(root, BLUE) == 0


def test_the_findings_in_view_are_shapes_in_their_lanes(opened: Opened, report: Path, tmp_path: Path) -> None:
    """A rectangle for each slice on the screen, hatched where the finding is only likely."""
    page = opened.open(report)
    root = drawing(saved(opened, "time", "svg", tmp_path))
    slices = [one for one in root.iter(f"{SVG}rect") if one.get("rx") == "2"]
    assert len(slices) == page.locator("#mt-stack .slice").count()
    hatched = [one for one in slices if (one.get("fill") or "").startswith("url(#mt-likely")]
    assert len(hatched) == page.locator("#mt-stack .slice.likely").count() > 0


def test_a_picture_leaves_the_page_as_it_was(opened: Opened, report: Path, tmp_path: Path) -> None:
    """The panels' sizes, colours and axes, and the view."""
    page = opened.open(report, "#theme=dark&t=10,30")
    page.wait_for_timeout(400)
    state = (
        "JSON.stringify(MT.engine.panels.filter(p => !p.isFolded).map(p => p.figure)"
        ".map(f => [f.inner_width, f.inner_height, f.below[0].visible,"
        " f.background_fill_color, f.y_range.start, f.y_range.end]))"
    )
    before = page.evaluate(state)
    for panel in PANELS:
        saved(opened, panel, "svg", tmp_path)
    assert page.evaluate(state) == before
    assert opened.view() == (10, 30)


@pytest.mark.parametrize(
    ("capture", "expected"),
    [("snd", "snd"), ("a b/c", "a_b_c"), ("", "report"), ("größe-1.x", "größe-1.x"), ("..\\<x>", ".._x_")],
)
def test_a_picture_is_called_after_the_capture(scripts: Any, capture: str, expected: str) -> None:
    """What no file system takes is replaced."""
    assert scripts.call("name => MT.pictures.nameOf(name)", capture) == expected


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [(0, 57, ["0", "10", "20", "30", "40", "50"]), (1.25, 1.3, ["1.25", "1.26", "1.27", "1.28", "1.29", "1.30"]),
     (-0.5, 2.4, ["-0.5", "0.0", "0.5", "1.0", "1.5", "2.0"])],
)  # fmt: skip
def test_a_time_axis_has_round_ticks(scripts: Any, start: float, end: float, expected: list[str]) -> None:
    """Steps of 1, 2 and 5 times a power of ten, with as many digits as they need."""
    assert scripts.call("(a, b) => MT.timeAxis.ticks(a, b, 600).map(tick => tick.text)", start, end) == expected
