"""Further models that read pages as blocks with places: prompts, sampling, coordinates, grammar."""

from __future__ import annotations

from ._ocr_profile import ImageRule, OCRProfile, Steps
from ._ocr_prompts import CHANDRA, CHANDRA_2, HUNYUAN
from ._profile import Profile
from ._shorthand import VLLM, called, cite

HUNYUAN_OCR = Profile(
    name="HunyuanOCR",
    pattern=r"hunyuan[-_]?ocr",
    ocr=OCRProfile(
        prompts=HUNYUAN,
        licence="one of its own",
        system="",
        sampling={"top_k": 1, "repetition_penalty": 1.0},
        grammars={"layout": "spotted"},
        image=ImageRule(scale=1000),
        seen="Tencent-Hunyuan/HunyuanOCR tests/test_spotting_scorer.py",
        sources=cite(
            {
                "source: Tencent-Hunyuan/HunyuanOCR README.md": (
                    "prompts system sampling grammar image"
                ),
                "source: Tencent-Hunyuan/HunyuanOCR tests/test_spotting_scorer.py": "grammars seen",
                "card: tencent/HunyuanOCR": "licence",
            }
        ),
    ),
)

_MINERU = "source: opendatalab/mineru-vl-utils@00779e8 mineru_vl_utils/mineru_client.py"
_MINERU_SHAPE = "myhloli/mineru-vl-utils tests/fixtures/baige_page8_layout.txt"
# Figures, and blocks around others, whose parts are blocks of their own.
_UNREAD = ("image", "chart", "image_block", "list", "equation_block", "inline_formula")
_WORDS = {"presence_penalty": 1.0, "frequency_penalty": 0.05}
MINERU = Profile(
    name="MinerU2.5",
    pattern=r"mineru[-_.]?2|mineru[-_].*vl",
    ocr=OCRProfile(
        prompts={
            "layout": "\nLayout Detection:",
            "text": "\nText Recognition:",
            "table": "\nTable Recognition:",
            "formula": "\nFormula Recognition:",
        },
        licence="Apache 2.0",
        system="You are a helpful assistant.",
        steps={
            "markdown": Steps(
                layout="layout",
                tasks={
                    "table": "table",
                    "equation": "formula",
                    **dict.fromkeys(_UNREAD),
                },
                others="text",
            )
        },
        sampling={"top_p": 0.01, "top_k": 1},
        samplings={
            "text": _WORDS,
            "table": {"presence_penalty": 1.0, "frequency_penalty": 0.005},
            "formula": _WORDS,
        },
        vllm_xargs={"no_repeat_ngram_size": 100},
        skip_special_tokens=False,
        grammar="box-marks",
        image=ImageRule(scale=1000, shortest=28, widened=50),
        pictures={"layout": ImageRule(scale=1000, squeezed=(1036, 1036))},
        dpi=200,
        seen=_MINERU_SHAPE,
        sources=cite(
            {
                _MINERU: (
                    "prompts system steps sampling samplings vllm_xargs skip_special_tokens grammar"
                    " image pictures"
                ),
                "source: opendatalab/MinerU mineru/utils/pdf_image_tools.py": "dpi",
                "source: mineru-vl-utils 2.0.7, LICENSE.md of its wheel": "licence",
                f"source: {_MINERU_SHAPE}": "seen",
            }
        ),
    ),
)

_CHANDRA_SHAPE = "https://github.com/docling-project/docling.rs/pull/342"


def _chandra(name: str, pattern: str, prompts: dict[str, str], scale: int) -> Profile:
    sources = {
        "source: datalab-to/chandra chandra/prompts.py": "prompts instead",
        "source: datalab-to/chandra@a6928a2": "sampling ladder image dpi",
        "source: datalab-to/chandra chandra/output.py": "grammar",
        f"source: {_CHANDRA_SHAPE}": "seen",
        "source: chandra-ocr 0.2.0, METADATA of its wheel": "licence",
    }
    facts = OCRProfile(
        prompts=prompts,
        licence="Apache 2.0",
        sampling={"top_p": 0.1},
        ladder=(0.3, 0.3),
        instead={"markdown": "text"},
        grammar="html-blocks",
        image=ImageRule(scale=scale, pixels=(1, 3072 * 2048)),
        dpi=192,
        seen=_CHANDRA_SHAPE,
        sources=cite(sources),
    )
    return Profile(name=name, pattern=pattern, ocr=facts)


CHANDRA_OCR_2 = _chandra("Chandra 2", r"chandra[-_]?(?:ocr[-_]?)?2", CHANDRA_2, 1000)
CHANDRA_OCR = _chandra("Chandra", called("chandra", "chandra-ocr"), CHANDRA, 1024)

GRANITE_DOCLING = Profile(
    name="Granite-Docling",
    pattern=called("granite-docling", "smoldocling"),
    ocr=OCRProfile(
        prompts={
            "markdown": "Convert this page to docling.",
            "table": "Convert table to OTSL.",
            "formula": "Convert formula to LaTeX.",
            "figure": "Convert chart to table.",
        },
        placeholder="<image>",
        skip_special_tokens=False,
        grammar="doctags",
        image=ImageRule(scale=500),
        seen="docling-project/docling-core, tests of DocTags",
        sources=cite(
            {
                "card: ibm-granite/granite-docling-258M": "prompts skip_special_tokens",
                f"{VLLM}model_executor/models/idefics3.py": "placeholder",
                "source: docling-core docling_core/types/doc/tokens.py": "grammar image seen",
            }
        ),
    ),
    notes=("Serve it with `--revision untied`.",),
)

OCR_BLOCKS = (HUNYUAN_OCR, MINERU, CHANDRA_OCR_2, CHANDRA_OCR, GRANITE_DOCLING)
