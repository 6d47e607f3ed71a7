"""The report in a browser: it opens offline, moves, and shows the tables' values."""

from __future__ import annotations

from pathlib import Path

import pytest
from browsing import EXAMPLE, Opened, figure

from multitracer import Analysis, analyze
from multitracer.model.options import AnalyzeOptions

pytestmark = pytest.mark.browser


def test_it_opens_from_disk_without_a_network(opened: Opened, report: Path) -> None:
    """Ready, with its title, and nothing asked of any network."""
    page = opened.open(report)
    assert "MultiTracer" in page.title()
    assert page.locator("#mt-stack canvas").count() > 0


def test_the_panels_draw_the_values_of_the_tables(opened: Opened, report: Path, analysis: Analysis) -> None:
    """Every data segment that was sent once is drawn at its time and from its first byte to its last."""
    opened.open(report)
    segments = analysis.tables["segments"]
    point = analysis.paths.sender_point[0, 0]
    own = segments[(segments["point"] == point) & (segments["sender"] == 0) & (segments["payload_bytes"] > 0)]
    first = own[own["marks"] & 1 == 0]
    assert opened.values("segments", "x") == ((first["time_ns"] - analysis.origin_ns) / 1e9).tolist()
    assert opened.values("segments", "y") == first["seq"].tolist()
    assert opened.values("segments", "top") == (first["seq"] + first["payload_bytes"]).tolist()
    resent = analysis.tables["retransmissions"]
    assert len(opened.values("again_no", "x")) == int((resent["spurious"] == "no").sum())


def finding(kind: str) -> str:
    """A selector for the row of the first finding of a kind."""
    return f"#mt-findings [data-kind={kind}]"


def test_a_finding_zooms_all_panels_to_it(opened: Opened, report: Path) -> None:
    """A click on a row brings its interval into view; Enter does the same."""
    page = opened.open(report)
    page.locator("#mt-findings .more").first.click()
    row = page.locator(finding("link-reset")).first
    start, end = (float(row.get_attribute(name)) for name in ("data-start", "data-end"))
    row.locator(".row").first.click()
    left, right = opened.view()
    assert left < start <= end < right
    assert right - left < 10
    page.keyboard.press("0")
    row.focus()
    page.keyboard.press("Enter")
    assert opened.view() == (left, right)


def test_a_chosen_finding_tells_its_evidence_and_a_filter_to_copy(opened: Opened, report: Path) -> None:
    """Beside the list; the button copies the filter, or selects it."""
    page = opened.open(report)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.evaluate(f"document.querySelectorAll('{finding('local-drop')}')[1].querySelector('.row').click()")
    told = page.locator("#mt-details article:not([hidden])")
    assert told.count() == 1
    assert "count 9, bytes 4140" in told.inner_text()
    code = told.locator("code").first.inner_text()
    assert code.startswith("frame.number in {49, 52")
    told.locator("button.copy").first.click()
    opened.until("document.querySelector('#mt-details article:not([hidden]) button.copy').textContent !== 'copy'")
    assert page.evaluate("getSelection().toString()") == code
    assert page.evaluate("navigator.clipboard.readText()") == code


def test_keys_zoom_move_and_go_back(opened: Opened, report: Path) -> None:
    """w and s, a and d, 0, n, r."""
    page = opened.open(report)
    whole = opened.view()
    page.keyboard.press("w")
    zoomed = opened.view()
    assert zoomed[1] - zoomed[0] == pytest.approx((whole[1] - whole[0]) / 2)
    page.keyboard.press("d")
    assert opened.view()[0] > zoomed[0]
    page.keyboard.press("0")
    assert opened.view() == pytest.approx(whole)
    page.keyboard.press("n")
    assert opened.view() != pytest.approx(whole)
    page.keyboard.press("r")
    left, right = opened.view()
    assert any(left <= time <= right for time in opened.values("again_no", "x"))


def test_help_opens_and_closes(opened: Opened, report: Path) -> None:
    """With ? and Escape."""
    page = opened.open(report)
    page.keyboard.press("?")
    assert page.locator("#mt-help").is_visible()
    page.keyboard.press("Escape")
    assert not page.locator("#mt-help").is_visible()


def test_the_theme_can_be_switched_between_light_and_dark(opened: Opened, report: Path) -> None:
    """The theme changes page and plots, and is kept in the address."""
    page = opened.open(report, "#theme=light")
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.keyboard.press("t")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != light
    opened.until("location.hash.includes('theme=dark')")


def test_the_address_holds_the_view(opened: Opened, report: Path) -> None:
    """An address with a window opens at it."""
    opened.open(report, "#t=20,25")
    assert opened.view() == (20, 25)


def test_an_open_report_follows_an_address_that_is_entered(opened: Opened, report: Path) -> None:
    """View, theme, hidden series and pins, as when it is opened with it."""
    page = opened.open(report)
    page.click("button.entry[data-series=segments]")
    page.evaluate("location.hash = '#t=5,6&theme=dark&hide=acks&pins=5.5_hello'")
    opened.until("document.querySelectorAll('[data-mt-pin]').length === 1")
    assert opened.view() == (5, 6)
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert page.locator("button.entry[data-series=acks]").get_attribute("aria-pressed") == "false"
    assert page.locator("button.entry[data-series=segments]").get_attribute("aria-pressed") == "true"


@pytest.mark.parametrize("asked", ["NaN,1", "5,1", "1e99,2e99", "-1e12,1e12", "5,5.0000000001", "1,2,3", "%25"])
def test_a_damaged_address_shows_a_valid_view(opened: Opened, report: Path, asked: str) -> None:
    """The view is never far from the trace, nor narrower than the resolution of times; the theme is light or dark."""
    page = opened.open(report, f"#t={asked}&theme=pink")
    start, end = opened.view()
    assert 1e-6 < end - start < 130
    assert -70 < start < end < 130
    assert page.evaluate("document.documentElement.dataset.theme") in ("light", "dark")
    for _ in range(60):
        page.keyboard.press("s")
    start, end = opened.view()
    assert end - start < 130


def test_the_y_axis_follows_what_is_in_view(opened: Opened, report: Path) -> None:
    """Zoomed to the end, the sequence panel shows the end of the stream."""
    page = opened.open(report, "#t=50,57")
    low = page.evaluate(f"{figure('sequence')}.y_range.start")
    assert low > 20_000


def test_another_connection_can_be_chosen(opened: Opened, tmp_path: Path) -> None:
    """The panels then hold that connection's segments."""
    folder = EXAMPLE.parent / "loss2"
    found = analyze(sorted(folder.iterdir()))
    found.report(tmp_path / "two.html")
    page = opened.open(tmp_path / "two.html")
    before = len(opened.values("segments", "x"))
    page.select_option("#mt-connection", "0")
    page.wait_for_selector('html[data-mt-connection="0"]')
    assert 0 < len(opened.values("segments", "x")) < before


def test_names_from_outside_never_become_markup(opened: Opened, tmp_path: Path) -> None:
    """A file name with markup is shown as text."""
    name = tmp_path / "<img src=x onerror=alert(1)>.pcap"
    name.write_bytes((EXAMPLE / "snd.pcap").read_bytes())
    analyze([name]).report(tmp_path / "report.html")
    page = opened.open(tmp_path / "report.html")
    assert page.locator("img").count() == 0
    assert "<img src=x" in page.locator("h1").inner_text()


def test_payload_never_enters_the_report(report: Path) -> None:
    """The transfer's filler text, which the captures and link logs hold, is nowhere."""
    text = report.read_text()
    assert "78787878787878" not in text
    assert "x" * 16 not in text


BOX = "Bokeh.documents[0].get_model_by_name('box 0')"


def test_the_cursor_reads_every_series(opened: Opened, report: Path, analysis: Analysis) -> None:
    """Pointing at one panel tells in every legend the last value at or before that time; "-" before the first."""
    page = opened.open(report)
    page.mouse.move(*opened.place("sequence", 10, 20_000))
    opened.until("document.getElementById('mt-cursor-time').textContent !== '-'")
    time = float(page.locator("#mt-cursor-time").inner_text().split()[0])
    assert time == pytest.approx(10, abs=0.1)
    values = {one: page.locator(f"[data-mt-value={one}]").inner_text() for one in ("segments", "acks", "again_yes")}
    assert page.locator("[data-mt-value=cwnd]").inner_text() not in ("", "-")
    segments = analysis.tables["segments"]
    acks = segments[(segments["point"] == analysis.paths.sender_point[0, 0]) & (segments["sender"] == 1)]
    before = acks[((acks["time_ns"] - analysis.origin_ns) / 1e9 <= time) & (acks["ack"] >= 1)]
    assert values["acks"] == f"{before['ack'].iloc[-1]:,}"
    assert values["again_yes"] == "-"


@pytest.mark.parametrize("width", [390, 1280])
def test_no_panel_moves_under_the_pointer(opened: Opened, report: Path, width: int) -> None:
    """However wide the values in the legends, and when the fates are decoded, every panel stays where it is."""
    opened.page.set_viewport_size({"width": width, "height": 800})
    page = opened.open(report)
    places = "Array.from(document.querySelectorAll('.panel'), p => [p.offsetTop, p.offsetHeight])"
    before = page.evaluate(places)
    opened.until("document.documentElement.dataset.mtFates")
    canvas = page.locator("[data-mt-panel=sequence] .canvas")
    at = []
    for share in (0.3, 0.6, 0.9):
        canvas.hover(position={"x": width * share * 0.7, "y": 40})
        at.append(page.locator("#mt-cursor-time").inner_text())
        page.wait_for_timeout(50)
        assert page.evaluate(places) == before
    assert len(set(at)) == 3
    assert page.locator("[data-mt-value=segments]").inner_text() != "-"


def test_a_clicked_segment_shows_its_frames_and_a_frame_its_segment(
    opened: Opened, report: Path, analysis: Analysis
) -> None:
    """Just those of the map, both ways, and Escape takes the marks away."""
    page = opened.open(report, "#t=2,6")
    pairs = analysis.links.segments[analysis.links.main or 0]
    segments, frames = analysis.tables["segments"], analysis.tables["frames"]
    row = next(
        row
        for row in pairs.segment.tolist()
        if segments["payload_bytes"].iat[row] > 0 and 3 < (segments["time_ns"].iat[row] - analysis.origin_ns) / 1e9 < 5
    )
    own = pairs.frame[pairs.segment == row]
    at = (segments["time_ns"].iat[row] - analysis.origin_ns) / 1e9
    opened.click("sequence", at, segments["seq"].iat[row] + segments["payload_bytes"].iat[row] / 2)
    wanted = [(time - analysis.origin_ns) / 1e9 for time in frames["time_ns"].to_numpy()[own].tolist()]
    opened.until("Bokeh.documents[0].get_model_by_name('chosen frames').data.x.length > 0")
    assert opened.values("chosen frames", "x") == wanted
    assert f"carried by {len(wanted)} frames" in page.locator("#mt-chosen").inner_text()
    page.keyboard.press("Escape")
    assert page.locator("#mt-chosen").inner_text() == ""
    middle = int(own[len(own) // 2])
    opened.look(wanted[0] - 0.5, wanted[-1] + 0.5)
    opened.click("frames", wanted[len(wanted) // 2], frames["sn_unwrapped"].iat[middle])
    opened.until("Bokeh.documents[0].get_model_by_name('chosen segments').data.x.length > 0")
    assert at in opened.values("chosen segments", "x")


def test_a_part_that_is_dragged_over_is_counted(opened: Opened, report: Path, analysis: Analysis) -> None:
    """Marked in every panel, with the bytes that were sent in it; nothing fades afterwards."""
    page = opened.open(report)
    opened.select("sequence", 2.0, 10.0)
    page.wait_for_selector("#mt-selection:not([hidden])")
    rows = page.locator("#mt-selection tbody tr").all_inner_texts()
    start, end = page.evaluate(f"[{BOX}.left, {BOX}.right]")
    segments = analysis.tables["segments"]
    times = (segments["time_ns"] - analysis.origin_ns) / 1e9
    own = segments[
        (times >= start) & (times <= end) & (segments["point"] == analysis.paths.sender_point[0, 0])
        & (segments["sender"] == 0) & (segments["payload_bytes"] > 0)
    ]  # fmt: skip
    sent = next(row for row in rows if row.startswith("sent")).split("\t")
    assert sent[1] == f"{len(own)}"
    assert sent[2].replace(",", "") == f"{own['payload_bytes'].sum()}"
    assert page.evaluate("[0, 1, 2].every(i => Bokeh.documents[0].get_model_by_name('box ' + i).visible)")
    page.click("#mt-selection-zoom")
    assert opened.view() == pytest.approx((start, end))
    page.keyboard.press("Escape")
    assert not page.locator("#mt-selection").is_visible()


def test_the_overview_always_shows_the_whole_trace(opened: Opened, report: Path, analysis: Analysis) -> None:
    """The overview adds up to all bytes sent, whatever part is in view."""
    page = opened.open(report, "#t=20,21")
    total = page.evaluate(
        "(() => { const d = Bokeh.documents[0].get_model_by_name('overview sent').data;"
        " return d.top.reduce((sum, rate, i) => sum + rate * (d.right[i] - d.left[i]) / 8e-3, 0); })()"
    )
    segments = analysis.tables["segments"]
    own = segments[(segments["point"] == analysis.paths.sender_point[0, 0]) & (segments["sender"] == 0)]
    assert total == pytest.approx(own["payload_bytes"].sum())
    assert page.evaluate("Bokeh.documents[0].get_model_by_name('whole').end") > 50


def test_hidden_series_are_kept_in_the_address(opened: Opened, report: Path) -> None:
    """A series hidden by a click on the legend is in the address, and hidden when that address is opened."""
    page = opened.open(report)
    page.click("button.entry[data-series=acks]")
    opened.until("location.hash.includes('hide=acks')")
    opened.open(report, "#" + page.url.partition("#")[2])
    hidden = f"{figure('sequence')}.renderers.filter(r => !r.visible).map(r => r.data_source.name)"
    assert page.evaluate(hidden) == ["acks"]


def test_the_bar_zooms_to_the_longest_stretch_of_a_cause(opened: Opened, report: Path, analysis: Analysis) -> None:
    """A click on a cause shows its longest stretch, the next click the second longest."""
    page = opened.open(report)
    table = analysis.main_accounting
    own = table[table["cause"] == "idle_recovery"]
    longest = own.iloc[(own["end_ns"] - own["start_ns"]).to_numpy().argmax()]
    left, right = ((longest[name] - analysis.origin_ns) / 1e9 for name in ("start_ns", "end_ns"))
    page.click("button.cause[data-cause=idle_recovery]")
    start, end = opened.view()
    assert start < left < right < end
    page.click("button.cause[data-cause=idle_recovery]")
    assert opened.view() != (start, end)


def test_readings_are_available_by_keyboard(opened: Opened, report: Path) -> None:
    """m counts the records in view; the arrows move the cursor."""
    page = opened.open(report, "#t=2,10")
    page.keyboard.press("m")
    assert page.locator("#mt-selection tbody tr").count() > 5
    page.keyboard.press("ArrowRight")
    first = page.locator("#mt-cursor-time").inner_text()
    assert page.locator("#mt-crosshair").is_visible()
    page.keyboard.press("ArrowRight")
    assert page.locator("#mt-cursor-time").inner_text() != first


def test_the_axis_reaches_the_last_record_of_a_staircase(opened: Opened, report: Path) -> None:
    """Also if no record follows it."""
    page = opened.open(report)
    last = page.evaluate("(one => one.x[one.n - 1])(MT.engine.series.get('acks'))")
    page.evaluate("MT.engine.hide(MT.engine.panels[0].parts.map(part => part.name).filter(name => name !== 'acks'))")
    opened.look(last - 1, last + 1)
    shown = page.evaluate(f"(figure => [figure.y_range.start, figure.y_range.end])({figure('sequence')})")
    top = page.evaluate("(one => one.y[one.n - 1])(MT.engine.series.get('acks'))")
    assert shown[0] < top < shown[1]


def test_the_totals_of_the_whole_trace_are_the_bytes_sent_and_acknowledged(
    opened: Opened, report: Path, analysis: Analysis
) -> None:
    """Every acknowledged byte counts, those of the first acknowledgement too; SACK blocks are not traffic."""
    page = opened.open(report)
    page.keyboard.press("m")
    opened.until("document.querySelectorAll('#mt-selection tbody tr').length > 0")
    rows = {row.split("\t")[0]: row.split("\t") for row in page.locator("#mt-selection tbody tr").all_inner_texts()}
    segments = analysis.tables["segments"]
    mine = (segments["point"] == analysis.paths.sender_point[0, 0]) & (segments["sender"] == 1)
    assert rows["acknowledged"][2].replace(",", "") == str(int(segments["ack"][mine].max()) - 1)
    assert rows["SACK"][2] == ""


def test_the_cursor_reads_the_last_of_records_at_one_time(opened: Opened, report: Path) -> None:
    """If several records of a staircase have the same time, the cursor shows the last one's value."""
    page = opened.open(report)
    page.evaluate("MT.engine.put('cwnd', 'line', {x: [1, 2, 2, 3], y: [10, 20, 30, 40]})")
    found = page.evaluate("MT.values.valuesAt(MT.engine, 2).find(one => one.name === 'cwnd').y")
    assert found == 30


def test_going_back_at_once_shows_the_previous_view(opened: Opened, report: Path) -> None:
    """Also before the new view has settled."""
    page = opened.open(report)
    before = opened.view()
    page.keyboard.press("w")
    opened.until("MT.engine.timeRange.end - MT.engine.timeRange.start < 40")
    page.keyboard.press("u")
    assert opened.view() == pytest.approx(before)


@pytest.mark.parametrize(("start", "end"), [(40.0, 41.0), (21.66, 24.34)])
def test_a_window_is_shown_from_its_own_beginning(opened: Opened, tmp_path: Path, start: float, end: float) -> None:
    """Not from the start of the trace; also one in which the link sent nothing new, and TCP nothing at all."""
    analyze(sorted(EXAMPLE.iterdir()), AnalyzeOptions(from_s=start, to_s=end)).report(tmp_path / "part.html")
    opened.open(tmp_path / "part.html")
    assert opened.view()[0] == pytest.approx(start, abs=0.5)
    assert opened.view()[1] == pytest.approx(end, abs=0.5)


def test_the_address_keeps_the_connection(opened: Opened, tmp_path: Path) -> None:
    """And its direction; the first connection is not named, and one that is not there is said to be none."""
    analyze(sorted((EXAMPLE.parent / "loss2").iterdir())).report(tmp_path / "report.html")
    page = opened.open(tmp_path / "report.html")
    shown = "document.documentElement.dataset.mtConnection"
    first, other = (page.locator("#mt-connection option").nth(place).get_attribute("value") for place in (0, 1))
    page.select_option("#mt-connection", other)
    page.keyboard.press("D")
    opened.until(f"location.hash.includes('con={other}&dir=1')")
    opened.open(tmp_path / "report.html", "#" + page.url.partition("#")[2])
    assert [page.evaluate(shown), page.input_value("#mt-connection")] == [other, other]
    assert page.evaluate("document.documentElement.dataset.mtWay") == "1"
    page.select_option("#mt-connection", first)
    opened.until("!location.hash.includes('con=')")
    opened.open(tmp_path / "report.html", "#con=99")
    assert page.locator("#mt-status").inner_text().endswith("ignored: con=99")
    assert page.evaluate(shown) == first


def test_choosing_another_connection_forgets_what_was_counted(opened: Opened, tmp_path: Path) -> None:
    """The last one chosen wins, however long another takes; no table shows the former one's numbers."""
    analyze(sorted((EXAMPLE.parent / "loss2").iterdir())).report(tmp_path / "report.html")
    page = opened.open(tmp_path / "report.html")
    page.keyboard.press("m")
    assert page.locator("#mt-selection").is_visible()
    other = page.locator("#mt-connection option").nth(1).get_attribute("value")
    page.evaluate(
        "async other => { const select = document.getElementById('mt-connection'), first = select.value;"
        " for (const value of [other, first, other])"
        " { select.value = value; select.dispatchEvent(new Event('change')); } }",
        other,
    )
    page.wait_for_selector(f'html[data-mt-connection="{other}"]')
    assert page.evaluate("document.documentElement.dataset.mtConnection") == other
    assert not page.locator("#mt-selection").is_visible()


def test_a_view_never_leaves_the_data(opened: Opened, report: Path) -> None:
    """However far the axis is dragged or widened."""
    page = opened.open(report)
    whole = opened.view()
    for key in "ssdddddwwwaaaaaaaaaaaas":
        page.keyboard.press(key)
        start, end = opened.view()
        assert whole[0] <= start < end <= whole[1]
