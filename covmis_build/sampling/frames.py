"""`sample`: the paper's sampling for any table with items, claims and kinds, without a study."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Literal

from covmis_build.errors import InputError, nearest
from covmis_build.sampling.designs import design_of
from covmis_build.sampling.inclusion import allocate
from covmis_build.tables import frame_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd


def sample(
    given: Any,
    *,
    id: str = "item_id",  # noqa: A002 - the column's name, as everywhere
    claim: str = "claim_id",
    kind: str = "kind",
    per_claim: int = 24,
    per_kind: int | Mapping[str, int] = 6,
    design: Literal["poisson", "two_phase"] = "poisson",
    seed: int,
) -> pd.DataFrame:
    """Return the frame (or columns, or rows) with `p_sample`, each row's probability, and `drawn` (COVMis-Stance, appendix A.3).

    The targets per claim are `per_kind` rows of each kind and `per_claim` in total. Random numbers belong to ids: new rows change
    the draw only as far as they change probabilities, and the order of rows does not matter.

    >>> import pandas as pd
    >>> rows = pd.DataFrame({"item_id": ["a", "b"], "claim_id": ["1", "1"], "kind": ["title", "keywords"]})
    >>> sample(rows, seed=7)[["p_sample", "drawn"]].values.tolist()
    [[1.0, True], [1.0, True]]
    """
    rule = design_of(design)
    frame = frame_of(given)
    for name in (id, claim, kind):
        if name not in frame.columns:
            raise InputError(
                f"the frame has no column '{name}'", remedy=nearest(name, map(str, frame.columns))
            )
        if (empty := frame[name].isna() | (frame[name] == "")).any():
            raise InputError(f"the column '{name}' is empty", row=int(empty.to_numpy().argmax()) + 1)
    items = frame[id].astype(str)
    if (again := items.duplicated()).any():
        raise InputError(
            f"the column '{id}' has {items[again].iloc[0]} twice", remedy="Keep one row per item"
        )
    kinds = dict(zip(items, frame[kind].astype(str), strict=True))
    chances: dict[str, float] = {}
    drawn: set[str] = set()
    for _, ids in items.groupby(frame[claim].astype(str).to_numpy()):
        kind_of = {item: kinds[item] for item in ids}
        allocation = allocate(Counter(kind_of.values()), per_kind, per_claim)
        chances |= {item: float(allocation.chance(name)) for item, name in kind_of.items()}
        drawn |= rule.draw(kind_of, allocation, seed=seed)
    return frame.assign(p_sample=[chances[item] for item in items], drawn=[item in drawn for item in items])
