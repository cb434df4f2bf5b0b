"""The site: ``make docs``. Pages are the Markdown files beside this one; site_parts.py makes the rest."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import site_parts

from flitloom.ground import provenance

project = "flitloom"
author = "The flitloom authors"
copyright = author  # noqa: A001
release = provenance.version()

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_site"]
myst_heading_anchors = 3
# Single backticks in docstrings.
default_role = "code"
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
python_use_unqualified_type_names = True
# Words of parameter types that several classes have as attributes are not links.
suppress_warnings = ["ref.python"]
# Blocks without a language are what commands print.
highlight_language = "text"

html_theme = "furo"
html_title = f"flitloom {release}"
html_show_sphinx = False
html_copy_source = False
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
# The live page lies beside the front page, which shows it in a frame.
site_parts.EXTRA.mkdir(parents=True, exist_ok=True)
html_extra_path = [str(site_parts.EXTRA)]


def setup(app):
    """Make the reference and the pictures before pages are read."""
    app.connect("builder-inited", site_parts.make)
    app.connect("source-read", site_parts.list_new_pages)
    app.connect("source-read", site_parts.link_notebook)
    app.connect("source-read", site_parts.show_live_page)
