"""How the pages of this folder become a site: `python -m sphinx -W --keep-going -n docs build/docs`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from multitracer import __version__

if TYPE_CHECKING:
    import click
    from sphinx.application import Sphinx

project = "MultiTracer"
release = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_click"]

# Pages link to each other's headings by the names that the hosting site gives them.
myst_heading_anchors = 3
# Indented blocks are commands and what they print.
highlight_language = "none"
# Docstrings and help texts have names in single backticks.
default_role = "literal"

autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
autodoc_member_order = "bysource"
# Types of other projects, whose documentation is not fetched, and those that a user is given and does not import.
nitpick_ignore_regex = [
    ("py:.*", r"(pandas|pd|bokeh|pathlib|collections\.abc|multitracer\.\w+)\..*|LayoutDOM|Path|.*\[.*")
]

html_theme = "furo"
html_title = "MultiTracer"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_copyright = False
html_show_sphinx = False


def as_code(_app: Sphinx, _context: click.Context, lines: list[str]) -> None:
    """Show the lines of a help text that terminals do not wrap as code: sphinx-click marks them with a bar."""
    shown: list[str] = []
    for line in lines:
        code = line.startswith("| ")
        if code and not (shown and shown[-1].startswith("    ")):
            shown += ["", ".. code-block:: none", ""]
        shown.append("    " + line[2:] if code else line)
    lines[:] = [*shown, ""]


def setup(app: Sphinx) -> None:
    """Called by Sphinx before it reads the pages."""
    for part in ("description", "epilog"):
        app.connect(f"sphinx-click-process-{part}", as_code)
