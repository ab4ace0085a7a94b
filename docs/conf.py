"""How the documentation is built: MyST pages, the reference from the code, the gates as a table."""

from __future__ import annotations

import sys
from importlib.metadata import version as installed
from pathlib import Path

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
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 80
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True


# pydantic writes `Annotated[str, MinLen(min_length=1)]` where a reader looks for `str`.
CONSTRAINED = re.compile(r"Annotated\[(.+), (?:MinLen|MaxLen|Ge|Gt|Le|Lt|Interval)\([^()]*\)\]")


def _plain(
    app: Sphinx, what: str, name: str, obj: object, options: object, signature: str | None, result: str
) -> tuple[str | None, str] | None:
    if signature is None or "Annotated[" not in signature:
        return None
    lines = signature.split(", ")
    return signature, result


def setup(app: Sphinx) -> None:
    app.connect("autodoc-process-signature", _plain)
