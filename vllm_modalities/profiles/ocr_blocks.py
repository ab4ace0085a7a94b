"""Further models that read pages as blocks with places: prompts, sampling, coordinates, grammar."""

from __future__ import annotations

from ._ocr_prompts import CHANDRA, CHANDRA_2, HUNYUAN
from ._profile import ImageRule, OCRProfile, Profile
from ._shorthand import VLLM, called, cite

HUNYUAN_OCR = Profile(
    name="HunyuanOCR",
    pattern=r"hunyuan[-_]?ocr",
    ocr=OCRProfile(
        prompts=HUNYUAN,
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
            }
        ),
    ),
)

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
        system="You are a helpful assistant.",
        sampling={"top_p": 0.01, "top_k": 1},
        vllm_xargs={"no_repeat_ngram_size": 100},
        skip_special_tokens=False,
        grammar="box-marks",
        image=ImageRule(scale=1000),
        sources=cite(
            {
                "source: opendatalab/mineru-vl-utils@abb57de": (
                    "prompts system sampling vllm_xargs skip_special_tokens grammar image"
                )
            }
        ),
    ),
    notes=(
        "A page is read in two steps, its layout and then each region; here each is a call of its"
        " own, and there is no task `markdown`.",
    ),
)

_CHANDRA_SHAPE = "https://github.com/docling-project/docling.rs/pull/342"


def _chandra(name: str, pattern: str, prompts: dict[str, str], scale: int) -> Profile:
    sources = {
        "source: datalab-to/chandra chandra/prompts.py": "prompts",
        "source: datalab-to/chandra@a6928a2": "sampling image dpi",
        "source: datalab-to/chandra chandra/output.py": "grammar",
        f"source: {_CHANDRA_SHAPE}": "seen",
    }
    facts = OCRProfile(
        prompts=prompts,
        sampling={"top_p": 0.1},
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
