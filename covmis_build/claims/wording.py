"""Rules of A.1 on a claim's words, by language: several statements, a correction, a quotation, or a question.

A rule reports what a careful editor would change, and proposes a text only if it has the same meaning. Both were tuned on 300
manually judged findings in public lists, tests/claims/judged_findings.csv.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator


class Remark(NamedTuple):
    """A finding on a claim's words; the proposal is empty if none is safe."""

    rule: str
    says: str
    proposal: str = ""


class Words(NamedTuple):
    """Patterns that identify a correction, a speaker, a sentence that depends on the previous one, a denial."""

    verdict: str
    no_evidence: str
    says: str
    leans: str
    denies: str
    said_to_be_false: str = ""
    own_order: bool = False
    """In this language a that-clause differs from a sentence in word order or mood: nothing is proposed from it."""


LANGUAGES = {
    "en": Words(
        verdict=r"fact[- ]?check(?:ed)?|false|fake(?: news)?|hoax(?: alert)?|debunked|myth|misleading|partly false|no",
        no_evidence=r"(?:there (?:is|'s|’s|was) )?(?:still )?no (?:scientific |credible )?(?:evidence|proof|indication)"
        r"(?: whatsoever)?(?: that| to suggest that| showing(?: that)?)?|it(?: is|'s|’s) (?:not true|untrue|false) that",
        says=r"sa(?:id|ys?|ying)|claim(?:s|ed)?|tweet(?:s|ed)?|wrote|writes|stated?|told|declared|announced|argued|admitted",
        leans=r"but|and|so|yet|or|then|this|that|these|those|it|its|he|his|she|her|they|their|them|there|here|things|such|only|now"
        r"|we|our|you|your|i|overall|average|instead"
        r"|also|however|because|which|almost|do|does|did|don.t|thus|meanwhile|who|a|an|the|when|after|before|though|although|as|with"
        r"|without|sometimes|one|some|people|both|neither|funny|startled|two|will|even|just|still|in|at|by|for|from|to|on|once|while",
        denies=r"\b(?:not|never|no|cannot)\b|n['’]t\b",
        said_to_be_false=r"\bfalsely (?:claims?|claimed|says?|said|asserts?|asserted|suggests?|suggested)(?: that)?\s+",
    ),
    "de": Words(
        verdict=r"faktencheck|falsch|fake(?: news)?|falschmeldung|irreführend|mythos|nein",
        no_evidence=r"(?:es gibt )?(?:weiterhin )?kein(?:e|en|erlei)? (?:wissenschaftlichen? )?(?:belege?|beweise?|hinweise?|anzeichen)(?: dafür)?,? dass"
        r"|es (?:stimmt nicht|ist (?:nicht wahr|falsch)),? dass",
        says=r"sagte?|behauptete?t?|schrieb|schreibt|erklärte?|twitterte?",
        leans=r"aber|und|doch|dies\w*|er|sie|es|ihr\w*|sein\w*|dann|so|also|jedoch|denn|dort|damit|daher|dabei|nun|wir|ich",
        denies=r"\bnicht\b|\bkein\w*|\bnie(?:mals)?\b",
        own_order=True,
    ),
    "es": Words(
        verdict=r"verificaci[oó]n|falso|bulo|enga[nñ]oso|mito|no",
        no_evidence=r"no (?:hay|existen?) (?:pruebas?|evidencias?)(?: cient[ií]ficas?)? (?:de )?que|es falso que|no es (?:cierto|verdad) que",
        says=r"dijo|dice|afirm[aó]|asegur[aó]|escribi[oó]|declar[oó]",
        leans=r"pero|y|esto|esta|este|estos|estas|[eé]l|ella|ellos|ellas|su|sus|eso|as[ií]|entonces|adem[aá]s|sin embargo|ahora|lo",
        denies=r"\b(?:no|nunca|ning[uú]n\w*)\b",
        own_order=True,
    ),
    "fr": Words(
        verdict=r"v[eé]rification|faux|infox|intox|trompeur|mythe|non",
        no_evidence=r"(?:il n['’]y a |il n['’]existe )?(?:aucune?|pas de) preuves? (?:scientifique )?que|il (?:est faux|n['’]est pas vrai) que",
        says=r"a dit|dit|affirm[eé]|a affirm[eé]|d[eé]clar[eé]|a [eé]crit|pr[eé]tend",
        leans=r"mais|et|ce|cela|ceci|cette|ces|il|elle|ils|elles|son|sa|ses|leurs?|alors|donc|ainsi|or|puis|cependant|on|nous",
        denies=r"\b(?:ne|pas|jamais|aucune?)\b|\bn['’]",
    ),
    "pt": Words(
        verdict=r"verifica[cç][aã]o|falso|enganoso|boato|mito|n[aã]o",
        no_evidence=r"n[aã]o (?:h[aá]|existem?) (?:provas?|evid[eê]ncias?)(?: cient[ií]ficas?)? (?:de )?que|[eé] falso que|n[aã]o [eé] verdade que",
        says=r"disse|diz|afirm[ao]u?|escreveu|declarou",
        leans=r"mas|e|isso|isto|este|esta|esse|essa|ele|ela|eles|elas|seus?|suas?|ent[aã]o|assim|por[eé]m|al[eé]m disso|agora",
        denies=r"\b(?:n[aã]o|nunca|nenhum\w*)\b",
    ),
    "ar": Words(
        verdict="تحقق|خطأ|كذب|زائف|مضلل|إشاعة|شائعة|لا",
        no_evidence="(?:لا يوجد|لا توجد|ليس هناك|لا) (?:أي )?(?:دليل|أدلة)(?: علمي| علمية)? على (?:أن|ان)|(?:غير صحيح|ليس صحيحا|ليس صحيحاً) (?:أن|ان)",
        says="قال|قالت|يقول|صرح|زعم|ادعى|كتب",
        leans="لكن|ولكن|هذا|هذه|ذلك|هو|هي|هم|ثم|كما|وقد|وهو|وهي",
        denies=r"\b(?:لا|ليس|ليست|لم|لن|غير)\b",
    ),
    "hi": Words(
        verdict="फैक्ट चेक|फ़ैक्ट चेक|झूठ|गलत|फर्जी|भ्रामक|नहीं",
        no_evidence="इस बात का कोई (?:वैज्ञानिक )?(?:सबूत|प्रमाण) नहीं (?:है )?कि|यह (?:झूठ|गलत|ग़लत|सच नहीं) है कि",
        says="कहा|कहते हैं|कहता है|कहती है|बोले|लिखा|दावा किया",
        leans="लेकिन|और|यह|ये|वह|वे|इस|उस|इसके|उनके|फिर|तब|तो|मगर",
        denies=r"नहीं|(?<!\S)(?:न|मत)(?!\S)",
    ),
    "zh": Words(
        verdict="事实核查|假的|谣言|辟谣|不实|虚假",
        no_evidence="(?:目前)?(?:没有|并无|无)(?:任何|科学)?证据(?:表明|显示|证明)",
        says="说|称|表示|宣称|写道|声称",
        leans="但|但是|而|这|该|他|她|它|他们|她们|其|此|因此|所以|然后|并",
        denies="不|没|无|未|并非",
    ),
}  # fmt: skip

_OPEN, _CLOSE = '"“„«「『″', '"”“»」』″'
_QUOTATION = re.compile(rf"(?<!\w)(?:[{_OPEN}]|'')(?P<inside>[^{_OPEN}{_CLOSE}]{{3,}})(?:[{_CLOSE}]|'')")
_SINGLE = re.compile(r"(?<!\w)[‘'](?P<inside>(?:[^‘’']|(?<=\w)[’'](?=\w)){12,})[’'](?=\W|$)")
_NAMED = re.compile(
    r"(?:\b(?:titled|entitled|called|named|dubbed|labell?ed|marked|reading|reads?|book|movie|film|song|show|series|game|article"
    r"|painting|magazine|album|newspaper|headline|sign|shirt|word|words|term|phrase|slogan|known as),?)\s*$",
    re.IGNORECASE,
)
"""Words before a title, an inscription, or a doubted word, whose quotation marks belong to it."""

_QUESTION = re.compile(r"[?？؟]\s*[\"”’]?\s*$")  # noqa: RUF001 - question marks of three scripts
_SENTENCE_END = re.compile(r"(?<=[\w)\"”’%])[.!]\s+(?=[\"“]?[^\W\d_a-z])|(?<=[。！।۔])\s*(?=\S)")  # noqa: RUF001 - full stops of many scripts
_ABBREVIATION = re.compile(
    r"(?:\b(?:Drs?|Gov|Sen|Rep|Mr|Mrs|Ms|St|Jr|Sr|Prof|Gen|Lt|Col|Capt|Pres|Hon|Rev|No|Nr|vs?|Inc|Co|Corp|Ltd|bzw|ca|Sgt|Maj|Sra?|Mme|M|[A-Za-z])|\b[A-Z])$"
)
_UPPER_NOT = re.compile(
    r"(?<=\b(?:is|do))\s+NOT\b|(?<=\b(?:are|was|can|did))\s+NOT\b|(?<=\b(?:does|were|will))\s+NOT\b"
)
_STATED = re.compile(r"^(Can|Could|Will|Is|Are|Was|Were)\s+((?:the\s+|a\s+|an\s+)?\S+)\s+(.+?)\?\s*$")


def check(text: str, language: str) -> Iterator[Remark]:
    """Check one claim in a language of `LANGUAGES`."""
    words = LANGUAGES[language]
    yield from _correction(text, words)
    quotation = _quotation(text, words)
    question = _is_question(text)
    parts = [] if question else _statements(text, words)
    if len(parts) > 1:
        # A.1: an item with several wrong points becomes several
        yield Remark("split", f"has {len(parts)} statements in it", "\n".join(parts))
    if quotation:
        # A.1: quotations become one plain sentence that says who claims what
        yield Remark("simplify", "has a quotation in it: say plainly who claims what", quotation.proposal)
    if question:
        yield Remark("correct", "is a question, not a statement", _statement(text))


def _is_question(text: str) -> bool:
    """True if the claim asks; not if it reports another person's question."""
    quoted = re.search(rf"[?？؟]\s*[{_CLOSE}]\s*[.!]?\s*$", text)  # noqa: RUF001 - question marks of three scripts
    reported = quoted and re.search(rf"\w.*[{_OPEN}]", text)
    return bool(_QUESTION.search(text)) and not reported


def _correction(text: str, words: Words) -> Iterator[Remark]:
    """A.1: a title that is itself the correction ("No evidence that X") becomes the rumour ("X")."""
    titled = re.match(rf"(?P<verdict>{words.verdict})\s*[:：,،—–!-]+\s*", text, re.IGNORECASE)  # noqa: RUF001 - colons and dashes of many scripts
    rumour = text[titled.end() :] if titled else text
    clause = re.match(rf"(?:{words.no_evidence})\s*", rumour, re.IGNORECASE)
    if clause:
        rumour = rumour[clause.end() :]
    if rumour != text:
        plain = _UPPER_NOT.sub("", rumour, count=1)
        # text after "Fact check:" or "No," may deny the rumour; its opposite is unknown
        denied = bool(re.search(words.denies, plain, re.IGNORECASE))
        safe = not denied and not (clause and words.own_order)
        yield Remark("correct", "is a correction, not the rumour", _sentence(plain) if safe else "")
    elif words.said_to_be_false and (match := re.search(words.said_to_be_false, text, re.IGNORECASE)):
        yield Remark("correct", "says that it is false", _sentence(text[match.end() :]))
    elif _UPPER_NOT.search(text) and not re.search(rf"[{_OPEN}]", text):
        yield Remark("correct", "denies the rumour", _sentence(_UPPER_NOT.sub("", text, count=1)))


class _Quotation(NamedTuple):
    proposal: str


def _quotation(text: str, words: Words) -> _Quotation | None:
    """Report another person's words, but not a title, an inscription, or a doubted word."""
    for match in (*_QUOTATION.finditer(text), *_SINGLE.finditer(text)):
        inside, before = match["inside"], text[: match.start()]
        spoken = bool(
            re.search(rf"{_spoken(words)}(?:\s+that)?[\s:,]*$", before, re.IGNORECASE)
        ) or before.rstrip().endswith((":", "："))  # noqa: RUF001 - both colons
        whole = not re.search(r"\w", before) and not re.search(r"\w", text[match.end() :])
        double = match.re is _QUOTATION
        running = double and len(inside.split()) >= 4 and not _is_title(inside) and not _NAMED.search(before)
        if (whole or spoken or running) and not re.search(r"\bfalsely\b", before, re.IGNORECASE):
            plain = re.sub(rf"[{_OPEN}{_CLOSE}]|''", "", text)
            return _Quotation(_sentence(plain) if double and len(_cut(plain)) == 1 else "")
    return None


def _spoken(words: Words) -> str:
    """Return a pattern for a speaker: whole words, in languages that separate words (Arabic joins "and")."""
    return f"(?:(?<!\\w)|(?<=[一-鿿وف]))(?:{words.says})"


def _is_title(text: str) -> bool:
    """True if most longer words begin with a capital."""
    longer = [word for word in text.split() if len(word) > 3]
    return bool(longer) and 2 * sum(word[:1].isupper() for word in longer) > len(longer)


def _cut(text: str) -> list[str]:
    """Split a text into sentences. Full stops of titles and initials do not end one."""
    parts: list[str] = []
    at = 0
    for match in _SENTENCE_END.finditer(text):
        if not _ABBREVIATION.search(text[at : match.start()]):
            sign = text[match.start() : match.start() + 1]  # the others are before the match
            parts.append(text[at : match.start()] + (sign if sign in {".", "!"} else ""))
            at = match.end()
    return [part.strip() for part in (*parts, text[at:]) if part.strip()]


def _statements(text: str, words: Words) -> list[str]:
    """Return the sentences of a claim if each is independent: long enough, no part of a quotation, no reference back."""
    plain = re.sub(rf"[{_OPEN}{_CLOSE}]|''", "", text)
    parts = _cut(plain)
    inner = re.search(rf"[{_OPEN}]", text[1:-1]) or re.search(rf"{_spoken(words)}\W", plain, re.IGNORECASE)
    long_enough = all(
        5 <= len(part.split()) <= 30 or (not re.search("[A-Za-z]", part) and len(part) >= 8) for part in parts
    )
    leans = rf"^(?:{words.leans})(?!\w)" if not re.search("[一-鿿]", plain) else rf"^(?:{words.leans})"
    leaning = any(re.match(leans, part, re.IGNORECASE) for part in parts[1:])
    preamble = bool(parts) and re.match(
        r"^(?:breaking|here(?:'s|’s| is| are)|so\b|i\b|we\b|let me)", parts[0], re.IGNORECASE
    )
    rhetorical = any(_QUESTION.search(part) for part in parts)
    if inner or not long_enough or leaning or preamble or rhetorical or len(parts) > 3:
        return []
    return [_sentence(part) for part in parts]


def _statement(text: str) -> str:
    """Convert a question to a statement, if its form allows it.

    >>> _statement("Did a vaccine kill seven children?")
    ''
    >>> _statement("Can 5G alter hemoglobin?")
    '5G can alter hemoglobin.'
    """
    match = None if _is_title(text) else _STATED.match(text)
    return _sentence(f"{match[2]} {match[1].lower()} {match[3]}") if match else ""


_ENDS = (".", "!", "?", "…", ".”", '."', "\u3002", "\uff01", "\uff1f", "\u0964", "\u06d4", "\u061f")


def _sentence(text: str) -> str:
    text = " ".join(text.split()).strip(" ;,")
    text = text[:1].upper() + text[1:]
    stop = "\u3002" if re.search("[一-鿿]", text) else "\u0964" if re.search("[ऀ-ॿ]", text) else "."
    return text if text.endswith(_ENDS) else text + stop
