"""Accepted column names of each field in tables of posts, claims and labels.

Names are compared by letters and digits, ignoring case. A field's column is the first of its names in the header.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from covmis_build.errors import InputError, counted, nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

POSTS = {
    "id": ("post_id", "tweet_id", "status_id", "id_str", "tweet_ids", "id_tweet", "message_id", "comment_id", "id",
           "native_id", "video_id", "uri", "permalink", "url", "mid", "text_id"),
    "text": ("text", "fulltext", "tweettext", "content", "rawcontent", "body", "message", "description", "caption",
             "selftext", "title", "tweet", "comment", "posttext", "statusmessage", "正文", "微博正文",
             "texto", "mensaje", "mensagem", "contenido", "conteúdo", "conteudo", "texte", "contenu", "nachricht", "inhalt", "testo", "messaggio", "текст", "النص"),
    "created_at": ("createdat", "createdutc", "date", "datepublished", "datetime", "timestamp", "timestamputc", "time", "published",
                   "publishedat", "postcreated", "dateutc", "tweetcreated", "tweetcreatedat", "tweetdate", "tweettime", "posted", "postedat", "messagetime", "createdtime", "statuspublished", "发布时间",
                   "fecha", "fechahora", "fechapublicación", "fechapublicacion", "datahora", "datapublicação", "datapublicacao", "datepublication", "datum", "дата", "التاريخ", "data"),
    "language": ("lang", "language", "languageguess", "langs", "idioma", "langue", "sprache", "lingua", "язык"),
    "urls": ("links", "urls", "outlinks", "expandedurls", "entitiesurls", "link", "statuslink", "enlace", "enlaces", "lien", "liens"),
    "claim": ("claimid", "claim", "mid"),
    "reply_to": ("inreplytostatusid", "inreplytotweetid", "inreplytoid", "replytoid", "replyto"),
    "quote_of": ("quotedstatusid", "quotedtweetid", "quotedid", "quoteof"),
    "repost_of": ("retweetedstatusid", "retweetedtweetid", "retweetedid", "reblogid", "retweetof", "repostof", "rtof"),
    "repost": ("isretweet", "isrepost", "isreblog", "retweet", "repost", "reblog"),
    "author": ("author", "username", "userscreenname", "screenname", "authorid", "userid", "user", "usuario", "usuário", "autor", "auteur", "autore", "автор"),
}  # fmt: skip
"""Posts from unknown tools."""

CLAIMS = {
    "claim_id": (
        "claimid", "id", "vclaimid", "factcheckid", "misconceptionid", "mid", "claimnumber", "sentenceid", "uid", "uuid", "编号",
    ),
    "text": (
        "claimtext", "claimreviewed", "claimreviewclaimreviewed", "vclaim", "claim", "statement", "normalizedclaim", "misconception", "fact", "text", "mis",
        "sentence", "rumor", "rumour", "canonicalsentence", "behauptung", "aussage", "afirmación", "afirmacion", "declaración",
        "affirmation", "afirmação", "afirmacao", "alegação", "ادعاء", "الادعاء", "दावा", "谣言", "声明",
    ),
    "titles": ("titles", "title", "headline", "newstitle", "articletitle", "reviewtitle"),
    "news_urls": ("newsurls", "newsurl", "claimurl", "sourceurl", "articleurl", "appearance"),
    "fact_check_urls": ("factcheckurls", "factcheckurl", "reviewurl", "claimreviewurl", "factcheck", "checkurl", "debunkurl"),
    "url": ("url", "link", "href", "permalink"),
    "language": ("language", "lang", "claimlanguage", "sprache", "idioma", "langue"),
    "keywords": ("keywords", "keyword", "query", "queries", "searchquery", "searchterms", "searchwords"),
    "first_seen": ("firstseen", "claimdate", "date", "published", "publishdate", "publisheddate", "datepublished", "reviewdate", "statementdate",
                   "creativeworkdatepublished", "claimreviewdatepublished"),
    "verdict": (
        "verdict", "veracity", "rating", "label", "truthrating", "ruling", "textualrating", "alternatename", "ratingalternatename", "ratingnormalised", "ratingnormalized", "truth", "category",
        "urteil", "veredicto",
    ),
    "posts": ("tweetids", "tweetid", "postids", "postid"),
}  # fmt: skip
"""Claims of others, the most likely name first. A plain URL column is a fact-check's if its host is a fact-checker."""

OWN_CLAIMS = {"claim_id": ("claim_id", "mid"), "text": ("text", "mis")}
"""A study's own list, and the published one of COVMis-Stance."""

IDS = ("item_id", "post_id", "native_id", "tweet_id", "sentence_id", "id")
"""Ids of labelled items, in order of preference, unless another column is named."""
CLAIM_OF_ITEM = ("claim_id", "mid", "event", "misconception_id")
"""Claims of labelled items, in order of preference."""
KEYS = {
    "claim": (*CLAIM_OF_ITEM, "group", "target_id"),
    "author": POSTS["author"],
    "thread": ("conversation_id", "thread_id", "thread", "root_id"),
    "url": (*POSTS["urls"], "url"),
    "event": ("event", "topic"),
}
"""Properties that labelled items may share."""
GIVEN_LABELS = ("label", "labels", "stance", "class_label", "check_worthiness")
SETTLED_LABELS = ("gold", "gold_label", "y_true", "true_label", "ground_truth")
PREDICTIONS = (
    "prediction", "predictions", "predicted", "predicted_label", "predicted_stance", "pred", "pred_label", "y_pred", "y_hat", "yhat",
)  # fmt: skip

INDEX = re.compile(r"|index|level_\d|unnamed: ?\d+", re.IGNORECASE)
"""Names of row numbers in data frames: never an id or a claim."""


def folded(name: str) -> str:
    """Normalise a column's name for comparison.

    >>> folded("Tweet ID") == folded("tweet_id")
    True
    """
    return "".join(filter(str.isalnum, name.lower()))


KNOWN = frozenset(
    folded(name)
    for names in (*POSTS.values(), *CLAIMS.values(), IDS, GIVEN_LABELS, SETTLED_LABELS, PREDICTIONS)
    for name in names
)


def is_known(name: str) -> bool:
    """True if any kind of table uses this name."""
    return folded(name) in KNOWN


OF_OUR_CLAIMS = frozenset(map(folded, ("keywords", "titles", "news_urls", "fact_check_urls", "first_seen")))


def is_ours(header: Iterable[str]) -> bool:
    """True for tables that covmis writes with texts: items of a study, and lists of claims, also without some of their columns.

    >>> is_ours(["item_id", "post", "label"]), is_ours(["claim_id", "text"])
    (True, False)
    """
    names = {*map(folded, header)}
    is_list = {"claimid", "text"} <= names and len(names & OF_OUR_CLAIMS) > 1
    return "itemid" in names or is_list


def best_known(tables: Mapping[str, Sequence[str]], with_column: str = "") -> tuple[str, str]:
    """Return the table with this column, otherwise the one with most columns of known names; and a note on the others.

    >>> best_known({"users": ["name"], "posts": ["id", "text"]})
    ('posts', 'the table posts is read; 1 other table not: users. To read one of them, save it as CSV')
    """
    chosen = max(tables, key=lambda name: (with_column in tables[name], sum(map(is_known, tables[name]))))
    others = [name for name in tables if name != chosen]
    if not others:
        return chosen, ""
    named = ", ".join(others[:5]) + " …" * (len(others) > 5)
    return (
        chosen,
        f"the table {chosen} is read; {counted(len(others), 'other tables')} not: {named}. To read one of them, save it as CSV",
    )


def column_of(header: Iterable[str], names: Iterable[str]) -> str:
    """Return the header's column with the first of these names; empty if there is none.

    >>> column_of(["Index", "Tweet ID"], ["post_id", "tweet_id"])
    'Tweet ID'
    """
    return next(iter(columns_of(header, names)), "")


def columns_of(header: Iterable[str], names: Iterable[str]) -> list[str]:
    """Return the header's columns with any of these names, in the order of names."""
    names, by_name = list(names), dict[str, str]()
    for name in header:
        if name in names or not INDEX.fullmatch(name.strip()):
            by_name.setdefault(folded(name), name)
    return list(dict.fromkeys(by_name[key] for name in names if (key := folded(name)) in by_name))


def need(path: Path, header: Sequence[str], names: Sequence[str]) -> str:
    """Like `column_of`, but a missing column is an InputError that names the most similar one."""
    name = column_of(header, names)
    if not name:
        near = nearest(names[0], header)
        hint = near if near.startswith("Did") else f"The file has: {', '.join(header) or 'no columns'}"
        raise InputError(f"lacks the column '{names[0]}'", file=path, row=1, remedy=hint)
    return name
