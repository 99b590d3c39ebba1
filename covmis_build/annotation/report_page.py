"""The agreement report as a page: headline, figures, tables, and all disagreements."""

from __future__ import annotations

from typing import TYPE_CHECKING

from markupsafe import Markup

from covmis_build.annotation.report import cases_html
from covmis_build.errors import counted
from covmis_build.report import figures
from covmis_build.report.page import UNDEFINED, Section, page, render, rows_html
from covmis_build.stats.intervals import between, in_percent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from covmis_build.annotation.agreement import Agreement, PairAgreement, SecondOpinion
    from covmis_build.annotation.checks import Checked
    from covmis_build.annotation.drift import Drift, TimePerItem
    from covmis_build.annotation.group_agreement import GroupAgreement
    from covmis_build.annotation.machines import BesidePerson
    from covmis_build.annotation.next_decision import NextDecision
    from covmis_build.annotation.report import Audit, Findings, SubLabelAgreement
    from covmis_build.stats.agreement import Figure

INTERVAL = "95% interval over items"
TWO_INTERVALS = "An interval over items is for other posts of these claims; an interval over claims is for other claims like these."


def report_page(
    findings: Findings, sections: Sequence[Section], *, title: str, study: str, remarks: Sequence[str] = ()
) -> str:
    """Render the report as one HTML file with these sections."""
    compared = findings.agreement
    return page(
        title, sections, study=study, lead=" ".join([_lead(compared), *remarks]), tiles=_tiles(compared)
    )


def sections_of(findings: Findings) -> list[Section]:
    """Return the sections below the headline."""
    compared = findings.agreement
    return [
        *_next_decision(findings.next_decision, findings.claims),
        _coefficients(compared, findings.notes),
        _confusion(compared),
        _classes(compared),
        *_sub_labels(findings.sub_labels),
        *_rounds(compared),
        *_drift(compared.drift),
        *_groups("By query type", "Query type", compared.by_kind, {}),
        *_groups("By claim", "Claim", compared.by_claim, findings.claims),
        *_second_opinion(compared.dawid_skene),
        *_machines(findings.machines),
        *_time(compared.time),
        *_audit(findings.audit),
        *_checks(findings.checks),
        _disagreements(findings),
    ]


def _lead(compared: Agreement) -> str:
    people = len(compared.annotators)
    claims = f" about {compared.claims} claims" if compared.claims else ""
    return (
        f"{counted(people, 'annotators')} gave {counted(compared.answers, 'labels')} to {counted(compared.items, 'posts')}{claims}. "
        f"Posts with labels of two or more annotators: {compared.items_with_two_labels:,}."
    )


def _tiles(compared: Agreement) -> list[tuple[str, str, str]]:
    kappa = compared.kappa
    headline = (kappa.interval and ": ".join(filter(None, [str(kappa.interval), kappa.words]))) or kappa.why
    others = (
        ("Raw agreement", compared.raw),
        ("Krippendorff's α", compared.alpha["nominal"]),
        ("Gwet's AC1", compared.ac1),
    )
    return [
        (kappa.name, _value(kappa), headline),
        *((name, _value(figure), str(figure.interval or "")) for name, figure in others),
    ]


def _value(figure: Figure) -> str:
    return UNDEFINED if figure.value is None else f"{figure.value:.2f}"


def _coefficients(compared: Agreement, notes: Sequence[str]) -> Section:
    columns = (
        "Coefficient",
        "Value",
        "95% interval over items",
        "95% interval over claims",
        "In Landis and Koch's words",
    )
    shown = [
        (figure.name, figure.value, *((each.low, each.high) if (each := figure.interval) else (None, None)))
        for figure in compared.figures
        if figure.value is not None
    ]
    prose = "\n\n".join([*notes, TWO_INTERVALS])
    if compared.kappa_max is not None:
        prose += f"\n\nGiven how often each annotator used each label, kappa cannot exceed {compared.kappa_max:.3f}."
    forest = (
        [
            figures.forest(
                shown,
                alt="; ".join(f"{name} {value:.3f}" for name, value, *_ in shown),
                unit="coefficient, with its 95% interval (over claims if there are enough)",
            )
        ]
        if shown
        else []
    )
    return Section("Agreement", prose=prose, body=rows_html(columns, compared.printed), figures=forest)


def _next_decision(ahead: NextDecision | None, texts: Mapping[str, str]) -> list[Section]:
    """Return what to decide before the next batch, with its evidence."""
    if not ahead:
        return []
    silent = "Nothing stands out: no person, rule or target asks for a decision."
    sections = [Section("The next decision", prose="\n\n".join(ahead.sentences) or silent)]
    if ahead.people:
        sections.append(
            Section(
                "Each person compared with the others", prose=OF_PEOPLE, body=rows_html(*ahead.people_table)
            )
        )
    if ahead.rules:
        classes = list(dict.fromkeys(name for tally in ahead.rules for name in tally.classes))
        rows = [
            (
                tally.pair,
                tally.posts,
                *(tally.classes.get(name, 0) for name in classes),
                _listed({f"rule {number}:": times for number, times in tally.rules.items()}),
                _listed(dict(list(tally.claims.items())[:3])),
                ", ".join(tally.examples),
            )
            for tally in ahead.rules
        ]
        columns = ("Labels", "Posts", *classes, "Rules that reasons name", "Claims with most", "Examples")
        prose = (
            "Posts with different labels, by the error class that was decided; (none): decided without one."
        )
        sections.append(Section("Rules", prose=prose, body=rows_html(columns, rows)))
    if ahead.claims:
        unclear = any(claim.unclear for claim in ahead.claims)
        ranked = [
            (
                ": ".join(filter(None, [claim.claim, texts.get(claim.claim, "")])),
                claim.posts,
                claim.differing,
                claim.share,
                between(claim.low, claim.high),
                *([claim.unclear] if unclear else []),
            )
            for claim in ahead.claims
        ]
        columns = (
            "Claim",
            "Posts",
            "With different labels",
            "Share, shrunken",
            "95% interval",
            *(["Called unclear"] if unclear else []),
        )
        prose = "Shares of few posts are pulled towards all claims' share, so that the first is not just the smallest."
        sections.append(Section("Claims by disagreement", prose=prose, body=rows_html(columns, ranked)))
    return sections


OF_PEOPLE = (
    "Agreement: the mean share of the others' labels of the same posts that are the same, and what it would be by chance. Halves: the "
    "same in the first and second half of the work. Exchanged: agreement if two labels were exchanged, where that is higher. "
    "Who stands out is first; where all work alike, somebody stands out in at most one of twenty rounds. Of two people, only "
    "long runs of one label and speed can name one."
)


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items())


DRAWN = 6
"""Maximum number of annotators for a confusion matrix per pair; above it, pairs are one table."""
FEWEST_OF_PAIR = 10
"""Posts that a pair of many people needs for its kappa to be shown."""


def _confusion(compared: Agreement) -> Section:
    pairs = [pair for pair in compared.pairs if pair.items]
    if not pairs:
        return Section("Confusions between annotators", prose="No post has labels of two annotators.")
    rows = [
        (
            f"{pair.first} and {pair.second}",
            pair.items,
            pair.raw_agreement,
            pair.kappa.value,
            between(pair.kappa.low, pair.kappa.high),
            pair.bowker and pair.bowker.p,
            pair.stuart_maxwell and pair.stuart_maxwell.p,
        )
        for pair in pairs
    ]
    tests = ("Bowker's p", "Stuart and Maxwell's p")
    columns = ("Pair", "Posts", "Raw agreement", "Cohen's κ", INTERVAL, *tests)
    told = (
        "A small p of Bowker's test means that confusions go more often in one direction. A small p of the "
        "Stuart–Maxwell test means that the annotators use the labels with different frequency."
    )
    body = rows_html(columns, rows, p_values=tests)
    if len(compared.annotators) > DRAWN:
        few = f"Cells of pairs with fewer than {FEWEST_OF_PAIR} posts are empty; the number of posts stands below each κ."
        return Section("Agreement between annotators", prose=few, body=_kappas(pairs, compared.annotators))
    cells = "Rows: label of one annotator; columns: label of the other. "
    return Section(
        "Confusions between annotators",
        prose=cells + told,
        body=body,
        figures=[_heat(pair, compared) for pair in pairs],
    )


def _heat(pair: PairAgreement, compared: Agreement) -> Markup:
    told = "; ".join(
        f"{pair.first} {first}, {pair.second} {second}: {count}"
        for first, line in zip(compared.labels, pair.table, strict=True)
        for second, count in zip(compared.labels, line, strict=True)
    )
    return figures.heat(
        pair.table, compared.labels, compared.labels, alt=told, row_title=pair.first, column_title=pair.second
    )


def _kappas(pairs: Sequence[PairAgreement], people: Sequence[str]) -> Markup:
    """Return the matrix of Cohen's kappas of all pairs, darker for higher values, with the numbers of posts."""
    values = {
        (pair.first, pair.second): (pair.kappa.value, pair.items)
        for pair in pairs
        if pair.items >= FEWEST_OF_PAIR and pair.kappa.value is not None
    }
    rows = [(one, [values.get((one, other), values.get((other, one))) for other in people]) for one in people]
    return Markup(render("pairs.html", names=people, rows=rows, caption="Cohen's κ of each pair"))  # noqa: S704 - escaped by the template


def _classes(compared: Agreement) -> Section:
    columns = ("Label", "Given", "Positive agreement", "κ against the rest", "Prevalence index", "Bias index")
    rows = [
        (each.label, each.given, each.positive_agreement, each.kappa, each.prevalence_index, each.bias_index)
        for each in compared.classes
    ]
    return Section(
        "Agreement per label",
        prose="Positive agreement: the probability that the second annotator gives the label if the first did. If the prevalence index "
        "is far from 0, kappa is low even if annotators agree. If the bias index is far from 0, one annotator uses the label "
        "more often.",
        body=rows_html(columns, rows),
    )


def _sub_labels(compared: Sequence[SubLabelAgreement]) -> list[Section]:
    if not compared:
        return []
    columns = ("Label", "Posts", "Raw agreement", "κ", INTERVAL, "In words")
    rows = [
        (
            each.label,
            each.posts,
            each.raw.value,
            each.kappa.value,
            between(each.kappa.low, each.kappa.high),
            each.kappa.why or each.kappa.words,
        )
        for each in compared
    ]
    prose = "Among the posts to which two annotators or more gave the label and one of its sub-labels."
    return [Section("Agreement on sub-labels", prose=prose, body=rows_html(columns, rows))]


def _rounds(compared: Agreement) -> list[Section]:
    rounds = compared.rounds
    if len(rounds) < 2:
        return []
    drawn = figures.course(
        [each.round for each in rounds],
        {"kappa": [each.value for each in rounds]},
        bands={"kappa": ([each.low for each in rounds], [each.high for each in rounds])},
        alt="; ".join(f"round {each.round}: {each.value:.3f}" for each in rounds if each.value is not None),
        unit="κ, with its 95% interval over items",
    )
    columns = ("Round", "Posts", "Raw agreement", "κ", INTERVAL, "In words")
    rows = [
        (
            each.round,
            each.items_with_two_labels,
            each.raw_agreement,
            each.value,
            between(each.low, each.high),
            each.words,
        )
        for each in rounds
    ]
    test = compared.homogeneity
    prose = f"The rounds' common kappa is {test.common_kappa:.3f}." if test else ""
    return [Section("Round by round", prose=prose, body=rows_html(columns, rows), figures=[drawn])]


def _drift(drifts: Sequence[Drift]) -> list[Section]:
    if not drifts:
        return []
    rows = [
        (
            each.annotator,
            each.label,
            *("" if part.difference is None else f"{100 * part.difference:+.0f}" for part in each.rounds),
            each.p,
        )
        for each in drifts
    ]
    columns = ("Annotator", "Label", *(f"Round {part.round}" for part in drifts[0].rounds), "p")
    prose = (
        "Percentage points by which an annotator gives a label more often than the others on the same posts. "
        "A small p means that this changed between rounds."
    )
    return [Section("Drift", prose=prose, body=rows_html(columns, rows, p_values=("p",)))]


def _groups(
    title: str, column: str, groups: Sequence[GroupAgreement], texts: Mapping[str, str]
) -> list[Section]:
    columns = (column, "Posts", "Raw agreement", "κ", INTERVAL)
    rows = [
        (
            ": ".join(filter(None, [group.name, texts.get(group.name, "")])),
            group.items_with_two_labels,
            group.raw_agreement,
            group.value,
            between(group.low, group.high) or "too few posts or labels",
        )
        for group in groups
    ]
    return [Section(title, body=rows_html(columns, rows))] if rows else []


def _second_opinion(second: SecondOpinion | None) -> list[Section]:
    if not second:
        return []
    doubted = ", ".join(f"{doubt.item}: {doubt.label}" for doubt in second.against_most)
    prose = (
        "Dawid and Skene's model estimates each annotator's accuracy and each post's most likely label. "
        "Gold labels never use it."
        f"\n\nPosts where its label is not the majority's: {doubted or 'none'}."
    )
    rows = [(each.annotator, each.estimated_accuracy) for each in second.annotators]
    body = rows_html(("Annotator", "Estimated accuracy"), rows)
    return [Section("Check by a model", prose=prose, body=body)]


def _machines(machines: Sequence[BesidePerson]) -> list[Section]:
    if not machines:
        return []
    columns = ("Model", "Labels", "Annotator", "Posts labelled by both", "Same label", "κ")
    rows = [(row.machine, row.labels, row.person, row.posts, row.same, row.kappa) for row in machines]
    prose = (
        "`covmis model admit` admitted these models. All other numbers on this page are for annotators only."
    )
    return [Section("Models among the annotators", prose=prose, body=rows_html(columns, rows))]


def _time(times: Sequence[TimePerItem]) -> list[Section]:
    columns = (
        "Annotator",
        "Timed labels",
        "Median seconds",
        "A quarter took less than",
        "A quarter took more than",
    )
    rows = [
        (each.annotator, each.timed, each.median_seconds, each.quarter_below, each.quarter_above)
        for each in times
    ]
    return [Section("Time per post", body=rows_html(columns, rows))] if rows else []


def _audit(audit: Audit | None) -> list[Section]:
    if not audit:
        return []
    told = f"Posts with an automatic label that annotators checked without knowing it: {audit.items}. "
    if audit.error_rate is None:
        told += "They have no labels yet."
    else:
        told += (
            f"{audit.contradict} of their {audit.labels} labels differ from the automatic label: error rate "
            f"{100 * audit.error_rate:.1f}% ({in_percent(audit.low, audit.high, 1)} over "
            f"{counted(audit.posts, 'posts')})."
        )
    return [Section("Audit of the automatic labels", prose=told)]


def _checks(checks: Checked | None) -> list[Section]:
    if not checks:
        return []
    columns = ("Annotator", "Known label", "Posts", "Right", "Share", "At least", "At most")
    rows = [
        (row.annotator, row.label or "all", row.posts, row.right, row.share, row.low, row.high)
        for row in checks.accuracies
    ]
    told = (
        f"{counted(checks.posts, 'posts')} with a known label were hidden among the others; the people who gave it may be "
        "among the annotators. Wilson intervals over posts. These labels are excluded from agreement."
    )
    sections = [Section("Checks", prose=told, body=rows_html(columns, rows) if rows else Markup(""))]
    if checks.repeats:
        columns = (
            "Annotator",
            "Posts labelled again",
            "The same label",
            "Share",
            "At least",
            "At most",
            "Median days between",
        )
        again = [
            (row.annotator, row.posts, row.same, row.share, row.low, row.high, row.days)
            for row in checks.repeats
        ]
        sections.append(Section("Posts labelled twice by the same annotator", body=rows_html(columns, again)))
    return sections


def _disagreements(findings: Findings) -> Section:
    single = sum(case.alone for case in findings.disagreements)
    differ = counted(len(findings.disagreements) - single, "posts")
    more = f", and {counted(single, 'posts')} with only one label" if single else ""
    prose = (
        f"{differ} with all their labels and comments{more}." if findings.disagreements else "There are none."
    )
    return Section("Disagreements", prose=prose, body=cases_html(findings.disagreements))
