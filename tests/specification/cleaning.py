"""Five steps from matches to items."""

import html
import itertools
import math
import re
import unicodedata
from collections import Counter, namedtuple
from fractions import Fraction
from typing import NamedTuple

import langdetect
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from tests.specification.chance import in_order, number
from tests.specification.matching import UNSPACED

langdetect.DetectorFactory.seed = 0
ACCENTS, VARIANTS, JOINERS = range(0x300, 0x370), range(0xFE00, 0xFE10), (0x93C, 0xAD, 0x640, 0x200C, 0x200D)
IGNORED = set(map(chr, (*ACCENTS, *VARIANTS, *JOINERS, *range(0x64B, 0x656))))
WORDS = {
    9: "ar az bn bs cs de eo gu hr hu hy id is ky mn mr ms mt pl ru sk sl sr tg tk ug uk uz",
    8: "et eu fi ka kk la lt lv ne ny rw sn ta ti tr tt", 7: "he kn ko xh", 6: "zu", 5: "ml",
}  # fmt: skip
PER_TEN = {language: per_ten for per_ten, languages in WORDS.items() for language in languages.split()}
CHARACTERS = {"zh": 17, "ja": 22, "bo": 37, "dz": 37, "my": 37, "km": 38, "th": 41, "lo": 45}
UNDETERMINED = re.compile("und|zxx|mul|mis|art|q[a-z][a-z]|unknown|undefined|undetermined")
NAMED = {"eng": "en", "english": "en"}
PARTS = (
    ("retweet_mark", r"^\s*RT\b:?(?:\s*@\w+:?)?"), ("urls", r"(?i)(?:https?://|www\.)\S+"), ("mentions", r"(?<!\w)@\w+"),
)  # fmt: skip


FIELDS = "claim_id post_id kind kinds other_claims group group_size p_claim"
Item = namedtuple("Item", FIELDS)  # noqa: PYI024 - nothing here has types
"""A claim and a post that stay together. [reference/tables]"""


class Drop(NamedTuple):
    """Why a pair does not stay. [reference/tables]"""

    step: str
    reason: str
    kept_instead: str = ""
    similarity: float | None = None


class Group(NamedTuple):
    """A post's near-duplicates: their smallest id, the one that stays, and the similarity to it."""

    group: str
    kept: str
    similarity: float


def assigned_claim(seed, post, claims):
    """A post of several claims stays with the one whose number is smallest. [guides/cleaning]"""
    return min(claims, key=lambda claim: (number(seed, "claim", f"{claim}|{post}"), claim))


def query_type(seed, item, kinds):
    """An item that several query types found counts for one of them: all have the same chance. [guides/sampling]"""
    return sorted(kinds)[int(number(seed, "stratum", item) * len(kinds))]


def language_of(post, source):
    """The platform's tag, or the detector's label; empty if undetermined. [guides/cleaning]"""
    tag = post.language.lower().replace("_", "-")
    if source == "platform" and tag:
        return "" if UNDETERMINED.fullmatch(tag) else NAMED.get(tag, tag)
    try:
        return langdetect.detect(post.text)
    except langdetect.LangDetectException:
        return ""


def language_fits(language, settings):
    """A wanted language or a variety of one; `undetermined` decides over posts without a language. [guides/cleaning]"""
    wanted = settings["languages"]
    if not language:
        return not wanted or settings["undetermined"] == "keep"
    return not wanted or language in wanted or language.partition("-")[0] in wanted


def least_length(language, minimum_words):
    """As much text as so many English words: rounded, halves up, at least 1. [decisions/0033-length-by-language]"""
    base = language.partition("-")[0]
    unit = "characters" if base in CHARACTERS else "words"
    per_ten = CHARACTERS.get(base) or PER_TEN.get(base, 10)
    return max(1, math.floor(Fraction(per_ten * minimum_words, 10) + Fraction(1, 2))), unit


def length(text, unit):
    """Words stand between spaces; of characters, letters and digits outside URLs count. [guides/cleaning]"""
    if unit == "words":
        return len(text.split())
    return sum(c.isalnum() for c in re.sub(r"(?i)(?:https?://|www\.)[!-~]+", " ", text))


def compared(text, without):
    """The text that is compared, without what is ignored; the whole text if nothing remains. [guides/cleaning]"""
    bare = html.unescape(text) if "entities" in without else text
    for part, pattern in PARTS:
        bare = re.sub(pattern, " ", bare) if part in without else bare
    return bare.strip() or text


def words_of(text, whole):
    """Words with their vowel signs, or scikit-learn's; in scripts without spaces, two neighbouring characters. [guides/cleaning]"""
    signs = "".join({c for c in text if whole and unicodedata.category(c) in {"Mn", "Mc"}} - IGNORED)
    text = "".join(c for c in text.lower() if not (whole and c in IGNORED))
    for run in re.findall(rf"[{UNSPACED}]+|[^{UNSPACED}]+", text.lower()):
        if re.match(f"[{UNSPACED}]", run):
            yield from (a + b for a, b in itertools.pairwise(run))
        else:
            yield from re.findall(rf"[\w{signs}]{{2,}}", run)


def cosines(texts, whole):
    """All pairs' similarities: cosines of TF-IDF vectors, rounded to 12 decimals. [decisions/0030-exact-near-duplicates]"""
    if not any(any(words_of(text, whole)) for text in texts):
        return np.zeros((len(texts), len(texts)))
    vectors = TfidfVectorizer(analyzer=lambda text: list(words_of(text, whole))).fit_transform(texts)
    return np.round((vectors @ vectors.T).toarray(), 12)


def components(names, similar):
    """Groups of posts that near-duplicates connect. [guides/cleaning]"""
    group = {name: {name} for name in names}
    for a, b in itertools.combinations(names, 2):
        if similar(a, b) and group[a] is not group[b]:
            group[a] |= group[b]
            for name in group[b]:
                group[name] = group[a]
    return {id(members): members for members in group.values()}.values()


def greedy(names, similar):
    """The first post takes all near-duplicates that are left, then the next one. `names` are in random order. [guides/cleaning]"""
    left, groups = list(names), []
    while left:
        groups.append({name for name in left if name == left[0] or similar(left[0], name)})
        left = [name for name in left if name not in groups[-1]]
    return groups


def near_duplicates(seed, names, here, texts, settings):
    """Each post's group; of the posts that are `here`, not with another claim, the one with the smallest number stays.
    [guides/cleaning]"""
    ordered = sorted(in_order(seed, "near_duplicates", names), key=lambda name: name not in here)
    join = greedy if settings["grouping"] == "greedy" else components
    table = {}
    for members in join(ordered, lambda a, b: texts[a, b] > settings["similarity"]):
        kept = min(members, key=ordered.index)
        table |= {name: Group(min(members), kept, texts[name, kept]) for name in members}
    return table


def in_other_language(posts, post, settings):
    """Step 2. [guides/cleaning]"""
    language = language_of(posts[post], settings["language_source"])
    return "" if language_fits(language, settings) else f"language {language or 'undetermined'}"


def too_short(posts, post, settings):
    """Step 3: as much text as so many English words. [guides/cleaning]"""
    english = settings["minimum_words"]
    least, unit = least_length(language_of(posts[post], settings["language_source"]), english)
    if length(posts[post].text, unit) >= least:
        return ""
    words = f"{english} English word{'s' if english > 1 else ''}"
    other = f" (as much text as {words})" if least != english else ""
    return f"fewer than {least} {unit}{other}"


def all_groups(seed, pairs, left, copies, posts, settings):
    """Step 4, in the study or in each claim: near-duplicates of all pairs of a post that is left. The words' weights are always
    those of the study. Within a claim, posts that stay with another of their claims are compared, too. [guides/cleaning]"""
    every = sorted({post for _, post in left})
    texts = [compared(posts[post].text, settings["similar_without"]) for post in every]
    vectors = cosines(texts, settings["similar_words"] == "unicode")
    texts = {(a, b): vectors[i, j] for i, a in enumerate(every) for j, b in enumerate(every)}
    near = {}
    for scope in sorted({claim for claim, _ in copies}) if settings["scope"] == "claim" else [None]:
        of, here = ({post for claim, post in some if scope in {None, claim}} for some in (copies, left))
        groups = near_duplicates(seed, of, here, texts, settings)
        near |= {
            (claim, post): groups[post] for claim, post in pairs if post in groups and scope in {None, claim}
        }
    return near


def stays_here(counts):
    """The probability that one of these posts stays with a claim, of as many claims as each has. [guides/cleaning]"""
    return 1.0 if 1 in counts else round(1 - math.prod(1 - 1 / count for count in counts), 12)


def clean(seed, posts, found_by, settings):
    """The five steps: items, dropped pairs with the first step that drops them, and claims without items.

    `found_by` has the query types of each claim and post. [guides/cleaning]"""
    claims_of, drops, one = {}, {}, settings["one_claim_per_post"]
    for claim, post in sorted(found_by):
        claims_of.setdefault(post, []).append(claim)
    for claim, post in sorted(found_by):
        first = assigned_claim(seed, post, claims_of[post])
        if one and claim != first:
            why = "stays with another of its claims"
            drops[claim, post] = Drop("one_claim_per_post", why, f"{first}|{post}")
        elif why := in_other_language(posts, post, settings):
            drops[claim, post] = Drop("language", why)
        elif why := too_short(posts, post, settings):
            drops[claim, post] = Drop("words", why)
    left = sorted(found_by.keys() - drops.keys())
    # copies that an earlier step drops are not counted; those that stay with another claim are within claims
    within = settings["scope"] == "claim"
    left_posts = {post for _, post in left}
    copies = [pair for pair in sorted(found_by) if pair[1] in left_posts] if within else left
    near = all_groups(seed, found_by, left, copies, posts, settings)
    size = Counter((claim, near[claim, post].group) for claim, post in copies)
    for claim, post in left:
        group = near[claim, post]
        if group.kept != post:
            whose = "" if (claim, group.kept) in left else " with another claim"
            why = f"near-identical to a post that stays{whose}"
            drops[claim, post] = Drop("near_duplicates", why, group.kept, group.similarity)
    posts_left = Counter(claim for claim, post in left if (claim, post) not in drops)
    least = settings["minimum_posts"]
    few = {claim for claim, _ in found_by if posts_left[claim] < least}
    items = {}
    for claim, post in sorted(found_by.keys() - drops.keys()):
        if claim in few:
            drops[claim, post] = Drop("minimum_posts", f"its claim has fewer than {least} posts left")
            continue
        name, kinds, group = f"{claim}|{post}", tuple(sorted(found_by[claim, post])), near[claim, post].group
        others = tuple(other for other in claims_of[post] if other != claim)
        alike = [one for one in copies if one[0] == claim and near[one].group == group] if within else [name]
        counts = [len(claims_of[copy]) for _, copy in alike] if within else [len(claims_of[post])]
        p_claim = (stays_here(counts) if within else 1 / counts[0]) if one else 1.0
        items[name] = Item(
            claim, post, query_type(seed, name, kinds), kinds, others, group, size[claim, group], p_claim
        )
    empty = {claim for claim, _ in found_by} - {item.claim_id for item in items.values()}
    told = {
        claim: f"fewer than {least} posts left" if posts_left[claim] else "no posts left" for claim in empty
    }
    dropped = {
        ("pair", *pair, drop.step): (*drop[1:], near[pair].group if pair in near else "")
        for pair, drop in drops.items()
    }
    return items, dropped | {
        ("claim", claim, "", "minimum_posts"): (why, "", None, "") for claim, why in told.items()
    }
