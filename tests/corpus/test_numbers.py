"""Every number of methods.md, card and statistics page is one of the study: of its tables, its estimates, its settings."""

from __future__ import annotations

import html
import json
import re
import statistics
from dataclasses import asdict

import pandas as pd
import pytest

from covmis_build import open_study
from tests.corpus.studies import annotated_study, covmis

SHAPES = {
    "two annotators, automatic labels": {"settings": {"audit = 0.05": "audit = 0.4"}},
    "keywords alone": {"kinds": ("keywords",), "posts": 3000},
    "no automatic labels": {"settings": {'automatic = { fact_check_url = "against" }': "automatic = {}"}},
    "single labels": {"settings": {"per_item = 2": "per_item = 1"}},
}
NUMBER = re.compile(r"(?<![\w.-])-?\d[\d,]*(?:\.\d+)?(?:e-?\d+)?(?![\w-])")
CITED = re.compile(r"Hou et al\. \(2022\)|Horvitz and Thompson, 1952|Friedman,? 2018|Gebru et al\.,? 2021")


@pytest.fixture(scope="module", params=SHAPES)
def released(request, tmp_path_factory):
    study = annotated_study(tmp_path_factory.mktemp("odd") / "study", **SHAPES[request.param])
    covmis("release", "--study", study.places.folder)
    return request.param, open_study(study.places.folder)


def numbers_of(text: str) -> list[str]:
    return [found.replace(",", "") for found in NUMBER.findall(CITED.sub("", text))]


def percent(value: float) -> str:
    return f"{100 * value:.1f}"


def test_methods_state_the_study_s_numbers_in_order(released) -> None:
    shape, study = released
    text = (study.places.release / "methods.md").read_text("utf-8").split("## References")[0]
    settings, rounds = study.settings, study.rounds
    corpus = pd.read_csv(study.places.release / "corpus.csv", dtype={"post_id": str})
    steps = [step for step in study.status().flow if step.pairs is not None]
    cleaned = steps[-2]
    items = pd.concat(round_.items for round_ in rounds)
    seen = items[(items["automatic_label"] == "") | items["audited"].astype(bool)]
    wanted: list[object] = [
        steps[0].pairs,
        steps[0].claims,
        settings.cleaning.minimum_words,
        0.8,
        settings.cleaning.minimum_posts,
    ]
    wanted += [cleaned.pairs, cleaned.claims, settings.sampling.per_claim, settings.sampling.per_kind]
    people, each = (1, 1) if shape == "single labels" else (2, 2)
    wanted += [people, *([len(seen)] if len(seen) < len(items) else []), len(items), 2, 3, each]
    report = json.loads((study.places.rounds / "summary.json").read_text("utf-8"))
    kappa = report["kappa"]
    assert (kappa["value"] is None) == (shape == "single labels")
    if kappa["value"] is not None:
        wanted += [f"{kappa[name]:.2f}" for name in ("value", "low_by_claims", "high_by_claims")]
        wanted += [95, len(seen) - int(items["audited"].sum())]
    estimates = study.estimate()
    if len(seen) < len(items):
        wanted.append(len(items) - len(seen))
        for row in estimates.audit.to_dict("records"):
            wanted += [row["items"], row["audited"], row["errors"], percent(row["rate"])]
            wanted += [] if pd.isna(row["low"]) else [95, percent(row["low"]), percent(row["high"])]
    wanted += [len(corpus), corpus["claim_id"].nunique()]
    for label in ("favor", "against", "neither"):
        count = int((corpus["label"] == label).sum())
        wanted += [count, percent(count / len(corpus))]
    shares = estimates.to_frame()
    shares = shares[(shares["scope"] == "pool") & (shares["estimand"] == "unique_posts")]
    for row in shares.to_dict("records"):
        wanted += [
            percent(row["share"]),
            *([] if pd.isna(row["low"]) else [percent(row["low"]), percent(row["high"])]),
        ]
    wanted += [95, len(corpus)]
    assert numbers_of(text) == list(map(str, wanted))


def test_methods_say_what_was_done(released) -> None:
    shape, study = released
    text = (study.places.release / "methods.md").read_text("utf-8")
    card = (study.places.release / "card.md").read_text("utf-8")
    alone = shape == "single labels"
    assert ("with queries made from keywords." in text) == (shape == "keywords alone")
    assert ("titles" in card.split("## Sampling")[0]) == (shape != "keywords alone")
    rules = shape not in {"keywords alone", "no automatic labels"}
    assert ("automatic labels: against for links to fact-checks" in text) == rules
    for page in (text, card):
        assert "posts in English" in page or "Posts in English" in page
        assert ("An adjudicator decided disagreements" in page) != alone
        assert "were discussed" not in page, "no label is of a discussion"
        assert ("independently of each other" in page or "given independently" in page) != alone
    assert ("Each post has one label, so agreement cannot be computed." in card) == alone


LABELS = ("favor", "against", "neither")
QUERIES = ("title", "news_url", "fact_check_url", "keywords")


class Counted:
    """The numbers of a release, counted again from corpus.csv, the store's texts and `study.estimate()`."""

    def __init__(self, study) -> None:
        self.corpus = pd.read_csv(study.places.release / "corpus.csv", dtype={"post_id": str})
        self.rows = self.corpus.fillna({"created_at": ""}).to_dict("records")
        self.text = dict(zip(study.posts["post_id"], study.posts["text"], strict=True))
        shares = study.estimate().to_frame()
        self.shares = shares[shares["scope"] == "pool"].to_dict("records")

    def count(self, **wanted) -> int:
        return sum(all(row[name] == value for name, value in wanted.items()) for row in self.rows)

    def by_label(self, name: str, values, *, total: bool) -> list[object]:
        """A row a value of this column: the labels, and all."""
        rows = [[self.count(**{name: value, "label": label}) for label in LABELS] for value in values]
        rows += [[self.count(label=label) for label in LABELS]] * total
        return [number for row in rows for number in (*row, sum(row))]

    @property
    def sources(self) -> list[object]:
        kinds = [self.by_label("kind", [kind], total=False) for kind in QUERIES]
        links = [one + other for one, other in zip(kinds[1], kinds[2], strict=True)]
        return [*kinds[0], *links, *kinds[3], *self.by_label("kind", [], total=True)]

    @property
    def kinds(self) -> list[object]:
        wanted: list[object] = []
        for kind in (*QUERIES, "Total"):
            of = {} if kind == "Total" else {"kind": kind}
            rule = self.count(how="automatic", **of)
            wanted += self.by_label("kind", [kind] if of else [], total=not of)
            wanted += [rule, self.count(**of) - rule]
        return wanted

    @property
    def estimated(self) -> list[object]:
        reals = ("unweighted", "share", "low", "high")
        return [
            number
            for row in self.shares
            for number in (
                *(f"{row[name]:.3f}" for name in reals if not pd.isna(row[name])), row["n"],
                *([f"{row['effective_n']:.3f}"] if not pd.isna(row["effective_n"]) else []),
                *numbers_of(row["why"] or ""),
            )
        ]  # fmt: skip

    def weights(self, digits: int) -> list[object]:
        w = [1 / (row["p_claim"] * row["p_sample"]) for row in self.rows]
        effect = len(w) * sum(x * x for x in w) / sum(w) ** 2
        return [f"{value:.{digits}f}" for value in (sum(w), min(w), sum(w) / len(w), max(w), effect)]

    @property
    def months(self) -> list[object]:
        months = {row["created_at"][:7] for row in self.rows}
        return [n for month in sorted(months) for n in self._of([row for row in self.rows if row["created_at"][:7] == month])]  # fmt: skip

    @property
    def lengths(self) -> list[object]:
        wanted: list[object] = []
        for label in (*LABELS, ""):
            texts = [self.text[row["post_id"]] for row in self.rows if row["label"] == label or not label]
            for long in ([len(text.split()) for text in texts], [len(text) for text in texts]):
                quarters = statistics.quantiles(long, n=4, method="inclusive")
                spread = (statistics.mean(long), statistics.stdev(long))
                wanted += [len(long), *(f"{value:.1f}" for value in spread), min(long)]
                wanted += [*(f"{value:.1f}" for value in quarters), max(long)]
        return wanted

    @property
    def claims(self) -> list[object]:
        names = list(dict.fromkeys((row["claim_id"], row["claim"]) for row in self.rows))
        wanted: list[object] = []
        for kind in (*QUERIES, ""):
            of = {"kind": kind} if kind else {}
            sizes = [self.count(claim_id=claim, **of) for claim, _ in names]
            wanted += [
                f"{statistics.mean(sizes):.2f}",
                f"{statistics.stdev(sizes):.2f}",
                min(sizes),
                max(sizes),
            ]
            wanted += [sum(size > 0 for size in sizes)]
        for claim, text in names:
            wanted += [*numbers_of(claim), *numbers_of(text)]
            wanted += self._of([row for row in self.rows if row["claim_id"] == claim])
        return wanted

    def _of(self, rows) -> list[int]:
        return [*(sum(row["label"] == label for row in rows) for label in LABELS), len(rows)]


def test_every_number_of_the_statistics_page_is_counted_again(released) -> None:
    _, study = released
    counted, page = Counted(study), (study.places.release / "statistics.html").read_text("utf-8")
    body = page[page.index("<main") : page.index("</main>")]
    text = html.unescape(re.sub(r"<[^>]+>", " ", re.sub(r"<svg.*?</svg>", "", body, flags=re.DOTALL)))
    wanted = [
        4,
        *counted.sources,
        *counted.kinds,
        *counted.estimated,
        *counted.weights(2),
    ]  # 4: the paper's table
    wanted += [*counted.months, *counted.lengths, *counted.claims]
    assert numbers_of(text) == list(map(str, wanted))
    lead = re.search(r'<p class="lead">(.*?)</p>', page)[1]
    assert numbers_of(lead) == [str(len(counted.rows)), str(counted.corpus["claim_id"].nunique())]
    titles = " ".join(re.findall(r"<title[^>]*>([^<]*)</title>", body))
    drawn = [
        [row["share"], *([] if pd.isna(row["low"]) else [row["low"], row["high"]])] for row in counted.shares
    ]
    assert numbers_of(titles) == ["95", *(f"{value:.2f}" for row in drawn for value in row)]


def test_every_number_of_the_card_s_tables_is_counted_again(released) -> None:
    _, study = released
    counted, card = Counted(study), (study.places.release / "card.md").read_text("utf-8")

    def table(title: str) -> list[str]:
        """The numbers below this title, but for names of rows."""
        rows = card.split(f"**{title}**")[1].strip().split("\n\n")[0].split("\n")[2:]
        return [n for row in rows for n in numbers_of(row)]

    assert table("Posts by query type and label") == list(map(str, counted.kinds))
    hows = sorted(set(counted.corpus["how"]))
    assert table("Label sources") == [str(counted.count(how=how)) for how in hows]
    assert table("Estimated shares with 95% intervals") == list(map(str, counted.estimated))
    assert table("Weights") == list(map(str, counted.weights(3)))
    flow: list[object] = []
    for step in study.status().flow:
        gone = [part for reason, n in step.reasons.items() for part in (*numbers_of(reason), n)]
        flow += [step.claims, *([] if step.pairs is None else [step.pairs, step.dropped_pairs]), *gone]
    assert table("From claims to sample") == list(map(str, flow))
    rounds: list[object] = []
    for round_ in study.rounds:
        items, report = round_.items, round_.report()
        shown = int(((items["automatic_label"] == "") | items["audited"].astype(bool)).sum())
        rounds += [round_.number, items["claim_id"].nunique(), len(items), shown]
        for figure in (round_.agreement().raw, report.kappa):
            rounds += [] if figure.value is None else [f"{figure.value:.3f}"]
        ends = report.kappa.interval
        rounds += [f"{ends.low:.2f}", f"{ends.high:.2f}", 95] if ends else []
    told = [re.sub(r"\| \w+ \|$", "|", row) for row in card.split("**Rounds**")[1].strip().split("\n\n")[0].split("\n")[2:]]  # fmt: skip
    assert [number for row in told for number in numbers_of(row)] == [str(n) for n in rounds]


def test_every_number_of_the_card_is_known(released) -> None:
    """In prose, too: of the tables, the estimates, the settings or the reports."""
    _, study = released
    counted, folder = Counted(study), study.places.release
    card = (folder / "card.md").read_text("utf-8")
    known: set[str] = {"95", "1"}  # intervals' level, and what numbers a list
    tables = (counted.kinds, counted.weights(3), counted.weights(2), counted.claims, counted.lengths)
    sources = [
        [float(number) for table in tables for number in table], study.estimate().to_dict(),
        asdict(study.settings), [round_.report().to_dict() for round_ in study.rounds],
        json.loads((study.places.rounds / "summary.json").read_text("utf-8")),
        [asdict(step) for step in study.status().flow], len(study.rounds),
        [[len(round_.items), round_.items["claim_id"].nunique(), len(round_.labels)] for round_ in study.rounds],
        [counted.count(how=how) for how in set(counted.corpus["how"])], len(counted.rows),
        float((counted.corpus["how"] == "automatic").mean()),
        [float(number) for why in set(study.estimate().shares["why"]) for number in numbers_of(why)],
        [int(((of.items["automatic_label"] == "") | of.items["audited"].astype(bool)).sum()) for of in study.rounds],
    ]  # fmt: skip
    known |= {round_.number for round_ in study.rounds}
    for value in numbers_in(sources):
        known |= {f"{value:.{digits}f}" for digits in range(5)} | {
            f"{100 * value:.{digits}f}" for digits in (0, 1)
        }
        known |= {f"{value:.3g}", f"{value:.4g}"}
    told = re.sub(
        r"```.*?```|`[^`]*`|\b[0-9a-f]{12}\b|https?://\S+|\d{4}-\d\d(-\d\d)?", "", card, flags=re.DOTALL
    )
    assert [number for number in numbers_of(told) if number not in known] == []


def numbers_in(value) -> list[float]:
    if isinstance(value, bool) or value is None:
        return []
    if isinstance(value, int | float):
        return [] if pd.isna(value) else [value]
    if isinstance(value, str):
        return [float(found.replace(",", "")) for found in NUMBER.findall(value)]
    if isinstance(value, pd.DataFrame):
        value = value.to_dict("list")
    parts = value.values() if isinstance(value, dict) else value
    return [number for part in parts for number in numbers_in(part)]
