"""The agreement report as a page: the headline in words, figures, tables, and every disagreement."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from covmis_build.annotation.agreement import Figure, coefficient_rows
from covmis_build.annotation.report import between
from covmis_build.errors import counted
from covmis_build.report import figures
from covmis_build.report.page import UNDEFINED, Section, page, render, table_html
from covmis_build.stats.intervals import agreement_interval

if TYPE_CHECKING:
    from collections.abc import Sequence

    from covmis_build.annotation.report import Findings


def report_page(findings: Findings, *, title: str, study: str, remarks: Sequence[str] = ()) -> str:
    """The whole report as one HTML file."""
    numbers = findings.numbers
    sections = [
        _coefficients(numbers),
        _confusion(numbers),
        _classes(numbers),
        *_rounds(numbers),
        *_drift(numbers),
        *_groups(numbers),
        *_second_opinion(numbers),
        *_machines(numbers),
        *_time(numbers),
        *_audit(numbers),
        *_checks(numbers),
        _disagreements(findings),
    ]
    return page(
        title, sections, study=study, lead=" ".join([_lead(numbers), *remarks]), tiles=_tiles(numbers)
    )


def _lead(numbers: dict[str, Any]) -> str:
    people = len(numbers["annotators"])
    claims = f" about {numbers['claims']} claims" if numbers["claims"] else ""
    return (
        f"{counted(people, 'annotators')}, {counted(numbers['answers'], 'labels')} on {counted(numbers['items'], 'posts')}{claims}; "
        f"labelled by two or more: {numbers['items_with_two_labels']:,}."
    )


def _value(figure: dict[str, Any] | None, digits: int = 2) -> str:
    return UNDEFINED if not figure or figure["value"] is None else f"{figure['value']:.{digits}f}"


def _tiles(numbers: dict[str, Any]) -> list[tuple[str, str, str]]:
    kappa = numbers["kappa"]
    small = _interval(kappa) + (f": {kappa['words']}" if kappa["words"] else "")
    return [
        (kappa["name"], _value(kappa), small if _interval(kappa) else kappa["why"]),
        ("Raw agreement", _value(numbers["raw_agreement"]), _interval(numbers["raw_agreement"])),
        ("Krippendorff's α", _value(numbers["alpha"]["nominal"]), _interval(numbers["alpha"]["nominal"])),
        ("Gwet's AC1", _value(numbers["ac1"]), _interval(numbers["ac1"])),
    ]


def _interval(figure: dict[str, Any]) -> str:
    """The interval to read first, with what it is over."""
    return str(agreement_interval(figure) or "")


def _frame(rows: Sequence[dict[str, Any]], names: dict[str, str]) -> Markup:
    import pandas as pd

    return table_html(pd.DataFrame(rows, columns=list(names), dtype=object), names=names, headings=1)


def _coefficients(numbers: dict[str, Any]) -> Section:
    rows = [
        {
            "name": figure["name"],
            "value": figure["value"],
            "items": between(figure["low"], figure["high"]),
            "claims": between(figure["low_by_claims"], figure["high_by_claims"]),
            "words": figure["words"],
        }
        for figure in coefficient_rows(numbers)
    ]
    figures_told = [Figure.of(figure) for figure in coefficient_rows(numbers)]
    shown = [
        (figure.name, figure.value, figure.interval.low if figure.interval else None,
         figure.interval.high if figure.interval else None)
        for figure in figures_told if figure.value is not None
    ]  # fmt: skip
    names = {
        "name": "Coefficient", "value": "Value", "items": "95% interval over items",
        "claims": "95% interval over claims", "words": "In Landis and Koch's words",
    }  # fmt: skip
    limit = numbers["kappa_max"]
    prose = "\n\n".join(numbers["notes"])
    if limit is not None:
        prose += f"\n\nThe greatest kappa that these people's use of the labels allows is {limit:.3f}."
    return Section(
        "How far people agree",
        prose=prose,
        body=_frame(rows, names),
        figures=[
            figures.forest(
                shown,
                alt="; ".join(f"{name} {value:.3f}" for name, value, *_ in shown),
                unit="coefficient, with its 95% interval (over claims where there are enough)",
            )
        ]
        if shown
        else [],
    )


def _confusion(numbers: dict[str, Any]) -> Section:
    drawn, rows = [], []
    for pair in numbers["pairs"]:
        if not pair["items"]:
            continue
        cells = "; ".join(
            f"{pair['first']} {first}, {pair['second']} {second}: {count}"
            for first, line in zip(numbers["labels"], pair["table"], strict=True)
            for second, count in zip(numbers["labels"], line, strict=True)
        )
        drawn.append(
            figures.heat(
                pair["table"], numbers["labels"], numbers["labels"], alt=cells,
                row_title=pair["first"], column_title=pair["second"],
            )
        )  # fmt: skip
        rows.append(
            {
                "pair": f"{pair['first']} and {pair['second']}",
                "items": pair["items"],
                "raw": pair["raw_agreement"],
                "kappa": pair["kappa"]["value"],
                "interval": between(pair["kappa"]["low"], pair["kappa"]["high"]),
                "bowker": pair["bowker"]["p"] if pair["bowker"] else None,
                "maxwell": pair["stuart_maxwell"]["p"] if pair["stuart_maxwell"] else None,
            }
        )
    names = {
        "pair": "Pair", "items": "Posts", "raw": "Raw agreement", "kappa": "Cohen's κ", "interval": "95% interval",
        "bowker": "Bowker's p", "maxwell": "Stuart and Maxwell's p",
    }  # fmt: skip
    prose = (
        "Each cell counts the posts that one person gave the row's label and the other the column's. Bowker tests "
        "whether the confusions go both ways alike; Stuart and Maxwell test whether both use each label equally often."
        if rows
        else "No two people have labelled the same post."
    )
    return Section(
        "Who confuses what", prose=prose, body=_frame(rows, names) if rows else Markup(""), figures=drawn
    )


def _classes(numbers: dict[str, Any]) -> Section:
    names = {
        "label": "Label", "given": "Given", "positive_agreement": "Positive agreement", "kappa": "κ against the rest",
        "prevalence_index": "Prevalence index", "bias_index": "Bias index",
    }  # fmt: skip
    return Section(
        "Label by label",
        prose="Positive agreement: of all times this label was given, the part in which the other person gave it too. "
        "A prevalence index far from 0 lowers kappa without lowering agreement; a bias index far from 0 says that one "
        "person uses the label more.",
        body=_frame(numbers["classes"], names),
    )


def _rounds(numbers: dict[str, Any]) -> list[Section]:
    rows = numbers["rounds"]
    if len(rows) < 2:
        return []
    drawn = figures.course(
        [round_["round"] for round_ in rows],
        {"kappa": [round_["value"] for round_ in rows]},
        bands={"kappa": ([round_["low"] for round_ in rows], [round_["high"] for round_ in rows])},
        alt="; ".join(
            f"round {round_['round']}: {round_['value']:.3f}"
            for round_ in rows
            if round_["value"] is not None
        ),
        unit="κ, with its 95% interval",
    )
    shown = [{**round_, "interval": between(round_["low"], round_["high"])} for round_ in rows]
    names = {
        "round": "Round", "items_with_two_labels": "Posts", "raw_agreement": "Raw agreement", "value": "κ",
        "interval": "95% interval", "words": "In words",
    }  # fmt: skip
    test = numbers["homogeneity"]
    prose = f"The rounds' common kappa is {test['common_kappa']:.3f}." if test else ""
    return [Section("Round by round", prose=prose, body=_frame(shown, names), figures=[drawn])]


def _drift(numbers: dict[str, Any]) -> list[Section]:
    if not numbers["drift"]:
        return []
    rows = [
        {
            "annotator": shift["annotator"],
            "label": shift["label"],
            **{
                part["round"]: "" if part["difference"] is None else f"{100 * part['difference']:+.0f}"
                for part in shift["rounds"]
            },
            "p": shift["p"],
        }
        for shift in numbers["drift"]
    ]
    rounds = [part["round"] for part in numbers["drift"][0]["rounds"]]
    names = {
        "annotator": "Annotator",
        "label": "Label",
        **{round_: f"Round {round_}" for round_ in rounds},
        "p": "p",
    }
    return [
        Section(
            "Drift",
            prose="How many percentage points more often somebody gives a label than the others do on the same posts. "
            "A small p says that this changed from round to round.",
            body=_frame(rows, names),
        )
    ]


def _groups(numbers: dict[str, Any]) -> list[Section]:
    sections = []
    for column, title in (("kind", "By kind of query"), ("claim", "By claim")):
        rows = [
            {**group, "interval": between(group["low"], group["high"])} for group in numbers[f"by_{column}"]
        ]
        names = {
            column: column.capitalize(), "items_with_two_labels": "Posts", "raw_agreement": "Raw agreement",
            "value": "κ", "interval": "95% interval",
        }  # fmt: skip
        if rows:
            sections.append(Section(title, body=_frame(rows, names)))
    return sections


def _second_opinion(numbers: dict[str, Any]) -> list[Section]:
    second = numbers["dawid_skene"]
    if not second:
        return []
    doubted = ", ".join(f"{doubt['item']}: {doubt['label']}" for doubt in second["against_most"])
    prose = (
        "Dawid and Skene's model estimates how often each person is right, and from that the likely label of each "
        "post. It is a check: gold does not come from it."
    )
    prose += f"\n\nPosts where it prefers another label than most people: {doubted or 'none'}."
    names = {"annotator": "Annotator", "estimated_accuracy": "Estimated share of right labels"}
    return [Section("A second opinion", prose=prose, body=_frame(second["annotators"], names))]


def _machines(numbers: dict[str, Any]) -> list[Section]:
    rows = numbers.get("machines")
    if not rows:
        return []
    names = {
        "machine": "Machine", "labels": "Its labels", "person": "Person", "posts": "Posts that both have",
        "same": "Labelled alike", "kappa": "κ",
    }  # fmt: skip
    prose = "Admitted by `covmis model admit`. All other figures of this page are about people alone."
    return [Section("Machines among the annotators", prose=prose, body=_frame(rows, names))]


def _time(numbers: dict[str, Any]) -> list[Section]:
    names = {
        "annotator": "Annotator", "timed": "Timed labels", "median_seconds": "Median seconds",
        "quarter_below": "A quarter took less than", "quarter_above": "A quarter took more than",
    }  # fmt: skip
    return [Section("Time per post", body=_frame(numbers["time"], names))] if numbers["time"] else []


def _audit(numbers: dict[str, Any]) -> list[Section]:
    audit = numbers.get("audit")
    if not audit:
        return []
    told = (
        f"Posts with an automatic label that were shown to people, who could not tell: {audit['items']}. "
        + (
            f"{audit['contradict']} of their {audit['labels']} labels contradict the rule: an error rate of "
            f"{100 * audit['error_rate']:.1f}% (95% interval over {audit['posts']} posts "
            f"{100 * audit['low']:.1f}% to {100 * audit['high']:.1f}%)."
            if audit["labels"]
            else "Nobody has labelled them yet."
        )
    )
    return [Section("Audit of the automatic labels", prose=told)]


def _checks(numbers: dict[str, Any]) -> list[Section]:
    checks = numbers.get("checks")
    if not checks:
        return []
    names = {
        "annotator": "Annotator", "label": "Known label", "posts": "Posts", "right": "Right", "share": "Share",
        "low": "At least", "high": "At most",
    }  # fmt: skip
    rows = [row | {"label": row["label"] or "all"} for row in checks["accuracies"]]
    again = {
        "annotator": "Annotator", "posts": "Posts labelled again", "same": "The same label", "share": "Share",
        "low": "At least", "high": "At most", "days": "Median days between",
    }  # fmt: skip
    hidden = counted(checks["posts"], "posts")
    told = (
        f"{hidden} with a label that several people stand behind were hidden among the others; those whom it was "
        "known from may be among the annotators. Intervals are Wilson's, over posts. Nothing of this counts for agreement."
    )
    sections = [Section("Checks", prose=told, body=_frame(rows, names) if rows else Markup(""))]
    if checks["repeats"]:
        sections.append(Section("The same person again", body=_frame(checks["repeats"], again)))
    return sections


def _disagreements(findings: Findings) -> Section:
    listed = Markup(render("disagreements.html", rows=findings.disagreements))  # noqa: S704 - the template escapes
    count = len(findings.disagreements)
    prose = f"Posts: {count}. Each with everybody's label and comment." if count else "There is none."
    return Section("Every disagreement", prose=prose, body=listed)
