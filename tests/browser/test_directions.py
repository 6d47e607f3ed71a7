"""The other direction of connection and link: a key and a button turn the panels to it, and the address keeps it."""

from __future__ import annotations

from pathlib import Path

import both_ways
import pytest
from browsing import EXAMPLE, Opened
from shared_data import shared

from multitracer import Analysis, analyze
from multitracer.model.schema import MARKS

pytestmark = pytest.mark.browser

WAY = "document.documentElement.dataset.mtWay"
FATES = "document.documentElement.dataset.mtFates"
ROWS = "#mt-selection tbody tr"
QUICKLY = "keys => keys.forEach(key => document.body.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true})))"
COUNT = "group => document.querySelectorAll(`script.mt-columns[data-group='${group}']`).length"
SERIES = "([name, column]) => Array.from(MT.engine.series.get(name)?.columns[column] ?? [])"


@pytest.fixture(scope="module")
def two_way(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    """A transfer with data both ways, captured at both ends."""
    return analyze(both_ways.write(tmp_path_factory.mktemp("both")))


@pytest.fixture(scope="module")
def two_way_report(two_way: Analysis, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its report."""
    path = tmp_path_factory.mktemp("page") / "report.html"
    two_way.report(path)
    return path


def turned(opened: Opened, key: str = "D") -> None:
    """Turn the panels, and wait until the other way is drawn with its fates."""
    way = opened.page.evaluate(WAY)
    opened.page.keyboard.press(key)
    opened.until(f"{WAY} !== '{way}' && {FATES} === ['0', '0 reverse'][{WAY}]")


def title(opened: Opened, panel: str) -> str:
    """A panel's title with who sent what it shows."""
    text: str = opened.page.evaluate(f"document.querySelector('[data-mt-panel={panel}] .fold').textContent.trim()")
    return text


def series(opened: Opened, name: str, column: str) -> list[float]:
    """A column of a series as the page's engine holds it."""
    found: list[float] = opened.page.evaluate(SERIES, [name, column])
    return found


def drawn_is_sent_by(opened: Opened, analysis: Analysis, end: int) -> None:
    """The segments drawn are those that an end sent first, at their times and with their bytes."""
    segments = analysis.tables["segments"]
    own = segments[(segments["point"] == analysis.paths.seen_at[0, end]) & (segments["sender"] == end)]
    first = own[(own["payload_bytes"] > 0) & (own["marks"] & MARKS["retransmission"] == 0)]
    assert opened.values("segments", "x") == ((first["time_ns"] - analysis.origin_ns) / 1e9).tolist()
    assert opened.values("segments", "y") == first["seq"].tolist()
    assert opened.values("segments", "top") == (first["seq"] + first["payload_bytes"]).tolist()
    arrived = segments["time_ns"].to_numpy()[analysis.paths.arrival[own.index]][own["payload_bytes"] > 0]
    lost = (analysis.paths.arrival[own.index] < 0)[own["payload_bytes"] > 0]
    assert series(opened, "arrived", "x") == sorted(((arrived - analysis.origin_ns) / 1e9)[~lost].tolist())
    assert len(series(opened, "fate_lost", "x")) == len(both_ways.LOST[end])
    assert len(series(opened, "again_no", "x")) == len(both_ways.LOST[end])


def test_a_key_and_a_button_turn_the_panels(opened: Opened, two_way_report: Path, two_way: Analysis) -> None:
    """To what the other end sent, and back; the titles say whose it is."""
    page = opened.open(two_way_report)
    opened.until(f"{FATES} === '0'")
    drawn_is_sent_by(opened, two_way, 0)
    assert title(opened, "sequence") == f"Sequence numbers, sent by {both_ways.CLIENT}"
    turned(opened)
    drawn_is_sent_by(opened, two_way, 1)
    assert title(opened, "sequence") == f"Sequence numbers, sent by {both_ways.SERVER}"
    assert page.locator("#mt-turn").get_attribute("aria-pressed") == "true"
    page.click("#mt-turn")
    opened.until(f"{WAY} === '0' && {FATES} === '0'")
    drawn_is_sent_by(opened, two_way, 0)
    assert page.locator("#mt-turn").get_attribute("aria-pressed") == "false"


def test_the_other_direction_is_decoded_when_it_is_first_shown(opened: Opened, two_way_report: Path) -> None:
    """So that a page is ready as soon as without it."""
    page = opened.open(two_way_report)
    opened.until(f"{FATES} === '0'")
    assert page.evaluate(COUNT, "0") == page.evaluate(COUNT, "0 fates") == 0
    assert page.evaluate(COUNT, "0 reverse") == page.evaluate(COUNT, "0 reverse fates") == 1
    turned(opened)
    assert page.evaluate(COUNT, "0 reverse") == page.evaluate(COUNT, "0 reverse fates") == 0


def test_the_help_lists_the_key(opened: Opened, report: Path) -> None:
    """D, since d moves the view."""
    page = opened.open(report)
    page.keyboard.press("?")
    assert "D" in page.locator("#mt-help tr", has_text="other direction").locator("kbd").all_inner_texts()


def test_the_address_keeps_the_direction(opened: Opened, two_way_report: Path, two_way: Analysis) -> None:
    """And shows it when it is opened."""
    page = opened.open(two_way_report)
    turned(opened)
    opened.until("location.hash.includes('dir=1')")
    opened.open(two_way_report, "#" + page.url.partition("#")[2])
    opened.until(f"{FATES} === '0 reverse'")
    drawn_is_sent_by(opened, two_way, 1)
    turned(opened)
    opened.until("!location.hash.includes('dir=')")


@pytest.mark.parametrize("asked", ["dir=2", "dir=", "dir=server"])
def test_nonsense_in_the_address_is_told(opened: Opened, two_way_report: Path, asked: str) -> None:
    """The usual direction is shown."""
    page = opened.open(two_way_report, f"#{asked}")
    assert page.locator("#mt-status").inner_text().endswith(f"ignored: {asked}")
    assert page.evaluate(WAY) == "0"


def test_an_end_without_data_shows_the_link_alone(opened: Opened, report: Path, analysis: Analysis) -> None:
    """The frames that the network sent, as its log has them; no segments or acknowledgements, and the title says so."""
    opened.open(report)
    opened.page.keyboard.press("D")
    opened.until(f"{WAY} === '1'")
    assert title(opened, "sequence") == "Sequence numbers, 10.9.0.2:5301 sent no data"
    assert title(opened, "frames") == "Link frames, rlp, sent by the network"
    frames = analysis.tables["frames"]
    reverse = analysis.tables["links"]["reverse"].iat[analysis.links.main]
    sent = frames[(frames["link"] == reverse) & frames["sent"] & frames["type"].str.startswith("I ")]
    new = sent[sent["transmission"] == 0].sort_values("time_ns")
    assert series(opened, "frames_new", "x") == ((new["time_ns"] - analysis.origin_ns) / 1e9).tolist()
    assert series(opened, "frames_new", "y") == new["sn_unwrapped"].tolist()
    for name in ("segments", "acks", "window", "rtt", "goodput", "again_no"):
        assert series(opened, name, "x") == []
    opened.page.keyboard.press("D")
    opened.until(f"{WAY} === '0'")
    assert title(opened, "frames") == "Link frames, rlp, sent by the mobile"


def test_without_another_direction_the_button_says_why(opened: Opened, tmp_path: Path) -> None:
    """It is disabled; the key says the reason too, as does an address that asks for that direction."""
    path = tmp_path / "report.html"
    analyze(both_ways.write(tmp_path, (30, 0))).report(path)
    page = opened.open(path, "#dir=1")
    assert page.locator("#mt-status").inner_text().endswith("ignored: dir=1")
    button = page.locator("#mt-turn")
    assert button.get_attribute("aria-disabled") == "true"
    assert button.get_attribute("title") == f"{both_ways.SERVER} sent no data"
    page.keyboard.press("D")
    assert f"{both_ways.SERVER} sent no data" in page.locator("#mt-status").inner_text()
    assert page.evaluate(WAY) == "0"


def test_what_is_clicked_stepped_to_and_counted_is_of_the_direction_shown(
    opened: Opened, two_way_report: Path, two_way: Analysis
) -> None:
    """A click on a segment, r and the finding that explains it, and the counts of a selection, which stays."""
    page = opened.open(two_way_report)
    page.keyboard.press("m")
    assert page.locator("#mt-selection tbody tr", has_text="sent").first.inner_text().split("\t")[2] == "20,000"
    turned(opened)
    assert page.locator("#mt-selection tbody tr", has_text="sent").first.inner_text().split("\t")[2] == "12,500"
    page.keyboard.press("r")
    assert "bytes 3,501 to 4,001" in page.locator("#mt-chosen").inner_text()
    page.keyboard.press("e")
    assert page.evaluate(WAY) == "1"
    assert "seq 3501" in page.locator("#mt-details article:not([hidden])").inner_text()
    page.keyboard.press("0")
    opened.look(0.1, 0.7)
    segments = two_way.tables["segments"]
    own = segments[(segments["point"] == two_way.paths.seen_at[0, 1]) & (segments["sender"] == 1)]
    first = own[own["payload_bytes"] > 0].iloc[1]
    opened.click("sequence", (first["time_ns"] - two_way.origin_ns) / 1e9, first["seq"] + 250)
    assert f"record {first['record']})" in page.locator("#mt-chosen").inner_text()


def test_a_finding_turns_the_panels_to_the_direction_it_is_about(opened: Opened, two_way_report: Path) -> None:
    """It stays chosen, and the panels stay where they are for one about the same direction."""
    page = opened.open(two_way_report)
    for way in ("1", "0"):
        row = page.locator(f"#mt-findings [data-kind=timeout][data-way='{way}']").first
        row.evaluate("row => row.querySelector('.row').click()")
        opened.until(f"{WAY} === '{way}'")
        assert row.get_attribute("aria-selected") == "true"
        assert page.locator("#mt-details article:not([hidden])").count() == 1


def search_both_ways(opened: Opened, text: str) -> None:
    """Search a text that is in both directions; typed at once, as a part of it has hits of its own for a moment."""
    opened.page.keyboard.press("/")
    opened.page.locator("#mt-search").fill(text)
    opened.until("document.querySelectorAll('#mt-hits .sort').length === 2")


def test_a_hit_in_the_other_direction_turns_the_panels(opened: Opened, two_way_report: Path) -> None:
    """Both directions are searched, the one that is shown first."""
    page = opened.open(two_way_report)
    search_both_ways(opened, "byte 3600")
    assert page.locator("#mt-hits .sort").all_inner_texts() == [
        "Segments that hold this byte", "Segments that hold this byte, the other direction",
    ]  # fmt: skip
    page.locator("#mt-hits [role=option]").last.click()
    opened.until(f"{WAY} === '1'")
    opened.until("document.getElementById('mt-chosen').textContent.includes('bytes 3,501 to 4,001')")


def lost(opened: Opened) -> str:
    """How many lost segments the table of the selected part counts."""
    row: str = opened.page.locator(ROWS, has=opened.page.get_by_text("lost", exact=True)).inner_text()
    return row.split("\t")[1]


def test_what_was_lost_in_a_part_is_counted_again_with_the_fates(opened: Opened, two_way_report: Path) -> None:
    """Which come after the rest of a direction; until then nothing is said of them."""
    page = opened.open(two_way_report)
    opened.until(f"{FATES} === '0'")
    page.keyboard.press("m")
    assert lost(opened) == str(len(both_ways.LOST[0]))
    page.evaluate("void (MT.loading.whenIdle = () => new Promise(done => { MT.goOn = done; }))")
    page.keyboard.press("D")
    opened.until(f"{WAY} === '1'")
    assert lost(opened) == "-"
    page.evaluate("MT.goOn()")
    opened.until(f"{FATES} === '0 reverse'")
    assert lost(opened) == str(len(both_ways.LOST[1]))


def test_the_fate_of_what_was_chosen_is_told_once_it_is_known(opened: Opened, two_way_report: Path) -> None:
    """Of a hit in the other direction, which is chosen before its fate is decoded."""
    page = opened.open(two_way_report)
    search_both_ways(opened, "byte 3600")
    page.locator("#mt-hits [role=option]").last.click()
    opened.until(f"{FATES} === '0 reverse'")
    assert "It was delivered" in page.locator("#mt-chosen").inner_text()


def test_two_quick_turns_end_where_they_began(opened: Opened, two_way_report: Path) -> None:
    """Also before the columns of the first one are decoded."""
    page = opened.open(two_way_report)
    opened.until(f"{FATES} === '0'")
    page.evaluate(QUICKLY, ["D", "D"])
    page.wait_for_timeout(300)
    assert page.evaluate(WAY) == "0"
    page.evaluate(QUICKLY, ["D", "D", "D"])
    opened.until(f"{FATES} === '0 reverse'")


def test_what_was_not_sent_again_is_said_of_the_direction(opened: Opened, report: Path) -> None:
    """As the connection's other end may have sent something again."""
    page = opened.open(report)
    page.keyboard.press("D")
    opened.until(f"{WAY} === '1'")
    page.keyboard.press("r")
    assert page.locator("#mt-status").inner_text() == "TCP sent nothing again in this direction."
    page.keyboard.press("m")
    assert lost(opened) == "-"
    assert page.locator('[data-mt-panel="sequence"] .entry.rate').is_hidden()


def test_a_saved_panel_is_called_after_its_direction(opened: Opened, two_way_report: Path) -> None:
    """So that the pictures of both lie in one folder."""
    page = opened.open(two_way_report)
    names = []
    for _ in (0, 1):
        with page.expect_download() as download:
            page.click('[data-mt-panel="sequence"] button[data-format="svg"]')
        names.append(download.value.suggested_filename)
        turned(opened)
    assert names[0].endswith("-sequence.svg")
    assert names[1] == names[0].replace("-sequence", "-sequence-other_direction")


@pytest.mark.data
def test_the_key_says_why_a_page_of_a_state_log_has_one_direction(opened: Opened, tmp_path: Path) -> None:
    """And turns nothing."""
    path = tmp_path / "report.html"
    analyze([shared("linux", "overflow", "tcp_probe.txt.gz")]).report(path)
    page = opened.open(path)
    page.keyboard.press("D")
    told = page.locator("#mt-status").inner_text()
    assert told.endswith("There is no other direction to show: no connection was captured, and no link logged.")
    assert page.evaluate(WAY) == "0"


def test_without_a_connection_only_the_link_is_drawn(opened: Opened, tmp_path: Path) -> None:
    """Of a link's log alone only the link's panels are there, with the end that sent."""
    analyze(sorted(EXAMPLE.glob("rlpdump*"))).report(tmp_path / "report.html")
    page = opened.open(tmp_path / "report.html")
    titles = [title.strip() for title in page.locator("[data-mt-panel] .fold").all_inner_texts()]
    assert [title.split(",")[0] for title in titles] == ["Time and findings", "Link frames"]
    assert titles[1].startswith("Link frames, rlp, sent by")
    assert "Sequence numbers: no TCP connection was captured." in page.locator("body").inner_text()
