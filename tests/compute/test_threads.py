"""Work divided among threads."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from multitracer.compute import threads
from multitracer.compute.threads import ahead


@pytest.fixture(params=[1, 2], ids=["one thread", "two threads"])
def allowed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many threads may be used."""
    monkeypatch.setitem(threads._allowed, "threads", request.param)
    return int(request.param)


def failing_after(items: list[Any]) -> Iterator[Any]:
    """These items, and then an error."""
    yield from items
    raise OSError("no more")


@pytest.mark.usefixtures("allowed")
@pytest.mark.parametrize("items", [[], [None], [0, None, "", 3], list(range(100))], ids=len)
def test_items_made_ahead_come_in_their_order(items: list[Any]) -> None:
    """All of them, those too that are nothing or false."""
    assert list(ahead(iter(items))) == items


@pytest.mark.usefixtures("allowed")
@pytest.mark.parametrize("items", [[], [1], [1, 2, 3]], ids=len)
def test_an_error_comes_after_the_items_before_it(items: list[Any]) -> None:
    """It is raised where the item that could not be made is asked for, and no thread is left."""
    before, coming = threading.active_count(), ahead(failing_after(items))
    assert [next(coming) for _ in items] == items
    with pytest.raises(OSError, match="no more"):
        next(coming)
    assert threading.active_count() == before


def test_a_thread_makes_one_item_ahead_and_no_more(allowed: int) -> None:
    """With one thread allowed, and for the first item, it is the caller's."""
    makers: list[int] = []

    def made() -> Iterator[int]:
        for number in range(4):
            makers.append(threading.get_ident())
            yield number

    with closing(ahead(made())) as items:
        assert next(items) == 0
        assert next(items) == 1
    here = [maker == threading.get_ident() for maker in makers]
    assert here == ([True, True] if allowed == 1 else [True, False, False])


@pytest.mark.parametrize(("items", "allowed"), [([], 2), ([1, 2], 1)])
def test_no_thread_is_started_where_none_is_allowed_or_needed(
    items: list[int], allowed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of no item, or with one thread, the caller makes all."""
    monkeypatch.setitem(threads._allowed, "threads", allowed)
    monkeypatch.setattr(threads, "ThreadPoolExecutor", None)
    assert list(ahead(iter(items))) == items
