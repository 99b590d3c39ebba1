"""Odd small studies, made from a seed: claims, files of posts, settings, and what annotators answer."""

from __future__ import annotations

import csv
import json
import random
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

CORNERS = {
    "a study that changes": "no posts, queries or labels are added or removed after a round was opened",
    "Turkish letters beside other scripts": "no Chinese and Spanish texts in studies with Turkish queries",
}
"""Known differences of covmis and its documentation, each an issue of its own: no study goes there."""

VOCABULARY = {
    language: words.split()
    for language, words in {
        "en": "the people say that this new report from town shows how water and bread make everybody well again after a long "
        "winter because doctors in hospitals never told us what really happens when you drink it every morning don't they",
        "de": "die Leute sagen dass dieser neue Bericht aus der Stadt zeigt wie Wasser und Brot alle wieder gesund machen nach "
        "einem langen Winter weil Ärzte im Krankenhaus uns nie erzählt haben was wirklich passiert Straße groß",
        "tr": "insanlar bu yeni raporun şehirden geldiğini söylüyor su ve ekmek herkesi uzun bir kıştan sonra iyileştirir çünkü "
        "doktorlar bize hiç anlatmadı ığdır İzmir gerçekten ne olduğunu sabah içince aşı ölüm",
        "ar": "يقول الناس إن هذا التقرير الجديد من المدينة يوضح كيف أن الماء والخبز يشفي الجميع مرة أخرى بعد شتاء طويل لأن "
        "الأطباء لم يخبرونا أبدا ماذا يحدث حقا عندما تشربه كل صباح",
        "zh": "人们 说 这份 新的 报告 来自 城里 显示 水 和 面包 如何 让 大家 恢复 健康 经过 漫长的 冬天 因为 医院的 医生 从来 没有 告诉 我们",
        "es": "la gente dice que este nuevo informe de la ciudad muestra cómo el agua y el pan curan a todos otra vez después de "
        "un largo invierno porque los médicos nunca nos dijeron qué pasa de verdad cuando lo bebes cada mañana señal",
    }.items()
}
TOPICS = {
    language: words.split()
    for language, words in {
        "en": "garlic covid-19 flu masks naïve 5G towers lemon vaccine CO2",
        "de": "Knoblauch Grippe Masken Impfstoff Straße Zitrone",
        "tr": "sarımsak grip maske aşı limon İlaç ışık",
        "ar": "الثوم انفلونزا كمامة لقاح ليمون مصطفى",
        "zh": "大蒜 流感 口罩 疫苗 柠檬",
        "es": "ajo gripe mascarillas vacuna limón",
    }.items()
}
TAGS = {"en": ["en", "en-GB", "EN", "eng"], "zh": ["zh", "zh-TW"], "de": ["de", "de-AT"]}
KEYWORDS = (
    "{a} {b}",
    "{a}",
    "{a} ({b} OR {c})",
    "{a} OR {b} -{c}",
    '"{a} {b}"',
    "2 of ({a}, {b}, {c})",
    "{a} -{b}",
    "({a} OR {b}) -{c}",
    "2 of ({a}, ({b} OR {c}), {word})",
    '{a} -"{b} {c}"',
    "{a} -({b} OR {c})",
)
ODD_ENDS = (
    " &amp; more",
    " 😀",
    " ÜBER",
    " \uff23\uff2f\uff36\uff29\uff24\uff11\uff19",
    " it's স্বাস্থ্য বার্তা",
    " a_b",
    " \u0665",
    " ok...so",
    " https://x.example/garlic",
)
LABELS = ["favor", "against", "neither"]
START = datetime(2020, 1, 1, tzinfo=UTC)
FORMS = (("", ""), ("%d/%m/%Y %H:%M", "Europe/Berlin"), ("%d/%m/%Y %H:%M", "+09:00"), ("epoch_s", ""))


@dataclass
class Plan:
    """A study that is to be made."""

    seed: int
    chance: random.Random
    claims: list
    posts: list
    settings: dict
    annotated: bool
    released: bool


def plan(seed):
    """The study of a seed: every sixth one is annotated, every second of these released."""
    r = random.Random(seed)
    claims = list(make_claims(r))
    posts = copied(r, claims, list(make_posts(r, claims, r.choice([20, 40, 80, 80, 120, 250]))))
    return Plan(seed, r, claims, posts, make_settings(r, seed), seed % 6 == 0, seed % 12 == 0)


def make_claims(r):
    """Claims in several languages, each with some queries of each type."""
    languages = r.choice([["en", "de", "es", "zh", "ar"], ["en", "en", "tr", "ar", "de"]])
    for nth in range(r.randint(2, 8)):
        language = r.choice(languages)
        a, b, c = r.sample(TOPICS[language], 3)
        said = join(language, [a, *r.choices(VOCABULARY[language], k=4)])
        keywords = [r.choice(KEYWORDS).format(a=a, b=b, c=c, word=r.choice(VOCABULARY[language]))]
        keywords += [f"[{language}] {b} {c}"] if r.random() < 0.3 else []
        site = r.choice(
            ["https://www.news.example/a", "http://m.news.example/a", "https://daily.example/2020/b/"]
        )
        yield {
            "claim_id": f"c{nth}",
            "text": said,
            "language": language if r.random() < 0.9 else "",
            "keywords": "\n".join(keywords) if r.random() < 0.85 else "",
            "titles": said + r.choice(["", "!", ": " + b]) if r.random() < 0.5 else "",
            "news_urls": f"{site}{nth}" if r.random() < 0.6 else "",
            "fact_check_urls": f"https://checks.example/{r.choice([nth, 0])}?id={nth}"
            if r.random() < 0.5
            else "",
            "selected": r.choice(["", "yes", "yes", "yes", "yes", "no"]),
            "_language": language,
            "_topics": [a, b, c],
            "_languages": languages,
        }


def join(language, words):
    """Words as they are written in a language."""
    return ("" if language == "zh" else " ").join(words)


def make_posts(r, claims, count):
    """Posts about the claims, in all lengths, some of them copies of others with small edits."""
    made = []
    for nth in range(count):
        claim = r.choice(claims)
        language = claim["_language"] if r.random() < 0.85 else r.choice(claim["_languages"])
        if made and r.random() < 0.3:
            text, language = (edited(r, (other := r.choice(made))["text"]), other["_language"])
        else:
            text = written(r, claim, language)
        page = r.choice([claim["news_urls"], claim["fact_check_urls"], "https://other.example/x", "", ""])
        tail = r.choice(["", "", ("&" if "?" in page else "?") + "utm_source=a", "#top"])
        tag = (
            r.choice(TAGS.get(language, [language]))
            if r.random() < 0.85
            else r.choice(["und", "", "en", "qme", "fr"])
        )
        made.append(
            {
                "nth": nth,
                "text": f"RT @someone: {text}" if r.random() < 0.06 else text,
                "language": tag,
                "when": START + timedelta(seconds=r.randrange(120 * 86400)),
                "urls": [page + tail] if page else [],
                "card": r.choice([claim["titles"] or "A card", ""]),
                "_language": language,
            }
        )
    return made


def written(r, claim, language):
    """A new text."""
    words = r.choices(VOCABULARY[language], k=r.choice([2, 5, 7, 8, 9, 10, 14, 20]))
    for topic in r.choices(claim["_topics"], k=r.randint(1, 4)):
        form = r.choice(["{}", "{}", "#{}", "@x_{}", "{},", "({})"])
        words.insert(r.randint(0, len(words)), form.format(r.choice([topic, topic.upper(), topic.lower()])))
    text = join(language, words) + (r.choice(ODD_ENDS) if r.random() < 0.15 else "")
    title = r.choice([claim["titles"], claim["titles"].upper(), f"Wow {claim['titles']} ..."])
    return f"{title} {text}" if claim["titles"] and r.random() < 0.2 else text


def edited(r, text):
    """A near, or not so near, copy of a text."""
    words = text.split(" ")
    for _ in range(r.randint(0, 3)):
        at = r.randrange(len(words))
        how = r.randrange(5)
        if how == 0:
            words.append(r.choice(VOCABULARY["en"]))
        elif how == 1 and len(words) > 3:
            words.pop(at)
        elif how == 2:
            words.append("https://t.co/" + "".join(r.choices("abcXYZ019", k=6)))
        elif how == 3:
            words[at] = words[at].upper()
        else:
            words.insert(0, r.choice(["@ann", "@bob_garlic", "@zoe"]))
    return " ".join(words)


def copied(r, claims, posts):
    """In half of the studies a text about one claim is copied many times, a few times with small edits."""
    if r.random() < 0.5 and len(posts) > 50:
        claim = r.choice(claims)
        words = r.choices(VOCABULARY[claim["_language"]], k=12)
        text = join(claim["_language"], [claim["titles"] or " ".join(claim["_topics"][:2]), " ", *words])
        for post in r.sample(posts, r.randint(15, len(posts) // 2)):
            post["text"] = edited(r, text) if r.random() < 0.2 else text
            post["language"] = claim["_language"]
            post["urls"] = [
                url for url in (claim["news_urls"], claim["fact_check_urls"]) if url and r.random() < 0.5
            ]
    return posts


def write_csv(r, posts, path):
    """A table of posts; some have no time, some are there twice. Returns how it is to be read."""
    form, zone = r.choice(FORMS)
    rows = []
    for post in posts:
        when = str(int(post["when"].timestamp())) if form == "epoch_s" else post["when"].strftime(form)
        when = when if form else post["when"].isoformat()
        row = {
            "nr": post["nth"],
            "body": post["text"],
            "when": when if r.random() < 0.95 else "",
            "lang": post["language"],
            "link": "|".join(post["urls"]),
            "kind": "share" if r.random() < 0.05 else "post",
        }
        rows.append(row)
        if r.random() < 0.05:
            rows.append(row | {"body": row["body"] + r.choice([" and more garlic", " x"])})
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, rows[0])
        table.writeheader()
        table.writerows(rows)
    rule = {
        "platform": "forum",
        "id": "nr",
        "text": "body",
        "created_at": "when",
        "language": "lang",
        "urls": "link",
        "urls_separator": "|",
        "repost": {"column": "kind", "is": "share"},
        "date_format": form,
        "timezone": zone,
    }
    return {name: value for name, value in rule.items() if value}


def write_x(r, posts, path):
    """Pages of X's API 2: posts, reposts, quotations, answers, and some posts again at another time."""
    made = []
    for post in posts:
        stamp = int(post["when"].timestamp() * 1000) - 1288834974657
        links = [
            {"url": "https://t.co/a", "expanded_url": url, "title": post["card"]} for url in post["urls"]
        ]
        one = {
            "id": str((stamp << 22) + post["nth"]),
            "text": post["text"],
            "lang": post["language"] or "und",
            "author_id": "7",
            "created_at": post["when"].strftime("%Y-%m-%dT%H:%M:%S.000Z"),
            "conversation_id": "1",
            "entities": {"urls": links},
        }
        if made and r.random() < 0.25:
            other, kind = r.choice(made), r.choice(["retweeted", "quoted", "replied_to"])
            one["referenced_tweets"] = [{"type": kind, "id": other["id"]}]
            one["text"] = f"RT @x: {other['text']}"[:140] if kind == "retweeted" else one["text"]
        made.append(one)
    pages = [(made[at : at + 25], "2021-01-01") for at in range(0, len(made), 25)]
    again = [
        one | {"text": one["text"] + r.choice([" edited later", "", " x"])}
        for one in made
        if r.random() < 0.1
    ]
    pages += [(again, r.choice(["2021-02-01", "2020-12-01"]))] if again else []
    with path.open("w", encoding="utf-8") as file:
        for data, day in pages:
            page = {
                "data": data,
                "meta": {"result_count": len(data)},
                "__twarc": {"retrieved_at": f"{day}T00:00:00+00:00"},
            }
            file.write(json.dumps(page, ensure_ascii=False) + "\n")


def make_settings(r, seed):
    """Settings that meet in all combinations."""
    people = r.choice([["a1", "a2"], ["a1", "a2"], ["a1", "a2", "a3"]])
    return {
        "seed": r.choice([20220405, seed]),
        "retrieval": {
            "reposts": r.choice(["drop", "drop", "keep"]),
            "since": r.choice(["", "", "2020-01-15"]),
            "until": r.choice(["", "", "2020-04-15"]),
        },
        "cleaning": {
            "languages": r.choice([[], [], [], ["en"], ["en", "de", "tr", "ar", "zh"], ["zh", "ar"]]),
            "language_source": r.choice(["platform", "platform", "platform", "platform", "detector"]),
            "undetermined": r.choice(["drop", "keep"]),
            "minimum_words": r.choice([1, 3, 5, 7, 8, 10]),
            "similarity": r.choice([0.5, 0.8, 0.8, 0.9]),
            "grouping": r.choice(["components", "components", "greedy"]),
            "scope": r.choice(["study", "study", "claim"]),
            "similar_without": r.choice([[], [], ["urls"], ["urls", "mentions", "retweet_mark", "entities"]]),
            "similar_words": ["scikit-learn", "unicode"][seed % 2],
            "one_claim_per_post": r.choice([True, True, True, False]),
            "minimum_posts": r.choice([1, 2, 3, 5]),
        },
        "sampling": {
            "per_claim": r.choice([3, 8, 24]),
            "per_kind": r.choice([0, 1, 2, 6]),
            "design": r.choice(["poisson", "poisson", "two_phase"]),
            "strata_by": r.choice([[], [], [], ["platform"], ["month"], ["platform", "year"]]),
            "certain": r.choice([True, False]),
        },
        "labels": {
            "automatic": r.choice(
                [{}, {"fact_check_url": "against"}, {"fact_check_url": "against", "title": "favor"}]
            )
        },
        "annotation": {
            "annotators": people,
            "per_item": r.choice([2, 2, len(people)]),
            "claims_per_round": r.choice([2, 12]),
            "audit": r.choice([0.05, 0.5]),
            "audit_per_part": [0, 2, 5][seed % 3],
            "audit_by": [["claim"], ["claim", "month"], ["kind", "platform", "claim"]][seed // 3 % 3],
            "order_of_items": r.choice(["claim", "mixed"]),
            "channel": "csv",
        },
    }


def answer(r, item):
    """What a person answers: often the same as others; a label, its key, or a skip."""
    usual = LABELS[sum(item.encode()) % 3]
    odd = r.choice(["1", "2", "3", "skip"])
    return r.choice([usual, usual, usual, r.choice(LABELS), r.choice(LABELS), r.choice([odd, usual])])
