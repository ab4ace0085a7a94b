"""How the documentation is built: MyST pages, the reference from the code, the gates as a table."""

from __future__ import annotations

import re
import sys
from importlib.metadata import version as installed
from pathlib import Path

from sphinx.application import Sphinx

sys.path.insert(0, str(Path(__file__).parent))

project = "vllm-modalities"
copyright = "the vllm-modalities authors, Apache-2.0"
version = release = installed("vllm-modalities")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "_printed"]
exclude_patterns = ["_build", "requirements.txt"]

html_theme = "furo"
html_title = f"vllm-modalities {release}"
html_static_path = ["_static"]
html_css_files = ["pages.css"]
html_copy_source = False
smartquotes = False
pygments_style = "friendly"
pygments_dark_style = "github-dark"

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

# Docstrings write code in single backticks.
default_role = "code"
add_module_names = False
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 80
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True
napoleon_attr_annotations = False  # the signature has them

# Names of numpy's that Sphinx writes out in full.
ARRAY = re.compile(r"~?(?:numpy\.)?ndarray\[tuple\[\S*Any, \.\.\.\], \S*dtype\[([^\[\]]+)\]\]")
LIKE = re.compile(r"\S*_Buffer \| .*_NestedSequence\[complex \| bytes \| str\]")


def _in_short(
    app: Sphinx, what: str, name: str, found: object, options: object, arguments: str, result: str
) -> tuple[str, str]:
    short = [text and ARRAY.sub(r"NDArray[\1]", text) for text in (arguments, result)]
    return short[0] and LIKE.sub("ArrayLike", short[0]), short[1]


def setup(app: Sphinx) -> None:
    """Sphinx calls this."""
    app.connect("autodoc-process-signature", _in_short)
