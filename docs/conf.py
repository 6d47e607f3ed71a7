"""How the pages of this folder become a site: `python -m sphinx -W --keep-going -n docs build/docs`."""

from __future__ import annotations

from multitracer import __version__

project = "MultiTracer"
release = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_click"]
exclude_patterns = ["build"]

# Pages link to each other's headings as the hosting site names them.
myst_heading_anchors = 3
# Indented blocks are commands and what they print.
highlight_language = "none"

autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
# Another project's documentation is not fetched while this one is built.
nitpick_ignore_regex = [("py:.*", r"(pandas|pd|bokeh|pathlib|collections\.abc|numpy)\..*")]

html_theme = "furo"
html_title = "MultiTracer"
html_copy_source = False
