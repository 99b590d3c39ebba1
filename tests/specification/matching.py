"""Queries, and the posts that they find."""

import re
import unicodedata

UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
ARABIC = str.maketrans(
    "\u0629\u0649", "\u0647\u064a", "\u0640"
)  # teh marbuta is heh, alef maksura is yeh, no tatweel
COLUMNS = ("titles", "news_urls", "fact_check_urls", "keywords")
KINDS = {column.removesuffix("s"): column for column in COLUMNS[:3]} | {"keywords": "keywords"}
TURKISH = {"ç": "c", "ğ": "g", "ı": "i", "ö": "o", "ş": "s", "ü": "u"}
WORD = re.compile(rf"[{UNSPACED}]|[^\W_{UNSPACED}]+")
PART = re.compile(r'-?url:"[^"]*"|-?https?://\S+|"[^"]*"|\d+ of \(|[(),]|-(?=["(\w])|[^\s(),"]+')


def fold(text):
    """Case, accents, full-width characters, digits of other scripts and forms of letters do not matter.
    [guides/claims-and-queries]"""
    text = unicodedata.normalize("NFKC", text).casefold().replace("ı", "i").translate(ARABIC)
    text = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    return "".join(str(unicodedata.decimal(c, c)) for c in text).translate(ARABIC)


def tokens(text):
    """Words are runs of letters and digits, also within URLs and @names; in scripts without spaces, single characters.
    [guides/claims-and-queries]"""
    return WORD.findall(fold(text))


def page(url):
    """A page's key: no scheme, mobile and AMP hosts, fragment or tracking parameters. [decisions/0022-merging-urls]"""
    host, path, query = re.match(r"(?:https?://)?([^/?#]+)([^?#]*)(?:\?([^#]*))?", url.strip()).groups()
    parts = filter(None, (query or "").split("&"))
    kept = [part for part in parts if not re.match(r"(utm_\w+|fbclid|gclid)=", part)]
    host = re.sub(r"^(www|m|mobile|amp)\.", "", host.lower())
    return host + path.rstrip("/") + ("?" + "&".join(sorted(kept)) if kept else "")


def parse(text):
    """A query as a tree: words (all), OR, "phrases", -not, (groups), 2 of (…, …), URLs. [guides/claims-and-queries]"""
    parts = PART.findall(text)

    def alternatives():
        sides = [together()]
        while parts and parts[0] == "OR":
            parts.pop(0)
            sides.append(together())
        return sides[0] if len(sides) == 1 else ("of", 1, sides)

    def together():
        terms = []
        while parts and parts[0] not in {"OR", ")", ","}:
            terms.append(term())
        return terms[0] if len(terms) == 1 else ("of", len(terms), terms)

    def term():
        part = parts.pop(0)
        if part == "-":
            return ("not", term())
        if part.startswith(("http", "url:")):
            return ("url", page(part.removeprefix("url:").strip('"')))
        if not part.endswith("("):
            return ("phrase", part)
        sides = [alternatives()]
        while parts.pop(0) == ",":
            sides.append(alternatives())
        return sides[0] if part == "(" else ("of", int(part.split()[0]), sides)

    return alternatives()


def contains(words, phrase, alike):
    """Whether the phrase's words stand in a row. [guides/claims-and-queries]"""
    starts = range(len(words) - len(phrase) + 1)
    return any(all(map(alike, phrase, words[at:])) for at in starts)


def turkish_alike(wanted, word):
    """Each of ç ğ ı ö ş ü of a Turkish or Azerbaijani query is that letter or the plain one. [decisions/0021-one-tokenizer]"""
    return len(wanted) == len(word) and all(
        b in {a, TURKISH.get(a, a)} or {a, b} == {"i", "ı"} for a, b in zip(wanted, word, strict=True)
    )


def turkish_words(text):
    """Words in lower case, where I is the capital of ı and İ that of i. [decisions/0021-one-tokenizer]"""
    return WORD.findall(unicodedata.normalize("NFC", text.replace("I", "ı").lower()).replace("i\u0307", "i"))


def matches(tree, texts, pages, language):
    """Whether a query matches, and what of it was found: also words of an alternative that does not hold.
    [guides/claims-and-queries]"""
    kind = tree[0]
    if kind == "phrase":
        wanted = tokens(tree[1])
        yes = any(contains(tokens(text), wanted, str.__eq__) for text in texts)
        if yes and language in {"tr", "az"}:
            yes = any(contains(turkish_words(text), turkish_words(tree[1]), turkish_alike) for text in texts)
        return yes, [" ".join(wanted)] if yes else []
    if kind == "url":
        return tree[1] in pages, [tree[1]] if tree[1] in pages else []
    if kind == "not":
        return not matches(tree[1], texts, pages, language)[0], []
    sides = [matches(side, texts, pages, language) for side in tree[2]]
    return sum(yes for yes, _ in sides) >= tree[1], [word for _, found in sides for word in found]


def queries(claims):
    """A title is a phrase, a URL a URL query, keywords are parsed; [xx] sets a query's language. [guides/claims-and-queries]"""
    for claim in claims:
        for kind, column in KINDS.items():
            lines = [line for line in claim[column].split("\n") if line.strip() and claim["selected"] != "no"]
            for nth, line in enumerate(lines, 1):
                name, language, text = f"{claim['claim_id']}:{kind}:{nth}", claim["language"], line
                if kind == "keywords" and (own := re.match(r"\[(\w+)\]\s*", line)):
                    language, text = own[1], line[own.end() :]
                tree = (
                    parse(text)
                    if kind == "keywords"
                    else ("phrase", text)
                    if kind == "title"
                    else ("url", page(text))
                )
                yield claim["claim_id"], name, kind, tree, language


def reason_to_drop(post, since, until, reposts):
    """Why a match is no hit: a repost, or a time outside; a post without a time is outside, too. [guides/claims-and-queries]"""
    day = post.created_at[:10]
    if post.repost_of and reposts == "drop":
        return "repost"
    outside = ((since or until) and not day) or (since and day < since) or (until and day > until)
    return "outside since and until" if outside else ""


def searched(post, kind):
    """The texts and pages of a post in which a query searches: a title also in link cards. [guides/claims-and-queries]"""
    texts = [post.text, *post.cards] if kind == "title" else [post.text]
    return texts, {page(url) for url in post.urls + re.findall(r"https?://\S+", post.text)}


def found(claims, copies, since, until, reposts):
    """Hits, and what matching drops: pairs of which no query has a hit, and claims. [guides/claims-and-queries]"""
    hits, reasons, asked = {}, {}, list(queries(claims))
    for post, of_post in copies.items():
        why = reason_to_drop(of_post[0], since, until, reposts)
        for claim, query, kind, tree, language in asked:
            for nth, copy in enumerate(of_post):
                yes, words = matches(tree, *searched(copy, kind), language)
                if yes:
                    reason = "only an older copy matches" if nth else why
                    reasons.setdefault((claim, post), set()).add(reason)
                    if not reason:
                        hits[claim, post, query] = kind, tuple(dict.fromkeys(words))
                    break
    dropped = claims_without_hits(claims, {claim for claim, _, _ in hits})
    for (claim, post), why in reasons.items():
        original = copies[post][0].repost_of
        instead = original if min(why) == "repost" and "" in reasons.get((claim, original), set()) else ""
        if "" not in why:
            dropped["pair", claim, post, "retrieve"] = min(why), instead
    return hits, dropped


def claims_without_hits(claims, with_hits):
    """Claims without hits, and those that are not selected. [guides/claims-and-queries]"""
    dropped = {}
    for claim in claims:
        if claim["selected"] == "no":
            dropped["claim", claim["claim_id"], "", "claims"] = "not selected", ""
        elif claim["claim_id"] not in with_hits:
            dropped["claim", claim["claim_id"], "", "retrieve"] = "no hits", ""
    return dropped
