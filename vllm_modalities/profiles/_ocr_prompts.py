"""Prompts that models which read pages were trained with, word for word; each with its place.

A model reads worse with other words, so these are facts, not style. Their licences stand in the
profiles that name them.
"""

from __future__ import annotations

from collections.abc import Sequence

# rednote-hilab/dots.ocr dots_ocr/utils/prompts.py, `prompt_layout_all_en`.
DOTS_LAYOUT_AND_TEXT = """\
Please output the layout information from the PDF image, including each layout element's bbox, its \
category, and the corresponding text content within the bbox.

1. Bbox format: [x1, y1, x2, y2]

2. Layout Categories: The possible categories are ['Caption', 'Footnote', 'Formula', 'List-item', \
'Page-footer', 'Page-header', 'Picture', 'Section-header', 'Table', 'Text', 'Title'].

3. Text Extraction & Formatting Rules:
    - Picture: For the 'Picture' category, the text field should be omitted.
    - Formula: Format its text as LaTeX.
    - Table: Format its text as HTML.
    - All Others (Text, Title, etc.): Format their text as Markdown.

4. Constraints:
    - The output text must be the original text from the image, with no translation.
    - All layout elements must be sorted according to human reading order.

5. Final Output: The entire output must be a single JSON object.
"""

# rednote-hilab/dots.ocr dots_ocr/utils/prompts.py, `prompt_layout_only_en`.
DOTS_LAYOUT = (
    "Please output the layout information from this PDF image, including each layout's bbox and its"
    " category. The bbox should be in the format [x1, y1, x2, y2]. The layout categories for the"
    " PDF document include ['Caption', 'Footnote', 'Formula', 'List-item', 'Page-footer',"
    " 'Page-header', 'Picture', 'Section-header', 'Table', 'Text', 'Title']. Do not output the"
    " corresponding text. The layout result should be in JSON format."
)

# allenai/olmocr olmocr/prompts/prompts.py, `build_no_anchoring_v4_yaml_prompt`.
OLMOCR = (
    "Attached is one page of a document that you must process. Just return the plain text"
    " representation of this document as if you were reading it naturally. Convert equations to"
    " LateX and tables to HTML.\n"
    "If there are any figures or charts, label them with the following markdown syntax ![Alt text"
    " describing the contents of the figure](page_startx_starty_width_height.png)\n"
    "Return your output as markdown, with a front matter section on top specifying values for the"
    " primary_language, is_rotation_valid, rotation_correction, is_table, and is_diagram"
    " parameters."
)

# Card of nanonets/Nanonets-OCR2-3B.
NANONETS = (
    "Extract the text from the above document as if you were reading it naturally. Return the"
    " tables in html format. Return the equations in LaTeX representation. If there is an image in"
    " the document and image caption is not present, add a small description of the image inside"
    " the <img></img> tag; otherwise, add the image caption inside <img></img>. Watermarks should"
    " be wrapped in brackets. Ex: <watermark>OFFICIAL COPY</watermark>. Page numbers should be"
    " wrapped in brackets. Ex: <page_number>14</page_number> or <page_number>9/22</page_number>."
    " Prefer using ☐ and ☑ for check boxes."
)

# Tencent-Hunyuan/HunyuanOCR README.md, "Application-oriented Prompts".
HUNYUAN = {
    "markdown": "Extract all information from the main body of the document image and represent it"
    " in markdown format, ignoring headers and footers. Tables should be expressed in HTML format,"
    " formulas in the document should be represented using LaTeX format, and the parsing should be"
    " organized according to the reading order.",
    "layout": "Detect and recognize text in the image, and output the text coordinates in a"
    " formatted manner.",
    "table": "Parse the table in the image into HTML.",
    "formula": "Identify the formula in the image and represent it using LaTeX format.",
    "figure": "Parse the chart in the image; use Mermaid format for flowcharts and Markdown for"
    " other charts.",
}

# datalab-to/chandra chandra/prompts.py, of version 1 and of version 2.
_TAGS = (
    "math br i b u del sup sub table tr td p th div pre h1 h2 h3 h4 h5 ul ol li input a span img hr"
    " tbody small caption strong thead big code"
).split()
_ATTRIBUTES = (
    "class colspan rowspan display checked type border value style href alt align"
).split()
_LABELS = (
    "Caption Footnote Equation-Block List-Group Page-Header Page-Footer Image Section-Header Table"
    " Text Complex-Block Code-Block Form Table-Of-Contents Figure"
).split()
_GUIDELINES = """\
Guidelines:
* Inline math: Surround math with <math>...</math> tags. Math expressions should be rendered in \
KaTeX-compatible LaTeX. Use display for block math.
* Tables: Use colspan and rowspan attributes to match table structure.
* Formatting: Maintain consistent formatting with the image, including spacing, indentation, \
subscripts/superscripts, and special characters.
* Images: Include a description of any images in the alt attribute of an <img> tag. Do not fill \
out the src property.{images}
* Forms: Mark checkboxes and radio buttons properly.
* Text: join lines together properly into paragraphs using <p>...</p> tags.  Use <br> tags for \
line breaks within paragraphs, but only when absolutely necessary to maintain meaning.{further}
* Use the simplest possible HTML structure that accurately represents the content of the block.
* Make sure the text is accurate and easy for a human to read and interpret.  Reading order should \
be correct and natural."""
_FURTHER = """
* Chemistry: Use <chem>...</chem> tags for chemical formulas with reactive SMILES.
* Lists: Preserve indents and proper list markers."""
_IMAGES = (
    " Describe in detail inside the div tag. Also convert charts to high fidelity data, and convert"
    " diagrams to mermaid."
)
_LAYOUT = """\
OCR this image to HTML, arranged as layout blocks.  Each layout block should be a div with the \
data-bbox attribute representing the bounding box of the block in {form} format.  Bboxes are \
normalized 0-{scale}. The data-label attribute is the label for the block.

Use the following labels:
{labels}

"""


def _listed(labels: Sequence[str]) -> str:
    return "\n".join(f"- {label}" for label in labels)


_ENDING = (
    f"Only use these tags {_TAGS}, and these attributes {_ATTRIBUTES}.\n\n"
    + _GUIDELINES.format(images="", further="")
)
CHANDRA = {
    "markdown": _LAYOUT.format(form="[x0, y0, x1, y1]", scale=1024, labels=_listed(_LABELS))
    + _ENDING,
    "text": f"OCR this image to HTML.\n\n{_ENDING}",
}
_ENDING_2 = (
    f"Only use these tags {[*_TAGS, 'chem']}, and these attributes"
    f" {[*_ATTRIBUTES, 'data-bbox', 'data-label']}.\n\n"
    + _GUIDELINES.format(images=_IMAGES, further=_FURTHER)
)
_LABELS_2 = [*_LABELS, "Chemical-Block", "Diagram", "Bibliography", "Blank-Page"]
CHANDRA_2 = {
    "markdown": _LAYOUT.format(form="x0 y0 x1 y1", scale=1000, labels=_listed(_LABELS_2))
    + _ENDING_2,
    "text": f"OCR this image to HTML.\n\n{_ENDING_2}",
}
