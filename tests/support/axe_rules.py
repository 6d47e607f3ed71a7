"""The rules of accessibility that axe checks."""

from __future__ import annotations

from typing import Any

import pytest


def violations(page: Any) -> list[str]:
    """What axe finds, of any impact: the rule, and the first element."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    # Of what it finds in order it would describe every element: half of its time.
    found = axe.Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    return [f"{one['id']} ({one['impact']}): {one['nodes'][0]['html'][:120]}" for one in found]
