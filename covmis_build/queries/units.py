"""The informative parts of a claim: whole names, hyphenated words and numbers, words with their forms; and their rarity.

Snowball stems words in the claim's language. Text without spaces is split where its characters co-occur in the archive.
"""

from __future__ import annotations

import functools
import math
import re
from typing import TYPE_CHECKING, NamedTuple

from covmis_build.text.language import detect_languages
from covmis_build.text.nodes import Node, Or, Term, joined
from covmis_build.text.tokens import UNSPACED, tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from covmis_build.archive.counted import Rows
    from covmis_build.archive.words import Words


FORMS = 4
"""Maximum number of forms of a word, including itself."""

STEMMERS = {
    "ar": "arabic", "de": "german", "en": "english", "es": "spanish", "fr": "french", "hi": "hindi", "it": "italian",
    "nl": "dutch", "pl": "polish", "pt": "portuguese", "ru": "russian", "tr": "turkish", "sv": "swedish", "da": "danish",
    "fi": "finnish", "el": "greek", "ro": "romanian", "hu": "hungarian", "id": "indonesian", "ca": "catalan",
}  # fmt: skip
PREFIXES = {"ar": ("", "ال", "وال", "بال", "لل", "و", "ب", "ل", "فال", "كال")}
"""Prefixes written together with the next word: Arabic's article, and, in, for, so, like."""

_ARTICLE = re.compile("[وف]?(?:[بك]?ال|لل)(?=..)")
"""Beginning of an Arabic word with an article."""

NAME_BONUS = 1.25
"""A.2: entity names first. A name or number counts a quarter more than an equally rare word."""

COMMON, FEW_POSTS = 5, 100
"""A word is common if it is in every COMMON-th post, in an archive of more than FEW_POSTS: the topic, or a function word."""


LAST_LATIN = "\u024f"
"""The last letter of the Latin script's first blocks."""

_SIGNS = r"\s,;:!?()\[\]\"“”«»„¿¡،؛।。，、！？"  # noqa: RUF001 - signs of many scripts
_PIECE = re.compile(rf"(?:[^{_SIGNS}]|(?<=\d),(?=\d))+")
"""A run of characters between punctuation; a comma inside a number is not punctuation."""


class Unit(NamedTuple):
    """A part of the claim that belongs together, its forms, its posts, and how informative it is."""

    words: tuple[str, ...]
    ways: tuple[Term, ...]
    rows: Rows
    name: bool
    common: bool
    weight: float

    @property
    def node(self) -> Node:
        """Return the unit as a part of a query."""
        return joined(Or, self.ways)

    @property
    def shown(self) -> str:
        """Its words; for a name also which of them is searched."""
        words, searched = " ".join(self.words), " ".join(self.ways[0].tokens)
        return words if searched == words else f'{searched} (from "{words}")'

    @property
    def seen(self) -> bool:
        """True if the archive has it."""
        return len(self.rows) > 0


class _Piece(NamedTuple):
    words: tuple[str, ...]
    name: bool
    phrase: bool


def units_of(text: str, index: Words, language: str = "") -> list[Unit]:
    """Return the claim's units, the most informative first; those missing in the archive are the rarest."""
    code = code_of(language, text)
    stop = STOP_WORDS.get(code, frozenset())
    units: list[Unit] = []
    asked: set[Term] = set()  # a word and its other form are one unit
    for piece in _pieces(text, index, code, stop):
        ways = _ways(piece, index, code)
        if not asked.isdisjoint(ways):
            continue
        rows = index.rows(joined(Or, ways))
        common = len(rows) * COMMON > index.size > FEW_POSTS
        weight = math.log((index.size + 1) / (len(rows) + 0.5)) * (NAME_BONUS if piece.name else 1.0)
        asked.update(ways)
        units.append(Unit(piece.words, ways, rows, piece.name, common, weight))
    return sorted(units, key=lambda unit: -unit.weight)


def code_of(language: str, text: str) -> str:
    """The code of a claim's language.

    Where none is given: of another script what the detector says, of Latin letters the language of most function words, if
    there are several of them; else English.
    """
    letters = [letter for letter in text if letter.isalpha()]
    if not language and sum(letter > LAST_LATIN for letter in letters) * 2 > len(letters):
        (language,) = detect_languages([text])
    if not language and len(most := languages_of_function_words(text, least=2)) == 1:
        (language,) = most
    return language.split("-", maxsplit=1)[0].lower() or "en"


def languages_of_function_words(text: str, *, least: int = 1) -> list[str]:
    """The language of which a text has most function words, and others of which it has as many; at least so many."""
    words = set(tokens(text))
    hits = {code: len(words & listed) for code, listed in STOP_WORDS.items()}
    return [code for code, count in hits.items() if count == max(hits.values()) >= least]


def terms_of(text: str, index: Words, language: str = "") -> list[Term]:
    """Return every word and form for similarity to the claim: of its units, and each word of its names."""
    return list(
        dict.fromkeys(
            term
            for unit in units_of(text, index, language)
            for term in (*unit.ways, *(Term((word,)) for word in unit.words if unit.name))
        )
    )


def _pieces(text: str, index: Words, code: str, stop: frozenset[str]) -> Iterator[_Piece]:
    """Split the text into units: a run of capitalised words is a name; hyphens and separators inside keep a word whole."""
    written = _PIECE.findall(text.replace("’", "'"))
    shouting = sum(piece[:1].isupper() for piece in written) > 0.7 * len(written)
    nouns_have_capitals = code == "de"
    run: list[str] = []
    for at, piece in enumerate(written):
        bare = re.sub(r"'s$|'$", "", piece.strip(".'‘-–—…/#@*"))
        cut = tokens(bare)
        if not cut:
            continue
        if re.fullmatch(f"[{UNSPACED}]", cut[0]):
            yield from _run_of(run)
            yield from _unspaced(cut, index)
            continue
        code_like = bool(re.search(r"\d|[A-Z].*[A-Z]", bare))
        capital = bare[:1].isupper() and not shouting and not nouns_have_capitals and at > 0
        if len(cut) > 1 and (("-" in bare and re.search(r"\d", bare)) or re.fullmatch(r"[\d.,]+", bare)):
            yield from _run_of(run)
            yield _Piece(tuple(cut), name=True, phrase=True)
            continue
        for word in cut:
            if word in stop or (len(word) < 2 and not word.isdigit()):
                yield from _run_of(run)
            elif code_like:
                yield from _run_of(run)
                yield _Piece((word,), name=True, phrase=False)
            elif capital:
                run.append(word)
            else:
                yield from _run_of(run)
                yield _Piece((word,), name=False, phrase=False)
        if piece.endswith((".", "'s")) or _ends(text, piece):
            yield from _run_of(run)
    yield from _run_of(run)


def _ends(text: str, piece: str) -> bool:
    """True if a comma follows this piece, which separates two names."""
    return f"{piece}," in text


def _run_of(run: list[str]) -> Iterator[_Piece]:
    if run:
        yield _Piece(tuple(run), name=True, phrase=False)
        run.clear()


def _unspaced(cut: list[str], index: Words) -> Iterator[_Piece]:
    """Return words of a text without spaces: two to four characters that occur together much more often than separately.

    If the archive has no evidence, particles separate the words. Up to three characters between them are one word, more are
    all their pairs.
    """
    best: list[tuple[float, int]] = [(0.0, 0)]
    for end in range(1, len(cut) + 1):
        choices = []
        for length in range(1, min(4, end) + 1):
            word = tuple(cut[end - length : end])
            choices.append((best[end - length][0] + _togetherness(word, index), length))
        best.append(max(choices))
    end = len(cut)
    words = []
    while end:
        length = best[end][1]
        words.append(tuple(cut[end - length : end]))
        end -= length
    untold = ""
    for word in (*reversed(words), ("",)):
        if len(word) == 1 and re.fullmatch(f"[{UNSPACED}]", word[0]):
            untold += word[0]
            continue
        yield from _of_untold(untold)
        untold = ""
        if len(word) > 1:
            yield _Piece(word, name=False, phrase=True)
        elif word[0]:
            yield _Piece(word, name=True, phrase=False)


_PARTICLES = re.compile("可以|没有|[的了在是和与及将被把也都就很会吗呢吧着这那]")


def _of_untold(characters: str) -> Iterator[_Piece]:
    for piece in _PARTICLES.split(characters):
        width = len(piece) if len(piece) < 4 else 2
        if len(piece) > 1:
            for at in range(len(piece) - width + 1):
                yield _Piece(tuple(piece[at : at + width]), name=False, phrase=True)


def _togetherness(word: tuple[str, ...], index: Words) -> float:
    """Return how much more often characters co-occur than by chance; more than two of them, nearly always."""
    if len(word) == 1:
        return 0.0
    together = len(index.rows(Term(word)))
    if together < 2:
        return -float(len(word))
    if len(word) > 2 and 2 * together < max(
        len(index.rows(Term(word[:2]))), len(index.rows(Term(word[-2:])))
    ):
        return -float(len(word))
    chance = math.prod(max(index.frequency(sign), 1) / index.size for sign in word) * index.size
    return math.log1p(together) * (1 + math.log(together / chance) / len(word))


def _ways(piece: _Piece, index: Words, code: str) -> tuple[Term, ...]:
    """Return the forms of a unit: a phrase and its joined form, a name, a word with its forms."""
    if piece.phrase:
        glued = "".join(piece.words)
        ways = [Term(piece.words)]
        if piece.words[0].isascii() and not piece.words[0].isdigit() and index.frequency(glued):
            ways.append(Term((glued,)))
        return tuple(ways)
    if len(piece.words) > 1:  # of a name of several words, posts use the rarest part
        known = [word for word in piece.words if index.frequency(word)] or list(piece.words)
        return (Term((min(known, key=lambda word: (index.frequency(word), -len(word))),)),)
    if piece.name:
        return (Term(piece.words),)
    return tuple(Term((form,)) for form in forms_of(piece.words[0], index, code))


def forms_of(word: str, index: Words, code: str) -> list[str]:
    """Return a word and the archive's most frequent words of its stem that share four letters and are little longer."""
    stem = _stemmer(code)
    together = code in PREFIXES and not word.isascii()
    prefixes = PREFIXES[code] if together else ("",)
    if stem is None or not _is_word(word) or len(word) < (3 if together else 4):
        return [word]
    bare = _ARTICLE.sub("", word) if together else word
    root = stem(bare)
    beginning = bare[: max(3, min(4, len(root)))]
    known: dict[str, int] = {}
    for prefix in prefixes:
        for form, posts in index.beginning_with(prefix + beginning).items():
            rest = form.removeprefix(prefix)
            if form != word and _is_word(form) and stem(rest) == root and (rest == bare or _akin(bare, rest)):
                known[form] = posts
    others = sorted(known, key=lambda form: (-known[form], form))
    if together:  # twice as many; and the usual ones, whatever this archive has
        others = others[: 2 * FORMS - 1]
        regular = (prefix + bare for prefix in prefixes)
        return [word, *others, *(form for form in regular if form not in {word, *others})][
            : max(FORMS, 1 + len(others))
        ]
    return [word, *others[: FORMS - 1]]


def _is_word(token: str) -> bool:
    """True if it contains no digit; Python does not count Hindi's vowel signs as letters."""
    return not any(map(str.isdigit, token))


def _akin(word: str, form: str) -> bool:
    shared = next(
        (at for at, pair in enumerate(zip(word, form, strict=False)) if pair[0] != pair[1]),
        min(len(word), len(form)),
    )
    return shared >= min(4, len(word) - 1) and abs(len(word) - len(form)) <= 4


@functools.cache
def _stemmer(code: str) -> Callable[[str], str] | None:
    if code not in STEMMERS:
        return None
    from snowballstemmer import stemmer

    return functools.lru_cache(1 << 16)(stemmer(STEMMERS[code]).stemWord)


_WORDS = {
    "en": """
        a about above according after again against all also am an and any are as at be because been before being
        between both but by can claim claimed claims could d depicts did do does doing down during each few for from
        further had has have having he her here hers him his how i if image in into is it its itself just ll m may
        me might more most must my new no nor not now of off on once one only or other our out over own people photo
        photograph picture pictured post posts re s said same say says she should show showed shows so some such t
        than that the their them then there these they this those through to too tweet under until up ve very video
        was we were what when where which while who whom why will with would you your
    """,
    "de": """
        ab aber alle allem allen aller alles als also am an ander andere anderen angeblich auch auf aus behauptung bei
        beim beitrag bin bis bist da dadurch damit dann das dass dein dem den denen denn der deren des dessen die
        dies diese diesem diesen dieser dieses doch dort du durch ein eine einem einen einer eines er es etwas euch
        foto fur für gegen gewesen hab habe haben hat hatte hatten hier hin ich ihm ihn ihnen ihr ihre ihrem ihren
        ihrer im in ins ist ja jede jeder jedes jetzt kann kein keine keinen konnen konnte können laut leute machen
        man mehr mein menschen mit muss nach nicht nichts noch nun nur ob oder ohne post schon sehr sein seine
        seinem seinen seiner seit sich sie sind so soll sollen sollte sondern sonst sowie uber um und uns unser
        unter video vom von vor wahrend war waren was weg weil weiter welche wenn wer werde werden wie wieder will
        wir wird wirst wo wollen worden wurde wurden würde zeigen zeigt zu zum zur zwar zwischen über
    """,
    "es": """
        a afirma al algo algunas algunos ante antes asi aunque cada como con contra cual cuando de del desde dice
        dicen donde dos durante e el ella ellas ellos en entre era eran es esa ese eso esta estaba estan estas este
        esto estos foto fue fueron ha habia han hasta hay imagen la las le les lo los mas me mi mientras mucho
        muestra muy nada ni no nos o otra otro otros para pero personas poco por porque publicacion puede pueden que
        quien se sea segun ser si sido sin sobre son su sus tambien tan tanto te tiene tienen toda todo todos tras
        tu un una unas uno unos video y ya yo
    """,
    "fr": """
        a affirme alors apres au aucun aussi autre aux avant avec avoir bien ca ce ceci cela celle ces cet cette
        ceux chaque ci comme comment contre d dans de des deux dit doit donc dont du elle elles en encore entre est
        et etaient etait ete etre eux faire fait font hors il ils image je jusqu l la le les leur leurs lors lui ma
        mais meme mes moins mon montre ne ni nos notre nous on ont ou par parce pas personnes peu peut peuvent photo
        plus pour pourquoi qu quand que quel quelle qui quoi s sa sans se selon sera ses si son sont sous sur ta
        tous tout toute toutes tres trop tu un une vers video votre vous y
    """,
    "pt": """
        a afirma ao aos apos as ate cada com como contra da das de dela dele deles depois diz do dos e ela elas ele
        eles em entre era eram essa esse esta estao estas estava este estes eu foi foram foto ha imagem isso isto ja
        la lhe mais mas me mesmo meu minha mostra muito na nao nas nem no nos nossa nosso num numa o os ou para pela
        pelas pelo pelos pessoas pode podem por porque qual quando que quem sao se sem ser seu seus so sobre sua
        suas tambem tem tinha toda todo todos tu um uma umas uns vai video voce
    """,
    "ar": """
        أن أو أي إلى إن التي الذي الذين الى ان او ب بعد به بها بين تم ثم حتى حول خلال ذلك صورة ضد على عن عند غير ف
        في فيديو فيه فيها قبل قد كان كانت كل كما ل لا لكن لم لن له لها ما مع من منذ منشور هذا هذه هم هو هي و وقد وهو
        وهي يتم
    """,
    "hi": """
        अपने अब इस उस एक और कर करना करने जाता जाती जाते का कि किया की कुछ के को गई गए गया जब जो तक तब तस्वीर तो था थी थे दावा दे देता देती देते द्वारा
        नहीं ने पर फोटो बाद भी में यह या ये रहा रही रहे लिए लोग वह वीडियो वे सभी साथ से हर ही है हैं हो होता होती होते होने
    """,
    "zh": """
        一 一个 上 不 与 为 也 了 人 从 他 们 会 你 到 去 及 可以 和 图片 在 她 好 它 对 将 就 很 我 是 有 没有 照片 的 看 着 自己 被 要 视频 说 这 那 都
    """,
    "it": """
        a ad al alla alle anche che chi ci come con cosa da dal dalla dei del della delle di e era essere foto fra
        gli ha hanno i il in io la le lo loro ma mi nei nel nella non o per piu più quando quello questa questo sono
        su sua suo tra un una uno video è
    """,
}

STOP_WORDS = {language: frozenset(tokens(words)) for language, words in _WORDS.items()}
