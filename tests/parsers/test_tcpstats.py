"""tcpstats, our own format of a sender's state."""

from __future__ import annotations

import io
from math import inf, isnan, nan

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from multitracer.model.errors import InputError
from multitracer.model.schema import build
from multitracer.model.trace import Recording
from multitracer.parsers import tcpstats
from multitracer.parsers.shared.source import Source


def read(text: str) -> Recording:
    """What the parser makes of a text."""
    return tcpstats.read(Source("x", text.encode()))


def test_any_subset_of_the_keys_is_read() -> None:
    """Values are in bytes and seconds; values missing in a line are null."""
    recording = read(
        "# tcpstats 1\n# connection: 10.0.0.1:5000 > [::ffff:10.0.0.2]:80\n# host: a\n\n"
        "1238556193.000001 cwnd=2896 ssthresh=inf srtt=0.25 rttvar=1e-3 rto=1\n1238556194 cwnd=1448\n"
    )
    table = recording.tables["tcp_state"]
    assert table["time_ns"].tolist() == [1_238_556_193_000_001_000, 1_238_556_194_000_000_000]
    assert table["record"].tolist() == [5, 6]
    assert table["cwnd_bytes"].tolist() == [2896, 1448]
    assert table["ssthresh_bytes"].tolist()[0] == inf
    assert (table["srtt_s"][0], table["rttvar_s"][0], table["rto_s"][0]) == (0.25, 0.001, 1)
    assert isnan(table["rto_s"][1])
    assert set(table["local"]) == {"10.0.0.1:5000"}
    assert set(table["remote"]) == {"10.0.0.2:80"}
    assert set(table["event"]) == {"sample"}
    assert recording.clock == "epoch"
    assert recording.metadata["host"] == "a"


def test_the_first_line_is_the_magic() -> None:
    """Only `# tcpstats 1` will do, and only at the top."""
    assert tcpstats.sniff(b"# tcpstats 1\n1.0 cwnd=1\n")
    assert not tcpstats.sniff(b"# tcpstats 12\n")
    assert not tcpstats.sniff(b"1.0 cwnd=1\n# tcpstats 1\n")


def test_times_from_zero_are_relative() -> None:
    """A log that counts from its start does not claim to be of 1970; a header may say what its clock is."""
    assert read("# tcpstats 1\n0.5 cwnd=1\n").clock == "relative"
    assert read("# tcpstats 1\n# clock: monotonic\n0.5 cwnd=1\n").clock == "monotonic"


def test_a_bad_value_does_not_affect_the_rest_of_its_line() -> None:
    """The rest of the line is kept; each kind of defect is counted with its first place."""
    recording = read(
        "# tcpstats 1\n1.0 cwnd=x rto=1\n2.0 cwnd=-5\nnoon cwnd=1\n3.0\n4.0 wind=3\n# connection: nobody\n5.0 rto=2\n"
    )
    table = recording.tables["tcp_state"]
    assert table["record"].tolist() == [2, 8]
    assert table["local"].tolist() == [None, None]
    assert [(skip.reason, skip.record, skip.count) for skip in recording.skips] == [
        ("not key=number with a key of this format", 2, 3),
        ("does not begin with a time in seconds", 4, 1),
        ("a time without a value", 5, 1),
        ("a connection that is not ip:port > ip:port", 7, 1),
    ]


def test_a_file_of_comments_only_is_refused() -> None:
    """A log without a sample is refused."""
    with pytest.raises(InputError, match="no record"):
        read("# tcpstats 1\n# connection: 10.0.0.1:1 > 10.0.0.2:2\n")


_value = st.one_of(st.just(nan), st.floats(0, 1e9), st.integers(0, 10**9).map(float))


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(10**18, 2 * 10**18), _value, _value, _value, st.sampled_from("ab")), min_size=1))
def test_what_is_written_is_read_again(rows: list[tuple[int, float, float, float, str]]) -> None:
    """Times, values and connections survive; rows without a value are left out."""
    times, cwnd, threshold, rto, ends = zip(*rows, strict=True)
    local = [{"a": "10.0.0.1:1", "b": "[2001:db8::1]:2"}[end] for end in ends]
    columns = {
        "input": [0] * len(rows), "record": range(len(rows)), "time_ns": times, "recorded_ns": times,
        "connection": [-1] * len(rows), "sender": [-1] * len(rows), "local": local,
        "remote": ["10.0.0.9:9"] * len(rows), "event": ["sample"] * len(rows),
        "cwnd_bytes": cwnd, "rto_s": rto,
        "ssthresh_bytes": [value if isnan(value) else inf for value in threshold],
    }  # fmt: skip
    state = build("tcp_state", columns)
    stream = io.StringIO()
    tcpstats.write(stream, state, {"host": "a"})
    told = state[["cwnd_bytes", "ssthresh_bytes", "rto_s"]].notna().any(axis=1)
    if not told.any():
        return
    kept = ["time_ns", "local", "remote", "cwnd_bytes", "ssthresh_bytes", "rto_s"]
    again = read(stream.getvalue()).tables["tcp_state"]
    pd.testing.assert_frame_equal(again[kept], state.loc[told, kept].reset_index(drop=True))
