"""How the site is built: ``make docs``."""

import re
import sys
from importlib import metadata
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import blocks
from docutils import nodes

project = "mogro"
author = "The mogro authors"
project_copyright = author
release = metadata.version("mogro")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
]
exclude_patterns = ["_build"]
suppress_warnings = ["ref.python"]  # several classes have attributes of the same name
myst_heading_anchors = 3
myst_enable_extensions = ["deflist"]

html_theme = "furo"
html_title = "mogro"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
pygments_style = "friendly"
pygments_dark_style = "monokai"
copybutton_prompt_text = ">>> |\\.\\.\\. |\\$ "
copybutton_prompt_is_regexp = True

autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_inherit_docstrings = True
napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False
add_module_names = False
python_maximum_signature_line_length = 88

_LITERAL = re.compile(r"(``.+?``|`[^`]+`)")


def draw_pictures(app):  # type: ignore[no-untyped-def]
    """Run the code of every page that shows pictures, so that it draws them."""
    for page in sorted(Path(app.srcdir).rglob("*.md")):
        names = blocks.pictures(page)
        if not names:
            continue
        folder = Path(app.srcdir, "_build", "pictures", page.stem)
        folder.mkdir(parents=True, exist_ok=True)
        for error in blocks.run(page, folder):
            raise ValueError(
                f"{page}: expected\n{error.expected}but printed\n{error.printed}"
            )


def escape_formulas(app, what, name, obj, options, lines):  # type: ignore[no-untyped-def]
    """Shapes such as (*batch, K) are no emphasis, norms such as |x| no substitutions."""
    for number, line in enumerate(lines):
        if line.lstrip().startswith((">>>", "...")):
            continue
        parts = _LITERAL.split(line)
        parts[::2] = [re.sub(r"\*(?=batch\b)|\|", r"\\\g<0>", part) for part in parts[::2]]
        lines[number] = "".join(parts)


def wrap_long_lines(app, doctree):  # type: ignore[no-untyped-def]
    """Output wider than a page, such as a long message, is wrapped; tables are not."""
    for block in doctree.findall(nodes.literal_block):
        longest = max(map(len, block.astext().split("\n")))
        if block.get("language") == "text" and longest > 92:
            block["classes"].append("wrapped")


def setup(app):  # type: ignore[no-untyped-def]
    app.connect("builder-inited", draw_pictures)
    app.connect("doctree-read", wrap_long_lines)
    app.connect("autodoc-process-docstring", escape_formulas, priority=400)
