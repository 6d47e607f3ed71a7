"""A person who reads a report by keyboard or by pointer: counts what they do, and sees only what is in the window."""

from __future__ import annotations

import re
from typing import Any

from browsing import Opened

NAMES = {"←": "ArrowLeft", "→": "ArrowRight", "Esc": "Escape"}
"""Keys by what the help calls them, where that is not the key's own name."""

SEEN = """([selector, needle]) => {
  const inside = (at, box) =>
    at.left >= box.left - 1 && at.top >= box.top - 1 && at.right <= box.right + 1 && at.bottom <= box.bottom + 1;
  const isSeen = (element, at) => {
    if (!(at.width > 0 && at.height > 0) || !inside(at, {left: 0, top: 0, right: innerWidth, bottom: innerHeight}))
      return false;
    for (let above = element; above && above !== document.body; above = above.parentElement)
      if (getComputedStyle(above).overflow !== "visible" && !inside(at, above.getBoundingClientRect())) return false;
    if (getComputedStyle(element).pointerEvents === "none") return true;
    const top = document.elementFromPoint((at.left + at.right) / 2, (at.top + at.bottom) / 2);
    return Boolean(top) && (element.contains(top) || top.contains(element));
  };
  const placeOf = (element) => {
    if (needle === null) return [element, Array.from(element.getClientRects())]; // of each line of a text
    const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    const nodes = [], starts = [];
    let text = "";
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      nodes.push(node);
      starts.push(text.length);
      text += node.data.replace(/\\s/g, " ");
    }
    const first = text.indexOf(needle);
    if (first < 0) return null;
    const at = (place) => {
      const i = starts.findLastIndex((start) => start <= place);
      return [nodes[i], place - starts[i]];
    };
    const range = document.createRange();
    range.setStart(...at(first));
    const [last, place] = at(first + needle.length - 1);
    range.setEnd(last, place + 1);
    return [nodes.length ? at(first)[0].parentElement : element, Array.from(range.getClientRects())];
  };
  return Array.from(document.querySelectorAll(selector)).some((element) => {
    const found = placeOf(element);
    return found && found[1].length > 0 && found[1].every((at) => isSeen(found[0], at));
  });
}"""


def keys_in_help(page: Any) -> list[str]:
    """The keys that the page's help lists, as Playwright names them."""
    listed = page.eval_on_selector_all("#mt-help kbd", "all => all.map(one => one.textContent)")
    return [NAMES.get(key, key) for key in listed]


def sees(page: Any, selector: str, text: str | None = None) -> bool:
    """Whether an element, or this text of it, lies wholly in the window, neither cut nor covered."""
    found: bool = page.evaluate(SEEN, [selector, text])
    return found


class Reader:
    """One person with one report; each method but `sees` is one action."""

    def __init__(self, opened: Opened) -> None:
        self.opened, self.page = opened, opened.page
        self.actions = 0
        self.keys = keys_in_help(self.page)

    def begin(self) -> None:
        """Forget what was chosen: the page as it opens."""
        for key in ("Escape", "Escape", "0"):
            self.page.keyboard.press(key)
        self._show_first_connection()
        if self.page.locator("#mt-turn[aria-pressed=true]").count():
            self.page.keyboard.press("D")
            self.opened.until("document.documentElement.dataset.mtWay === '0'")
        self.page.evaluate("for (const box of document.querySelectorAll('aside > section')) box.scrollTop = 0;")
        self.page.evaluate("document.activeElement.blur(), document.getElementById('mt-search').value = ''")
        self.page.mouse.move(1, 1)
        self.actions = 0

    def _show_first_connection(self) -> None:
        """The one that the page opens with: a finding of another one has brought that up."""
        first = self.page.locator("#mt-connection option").first
        if first.count() and (number := first.get_attribute("value")) != self.page.input_value("#mt-connection"):
            self.page.select_option("#mt-connection", number)
            self.opened.until(f"document.documentElement.dataset.mtConnection === '{number}'")

    def press(self, key: str) -> None:
        """A key that the help lists."""
        assert key in self.keys, f"the help does not list {key}"
        self.page.keyboard.press(key)
        self.actions += 1

    def type(self, text: str, *, enter: bool = True) -> None:
        """A text, with Enter or without."""
        self.page.keyboard.insert_text(text)
        if enter:
            self.page.keyboard.press("Enter")
        else:
            self.page.wait_for_timeout(200)
        self.actions += 1

    def click(self, selector: str, text: str | None = None) -> None:
        """A click in the middle of what is wholly in the window: the first element, of those that begin with a text."""
        place = self.page.locator(selector)
        place = (place.filter(has_text=re.compile(rf"^\s*{re.escape(text)}")) if text else place).first
        box = place.bounding_box()
        size = self.page.viewport_size
        assert box, f"{selector} is not there"
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        assert 0 <= x <= size["width"], f"{selector} is outside of the window"
        assert 0 <= y <= size["height"], f"{selector} is outside of the window"
        self.page.mouse.click(x, y)
        self.actions += 1

    def drag(self, panel: str, start: float, end: float) -> None:
        """A drag over a part of the time axis."""
        middle = self.page.evaluate(
            f"(r => (r.start + r.end) / 2)(MT.engine.figures.find(f => f.tags[0] === '{panel}').y_range)"
        )
        self.page.mouse.move(*self.opened.place(panel, start, middle))
        self.page.mouse.down()
        self.page.mouse.move(*self.opened.place(panel, (start + end) / 2, middle))
        self.page.mouse.move(*self.opened.place(panel, end, middle))
        self.page.mouse.up()
        self.actions += 1

    def sees(self, selector: str, text: str) -> bool:
        """Whether a text of an element is read without another action; waits for what comes a moment later."""
        for _ in range(40):
            if sees(self.page, selector, text):
                return True
            self.page.wait_for_timeout(25)
        return False
