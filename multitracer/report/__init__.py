"""The report: one HTML file with every layer on one time axis, complete in itself."""

from __future__ import annotations

from multitracer.report.analysis_page import write

__all__ = ["write"]
