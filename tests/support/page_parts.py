"""The parts of a page that a browser would run or obey, read from its HTML without the product's help."""

from __future__ import annotations

from html.parser import HTMLParser

DATA_TYPES = ("application/json", "application/octet-stream")
"""Types of script elements that a browser never runs."""


class PageParts(HTMLParser):
    """The policy, the scripts that run, and attributes that would run or load something."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.policy = ""
        self.scripts: list[str] = []
        self.active: list[str] = []
        """Event handlers, and addresses other than of a place or a file beside the page."""
        self._held: list[str] | None = None
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what an element is allowed, runs or loads."""
        given = {name: value or "" for name, value in attrs}
        if given.get("http-equiv") == "Content-Security-Policy":
            self.policy = given["content"]
        self.active += [name for name in given if name.startswith("on")]
        self.active += [given[name] for name in ("src", "href", "action") if ":" in given.get(name, "")]
        if tag == "script" and given.get("type") not in DATA_TYPES:
            self._held = []

    def handle_data(self, data: str) -> None:
        """Hold a script's text."""
        if self._held is not None:
            self._held.append(data)

    def handle_endtag(self, tag: str) -> None:
        """Keep a script that runs."""
        if tag == "script" and self._held is not None:
            self.scripts.append("".join(self._held))
            self._held = None

    def directive(self, name: str) -> list[str]:
        """The sources that the policy allows for `name`; empty without that directive."""
        directives = (one.split() for one in self.policy.split(";"))
        return next((one[1:] for one in directives if one[:1] == [name]), [])
