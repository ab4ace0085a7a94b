"""The English names of languages, and the codes that servers take.

Source: the codes that vLLM 0.32.0 knows, vllm/model_executor/models/whisper_utils.py and the
tokenizer of Whisper, with the names that openai/whisper gives them in tokenizer.py.
"""

from __future__ import annotations

import re
from difflib import get_close_matches

from .._inputs import invalid

_NAMES = """
af afrikaans|am amharic|ar arabic|as assamese|az azerbaijani|ba bashkir|be belarusian|bg bulgarian
bn bengali|bo tibetan|br breton|bs bosnian|ca catalan|cs czech|cy welsh|da danish|de german|el greek
en english|es spanish|et estonian|eu basque|fa persian|fi finnish|fo faroese|fr french|gl galician
gu gujarati|ha hausa|haw hawaiian|he hebrew|hi hindi|hr croatian|ht haitian creole|hu hungarian
hy armenian|id indonesian|is icelandic|it italian|ja japanese|jw javanese|ka georgian|kk kazakh
km khmer|kn kannada|ko korean|la latin|lb luxembourgish|ln lingala|lo lao|lt lithuanian|lv latvian
mg malagasy|mi maori|mk macedonian|ml malayalam|mn mongolian|mr marathi|ms malay|mt maltese
my burmese|ne nepali|nl dutch|nn nynorsk|no norwegian|oc occitan|pa punjabi|pl polish|ps pashto
pt portuguese|ro romanian|ru russian|sa sanskrit|sd sindhi|si sinhala|sk slovak|sl slovenian
sn shona|so somali|sq albanian|sr serbian|su sundanese|sv swedish|sw swahili|ta tamil|te telugu
tg tajik|th thai|tk turkmen|tl tagalog|tr turkish|tt tatar|uk ukrainian|ur urdu|uz uzbek
vi vietnamese|yi yiddish|yo yoruba|yue cantonese|zh chinese
ca valencian|es castilian|fa farsi|ht haitian|lb letzeburgesch|my myanmar|nl flemish|pa panjabi
ps pushto|ro moldavian|ro moldovan|si sinhalese|tl filipino|zh mandarin
"""
CODES = {
    name: code
    for code, _, name in (one.partition(" ") for one in re.split("[|\n]", _NAMES.strip()))
}
"""The code of each language, by its English name in small letters."""


def code_of(field: str, given: str | None) -> str | None:
    """The code of a language that is given by its code or by its English name.

    A code that is not known here goes as it is, since models of other families have their own.

    Raises:
        InvalidRequestError: It is neither; the message has the names that come near.
    """
    if given is None:
        return None
    name = " ".join(str(given).lower().split())
    if name in CODES or re.fullmatch("[a-z]{2,3}", name):
        return CODES.get(name, name)
    code = re.split("[-_]", name)[0]
    near = [code] if code in CODES.values() else get_close_matches(name, CODES, cutoff=0.7)
    cure = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
    raise invalid(
        field,
        f"{field} must be a code as in ISO 639, such as 'en', or an English name, such as 'German';"
        f" got {given!r}{cure}",
        code="language",
    )
