"""`covmis sample`: the draw per claim and kind, and what another one would cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from covmis_build.cli.console import JsonOption, StudyOption, emit_json, grid, say
from covmis_build.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from covmis_build.sampling.draw import Sampled
    from covmis_build.sampling.plan import Cost
    from covmis_build.study import Study

TARGETS = "12,24,36,48,96"


def sample(
    plan: Annotated[
        bool, typer.Option("--plan", help="Also: hours and interval widths of smaller and bigger samples.")
    ] = False,
    targets: Annotated[str, typer.Option(metavar="N,N", help="The targets per claim to plan for.")] = TARGETS,
    seconds: Annotated[
        float, typer.Option(min=0, help="Seconds a label takes (default: as in the rounds so far).")
    ] = 0.0,
    share: Annotated[
        float, typer.Option(min=0.01, max=0.99, help="The share that widths are planned for.")
    ] = 0.5,
    study: StudyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show per claim and kind how many posts there are, their probability, and how many are expected and drawn.

    The draw shown is that of the study's present items, settings and opened rounds; `covmis run` makes it.

    Example: covmis sample --plan
    """
    if not plan and (targets, seconds, share) != (TARGETS, 0.0, 0.5):
        raise InputError("--targets, --seconds and --share are for a plan", remedy="Add --plan")
    from covmis_build.sampling.draw import sample as draw
    from covmis_build.stages import strata_of
    from covmis_build.study import open_study

    opened = open_study(study)
    items = _items(opened)
    strata_of_items = strata_of(opened, items)
    drawn = draw(
        items, _frozen(opened), opened.sampling, opened.labels,
        seed=opened.seed, audit=opened.annotation.audit, strata=strata_of_items,
    )  # fmt: skip
    strata = drawn.expected.rename(columns={"N": "posts"})
    result: dict[str, Any] = {"strata": strata, "items": len(items), "drawn": len(drawn.sample)}
    cost = _cost(opened, seconds) if plan else None
    if cost:
        from covmis_build.sampling.plan import costs

        table = costs(
            items, opened.sampling, opened.labels, opened.annotation, strata=strata_of_items,
            seconds=cost.seconds, targets=_numbers(targets), share=share,
        )  # fmt: skip
        result |= {"plans": table, "seconds_per_label": cost.seconds, "labels_timed": cost.labels}
    if as_json:
        return emit_json(result)
    _print_strata(drawn, opened.sampling.per_claim)
    if cost:
        _print_plans(table, cost, opened, share)
    return None


def _items(study: Study) -> pd.DataFrame:
    from covmis_build import storage

    path = study.table("items")
    if not path.is_file():
        raise InputError("there are no cleaned posts yet", file=path, remedy="Run `covmis run` first")
    return storage.read_table(path, "items")


def _frozen(study: Study) -> pd.DataFrame:
    from covmis_build.annotation.rounds import frozen_items

    return frozen_items(study.rounds)


def _cost(study: Study, seconds: float) -> Cost:
    import pandas as pd

    from covmis_build import storage, tables
    from covmis_build.sampling.plan import Cost, seconds_per_label

    if seconds:
        return Cost(seconds, 0)
    files = sorted(study.rounds.glob("[0-9][0-9][0-9]/labels.parquet"))
    parts = [storage.read_table(path, "labels") for path in files]
    return seconds_per_label(pd.concat(parts) if parts else tables.empty("labels"))


def _numbers(text: str) -> list[int]:
    try:
        numbers = [int(one) for one in text.split(",") if one.strip()]
    except ValueError:
        numbers = [0]
    if not numbers or min(numbers) < 1:
        raise InputError(f"--targets {text} is not a list of numbers", remedy="Write it like 12,24,48")
    return numbers


def _print_strata(drawn: Sampled, per_claim: int) -> None:
    expected = drawn.expected
    columns = ["claim_id", "stratum", "N", "probability", "expected", "drawn", "frozen"]
    grid(expected[columns].itertuples(index=False), ["claim", "kind", *columns[2:]])
    total = expected[["N", "expected", "variance", "drawn"]].sum()
    say(
        "",
        f"{expected['claim_id'].nunique()} claims, {int(total['N']):,} posts; {total['expected']:,.0f} expected "
        f"(standard deviation {_deviation(drawn):.1f}), {int(total['drawn']):,} drawn.",
    )
    wanted = expected.groupby("claim_id")["expected"].sum()
    if over := int((wanted > per_claim + 1e-9).sum()):
        say(
            f"In {over} claims the quotas alone ask for more than per_claim = {per_claim}, up to {wanted.max():.0f}: "
            "they win. Lower [sampling] per_kind for fewer."
        )


def _deviation(drawn: Sampled) -> float:
    """The standard deviation of the whole sample's size; a fixed-size claim's strata vary, the claim does not."""
    made = drawn.sample
    fixed = made.loc[made["design"] == "two_phase", "claim_id"]
    free = ~drawn.expected["claim_id"].isin(fixed)
    return float(drawn.expected.loc[free, "variance"].sum() ** 0.5)


def _print_plans(table: pd.DataFrame, cost: Cost, study: Study, share: float) -> None:
    shown = table.assign(
        half_width_pool=100 * table["half_width_pool"], half_width_claim=100 * table["half_width_claim"]
    )
    columns = {
        "per_claim": "per claim", "items": "items", "by_people": "by people", "hours": "hours",
        "half_width_pool": "± pool (points)", "half_width_claim": "± claim (points)", "audited": "audited",
        "audit_bound": "error rate below",
    }  # fmt: skip
    say("")
    grid(shown[list(columns)].itertuples(index=False), list(columns.values()))
    say("")
    if cost.seconds is None:
        say(
            "No label so far says how long it took, so hours are unknown: name the seconds a label takes with --seconds."
        )
    else:
        of = f"the mean of {cost.labels:,} labels" if cost.labels else "as given"
        say(f"Hours: {study.annotation.per_item} people an item, {cost.seconds:.0f} seconds a label ({of}).")
    say(
        f"± is the half-width of a 95% interval for a label that has a share of {share:.0%}: in the whole pool, and "
        "in the median claim. The last column is the error rate of automatic labels that an audit of this size "
        "leaves possible if it finds no error."
    )
