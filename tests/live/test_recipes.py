"""Recipes before the real parser of `vllm serve`, which serves nothing here.

Others than the newest, which were asked too: `nox -s live -- --release 0.20.2 -k recipe`.
"""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path

from live._parsers import refusals

from vllm_modalities import ServerVersion
from vllm_modalities._rig import provision
from vllm_modalities._rig.commands import process_environment
from vllm_modalities._rig.releases import RELEASE
from vllm_modalities.profiles import PROFILES
from vllm_modalities.serving import check_command, recipe
from vllm_modalities.serving._commands import commands_in
from vllm_modalities.serving._ocr import PROCESSOR
from vllm_modalities.serving._recipe import ROWS
from vllm_modalities.serving._templates import SEEING_FORM, TEMPLATES


def test_every_recipe_is_taken_by_the_parser_of_the_release(release: str, tmp_path: Path) -> None:
    version = ServerVersion(release)
    commands = {
        row.name: recipe(row.example, vllm_version=release)
        for row in ROWS
        if row.since is None or version >= row.since
    }
    for command in commands.values():
        command.write(tmp_path)
    words = [command.argv[2:] for command in commands.values()]
    said = dict(zip(commands, refusals(release, words, tmp_path), strict=True))
    assert len(said) > 40
    assert {name: refusal for name, refusal in said.items() if refusal} == {}


PUBLIC = Path(__file__).parents[1] / "unit" / "serving" / "public_commands.json"
REFUSED = (
    "vllm serve m --task embed",
    "vllm serve m --enable-scoring-api",
    "vllm serve m --swap-space 4",
    "vllm serve m --runner reward",
    "vllm serve m other",
    "vllm serve m --pooler-config.pooling_type mean",
    "vllm serve m --pooler-config.task encode",
    "vllm serve m --pooler-config.logit_bias 2",
    "vllm serve m --pooler-config.normalize true",
)


def test_the_parser_agrees_with_what_is_found_in_commands(tmp_path: Path) -> None:
    public = [entry["command"] for entry in json.loads(PUBLIC.read_text())]
    right = [line for line in public if "serve ..." not in line and ".jinja" not in line]
    lines = [*right, *REFUSED]
    words = [shlex.split(commands_in(line)[0].shell().partition(" serve ")[2]) for line in right]
    words += [line.split()[2:] for line in REFUSED]
    said = dict(zip(lines, refusals(RELEASE, words, tmp_path), strict=True))
    assert {line for line in right if said[line]} == set()
    found = {line for line in REFUSED if any(f.severity == "error" for f in check_command(line))}
    assert {line for line in REFUSED if said[line]} == found == set(REFUSED)


LOADER = """
from vllm.v1.worker.gpu.sample.logits_processor import loader
try:
    loader._load_v2_logitsprocs_by_fqcns(["{processor}"])
except ValueError as error:
    print(error)
"""


def test_model_runner_v2_refuses_the_ngram_processor(release: str) -> None:
    python = provision(release)
    done = subprocess.run(
        [str(python), "-c", LOADER.format(processor=PROCESSOR)],
        capture_output=True,
        text=True,
        check=True,
        env=process_environment({"VLLM_NO_USAGE_STATS": "1"}),
    )
    assert "NGramPerReqLogitsProcessor is not a subclass of" in done.stdout


RENDER = """
import json, sys
from jinja2.sandbox import ImmutableSandboxedEnvironment
env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)  # as transformers does
messages = [{"role": "query", "content": "a query"}, {"role": "document", "content": "a document"}]
for text in json.load(sys.stdin):
    shown = [env.from_string(text).render(messages=messages, **more) for more in
             ({}, {"instruction": "do it"})]
    print(json.dumps(shown))
"""


def test_templates_read_as_the_profiles_say_to_the_byte() -> None:
    forms = {p.rerank.template: p.rerank.form for p in PROFILES if p.rerank and p.rerank.form}
    forms["qwen3_vl_reranker.jinja"] = SEEING_FORM
    done = subprocess.run(
        [str(provision()), "-c", RENDER],
        input=json.dumps([TEMPLATES[name] for name in forms]),
        capture_output=True,
        text=True,
        check=True,
    )
    for form, line in zip(forms.values(), done.stdout.splitlines(), strict=True):
        document = form.document_of("a document")
        wanted = [form.query_of("a query", words) + document for words in (None, "do it")]
        assert json.loads(line) == wanted
