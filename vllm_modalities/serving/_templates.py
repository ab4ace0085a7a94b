"""The score templates that rerankers need: no wheel of vLLM has them, so they are written as files.

A template is Jinja, and gets `messages` of the roles `query` and `document`, and an `instruction`
where one was sent. Its words are those of the model's profile.
"""

from __future__ import annotations

from ..profiles import PROFILES, ScoreForm

ROLE = (
    "{{{{ messages | selectattr('role', 'equalto', '{0}') | map(attribute='content') | first }}}}"
)
# In the order in which vLLM's own template looks: an argument, another, a message, the default.
INSTRUCTION = (
    "{{{{ instruction | default(instruct | default(messages | selectattr('role', 'equalto',"
    " 'system') | map(attribute='content') | first | default(\"{0}\", true), true), true) }}}}"
)

SEEING_FORM = ScoreForm(
    query="<|im_start|>system\nJudge whether the Document meets the requirements based on the Query"
    ' and the Instruct provided. Note that the answer can only be "yes" or "no".<|im_end|>\n'
    "<|im_start|>user\n<Instruct>: {instruction}<Query>:{query}\n<Document>:",
    document="{document}<|im_end|>\n<|im_start|>assistant\n",
    instruction="Given a search query, retrieve relevant candidates that answer the query.",
)
"""Qwen3-VL-Reranker's. Source: vllm-project/vllm examples/pooling/score/template."""


def template(form: ScoreForm) -> str:
    """The Jinja text of `form`; it ends in the line feed that Jinja drops."""
    text = f"{form.query}{form.document}"
    for role in ("query", "document"):
        text = text.replace(f"{{{role}}}", ROLE.format(role))
    return f"{text.replace('{instruction}', INSTRUCTION.format(form.instruction))}\n"


TEMPLATES: dict[str, str] = {
    **{
        profile.rerank.template: template(profile.rerank.form)
        for profile in PROFILES
        if profile.rerank and profile.rerank.template and profile.rerank.form
    },
    "qwen3_vl_reranker.jinja": template(SEEING_FORM),
    # The mark of an image comes first, once, wherever it stands in the document.
    "nemotron-vl-rerank.jinja": (
        "{%- set document = messages | selectattr('role', 'equalto', 'document')"
        " | map(attribute='content') | first -%}\n"
        "{%- set query = messages | selectattr('role', 'equalto', 'query')"
        " | map(attribute='content') | first -%}\n"
        "{{ '<image> ' if '<image>' in document else '' }}"
        "question:{{ query | replace('<image>', '') }}"
        "{{ ' \\n \\n ' }}"
        "passage:{{ document | replace('<image>', '') }}\n"
    ),
}
"""The text of each, by the name of its file."""
