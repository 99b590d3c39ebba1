"""Other label schemes: four unordered labels, three ordered ones with three annotators; gold; the form; guidelines."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest

from covmis_build import tables
from covmis_build.annotation import round_folder as record
from covmis_build.annotation.answers import Answer
from covmis_build.annotation.assignment import assignment
from covmis_build.annotation.channels.label_studio.client import TITLE, project_title
from covmis_build.annotation.channels.label_studio.label_config import (
    MARK,
    check_config,
    label_config,
    study_config,
)
from covmis_build.annotation.final_labels import decide
from covmis_build.annotation.frozen_items import freeze
from covmis_build.annotation.seal import Contents, seal, verify
from covmis_build.annotation.sendings import Sending
from covmis_build.errors import InputError
from covmis_build.options import Annotation, Labels
from tests.annotation import small
from tests.annotation.small import as_if_run, covmis, fill, rows_of, sampled, study

if TYPE_CHECKING:
    import pandas as pd

FOUR = '[labels]\nvalues = ["for", "against", "asks", "other"]\nautomatic = {}\n'
THREE = (
    'annotators = ["p", "q", "r"]\nper_item = 3\n'
    '[labels]\nvalues = ["low", "middle", "high"]\norder = ["low", "middle", "high"]\nautomatic = {}\n'
)


def manual(folder):
    """No automatic labels: every item is for people."""
    from covmis_build import storage

    path = folder / "data" / "build" / "sample.parquet"
    frame = storage.read_table(path, "sample")
    storage.write_table(path, frame.assign(automatic_label="", audited=False), "sample")
    as_if_run(folder)


def test_four_unordered_labels(tmp_path):
    folder = study(tmp_path, settings=FOUR)
    manual(folder)
    covmis(folder, "round", "open")
    covmis(folder, "round", "push")
    sheets = folder / "annotation" / "rounds" / "001" / "sheets"
    for who in ("a1", "a2"):
        fill(
            sheets / f"{who}.csv",
            lambda row: ("for", "against", "asks", "other")[int(row["item_id"][-1]) % 4],
        )
    assert covmis(folder, "round", "pull")["added"] == 24
    found = covmis(folder, "round", "report")["round"]
    assert found["labels"] == ["for", "against", "asks", "other"]
    assert found["kappa"]["value"] == 1
    assert found["weighted_kappa"] is None
    covmis(folder, "round", "seal")


def test_three_ordered_labels_and_three_annotators(tmp_path):
    folder = study(tmp_path, settings=THREE)
    manual(folder)
    covmis(folder, "round", "open")
    covmis(folder, "round", "push")
    sheets = folder / "annotation" / "rounds" / "001" / "sheets"
    scheme = ("low", "middle", "high")
    for at, who in enumerate(("p", "q", "r")):

        def said(row, at=at):
            number = int(row["item_id"][-1])
            return scheme[(number + at * (number == 4) + (at == 2) * (number == 5)) % 3]

        fill(sheets / f"{who}.csv", said)
    covmis(folder, "round", "pull")
    found = covmis(folder, "round", "report")["round"]
    assert found["kappa"]["name"] == "Fleiss' kappa"
    assert set(found["alpha"]) == {"nominal", "ordinal", "interval"}
    assert len(found["pairs"]) == 3
    settled = covmis(folder, "round", "adjudicate")
    assert settled["disagreements"] == 4
    assert settled["to_discuss"] == 2, "two of three are a majority; three ways apart need words"
    rows = rows_of(sheets / "discussion.csv")
    assert {"A", "B", "C", "comment C"} <= set(rows[0])
    fill(sheets / "discussion.csv", lambda row: "middle" if row["item_id"].endswith("4") else "")
    covmis(folder, "round", "adjudicate")
    covmis(folder, "round", "seal")
    from covmis_build import storage

    decided = storage.read_table(folder / "annotation" / "rounds" / "001" / "decisions.parquet", "gold")
    assert decided["how"].value_counts().to_dict() == {"agreed": 8, "majority": 2, "discussed": 2}


def frozen(**more):
    options = Annotation(claims_per_round=1, **more)
    return freeze(**sampled(1, 6), earlier=[], options=options, labels=Labels(), seed=1)


def recorded(items, said):
    shown = dict(zip(items["item_id"], items["shown"], strict=True))
    answers = [
        Answer(
            item, who, label, "csv", phase=phase, shown=shown[item], status="given" if label else "skipped"
        )
        for item, who, label, phase in said
    ]
    return small.recorded(answers, number="001", guideline="g", now="2026-01-01T00:00:00Z")


def test_every_way_to_gold():
    items = frozen()
    ids = items["item_id"].tolist()
    first = "independent"
    said = [
        (ids[0], "a1", "favor", first), (ids[0], "a2", "favor", first),
        (ids[1], "a1", "favor", first), (ids[1], "a2", "favor", first),
        (ids[2], "a1", "favor", first), (ids[2], "a2", "against", first), (ids[2], "together", "neither", "discussion"),
        (ids[3], "a1", "favor", first), (ids[3], "a2", "against", first), (ids[3], "together", "favor", "discussion"),
        (ids[3], "c1", "against", "adjudication"),
        (ids[4], "a1", "favor", first), (ids[4], "a2", "", first), (ids[4], "together", "", "discussion"),
        (ids[5], "a1", "favor", first),
    ]  # fmt: skip
    found = decide(items, recorded(items, said), per_item=2)
    assert found.set_index("item_id")[["label", "how"]].apply(tuple, axis=1).to_dict() == {
        ids[0]: ("favor", "audited"), ids[1]: ("favor", "agreed"), ids[2]: ("neither", "discussed"),
        ids[3]: ("against", "adjudicated"), ids[4]: ("favor", "single"),
    }  # fmt: skip
    assert decide(items.assign(audited=False), recorded(items, said), per_item=2).iloc[0].tolist()[1:3] == [
        "against",
        "automatic",
    ]
    other = items.assign(shown="another text")
    assert decide(other, recorded(items, said), per_item=2).empty, "labels of another text are never used"


def test_a_majority_is_more_than_half_of_at_least_three():
    items = frozen()
    labels = {"two to two": "ffaa", "three to one": "fffa", "two to one": "ffa", "one to one": "fa"}
    ids = dict(zip(items["item_id"].tolist()[1:], labels, strict=False))
    words = {"f": "favor", "a": "against"}
    said = [
        (item, f"a{at}", words[letter], "independent")
        for item, name in ids.items()
        for at, letter in enumerate(labels[name], 1)
    ]
    found = decide(items, recorded(items, said), per_item=2)
    assert {
        ids[item]: how for item, how in zip(found["item_id"], found["how"], strict=True) if item in ids
    } == {
        "three to one": "majority",
        "two to one": "majority",
    }


def test_a_seal_names_what_is_not_as_it_was_sealed():
    items = frozen()
    item = items["item_id"][1]
    labels = recorded(items, [(item, "a1", "favor", "independent"), (item, "a2", "favor", "independent")])
    labels = labels.assign(comment="said")
    whole = Contents(items, labels, decide(items, labels, per_item=2), b"{}", b"Read", draws="of")
    sealed = seal(whole, previous="before", number="001")

    def changed(contents=whole, content=sealed, previous=("before",)):
        return verify(content, contents, previous=previous, number="001").changed

    def but_for_one(table, **cells):
        return table.assign(**{name: [value, *table[name].tolist()[1:]] for name, value in cells.items()})

    assert changed() == ()
    assert changed(whole._replace(frozen=items.iloc[::-1], labels=labels.iloc[::-1])) == ()
    assert changed(whole._replace(frozen=but_for_one(items, text="", salt=""))) == (), "purged"
    for part, name in (("frozen", "items"), ("labels", "labels"), ("decisions", "decisions")):
        table = getattr(whole, part)
        column = "p_sample" if part == "frozen" else "label"
        other = but_for_one(table, **{column: 0.25 if part == "frozen" else "against"})
        assert changed(whole._replace(**{part: other})) == (name,)
        assert changed(whole._replace(**{part: table.iloc[1:]}))[0] == name
    assert changed(whole._replace(report=b"[]", guideline=b"", draws="")) == (
        "agreement",
        "guideline",
        "draws",
    )
    assert changed(whole._replace(frozen=but_for_one(items, text="x"))) == (
        f"the text of {items['item_id'][0]}",
    )
    assert changed(whole._replace(labels=but_for_one(labels, comment="x"))) == (f"a comment on {item}",)
    assert changed(previous=("other",)) == ("the previous seal",)
    assert (
        changed(content=sealed | {"counts": {}})
        == changed(content=sealed | {"round": "002"})
        == ("the seal itself",)
    )


def test_assignment_is_even_and_stable():
    items = freeze(
        **sampled(4, 60),
        earlier=[],
        options=Annotation(claims_per_round=4),
        labels=Labels(automatic={}),
        seed=1,
    )
    items = items.assign(automatic_label="")
    people = ("p", "q", "r", "s")
    work = assignment(items, tables.empty("labels"), people, 2, seed=3)
    sizes = [len(own) for own in work.values()]
    assert sum(sizes) == 480
    assert sizes == [120] * 4
    together = [len(set(work[one]) & set(work[other])) for one, other in itertools.combinations(people, 2)]
    assert min(together) > 25, "all pairs can be compared"
    more = assignment(items, tables.empty("labels"), (*people, "t"), 2, seed=3)
    assert [len(own) for own in more.values()] == [96] * 5
    moved = sum(len(set(more[who]) - set(work[who])) for who in people)
    assert moved <= 0.03 * 480, "besides what the new person gets"
    half = assignment(
        items,
        recorded(items, [(item, who, "favor", "independent") for who in people for item in work[who][:60]]),
        people,
        2,
        seed=3,
    )
    assert half == work, "nothing moves while people work"
    before = assignment(items, tables.empty("labels"), people, 2, seed=3, balanced=False)
    assert max(map(len, before.values())) - min(map(len, before.values())) > 1, (
        "earlier versions' rounds go on"
    )
    item = items["item_id"][0]
    after = assignment(items, recorded(items, [(item, "left", "favor", "independent")]), people, 2, seed=3)
    assert sum(item in own for own in after.values()) == 1, "who left keeps the label that they gave"


def test_the_order_of_claims_decides_and_the_last_round_is_short():
    tables = sampled(5, 3)
    options = Annotation(claims_per_round=2)
    opened: list[pd.DataFrame] = []
    for _ in range(3):
        opened.append(freeze(**tables, earlier=opened, options=options, labels=Labels(), seed=1))
    assert [one["claim_id"].drop_duplicates().tolist() for one in opened] == [
        ["c0", "c1"],
        ["c2", "c3"],
        ["c4"],
    ]
    with pytest.raises(InputError, match="all sampled claims are in rounds already"):
        freeze(**tables, earlier=opened, options=options, labels=Labels(), seed=1)


def test_the_form_follows_the_scheme(tmp_path):
    scheme = Labels(
        values=("a & b", "<c>"), keys=("x", "y"), poles=(), automatic={}, sub_labels={"<c>": ("d", "e")}
    )
    root = ET.fromstring(label_config(scheme))
    groups = {one.get("name"): one for one in root.iter("Choices")}
    assert [(one.get("value"), one.get("hotkey")) for one in groups["label"]] == [
        ("a & b", "x"),
        ("<c>", "y"),
        ("unclear claim", None),
    ]
    assert [one.get("value") for one in groups["sub_label_1"]] == ["d", "e"]
    path = tmp_path / "label_config.xml"
    assert study_config(path, scheme) == path.read_text()
    assert MARK in path.read_text()
    assert '"z"' in study_config(path, Labels(values=("z", "y"), keys=("1", "2"), poles=(), automatic={}))


def test_a_form_made_by_hand_is_kept_if_its_answers_can_be_read(tmp_path):
    path, scheme = tmp_path / "label_config.xml", Labels()
    own = label_config(scheme).replace("Claim", "The claim")
    path.write_text(own)
    assert study_config(path, scheme) == own
    for wrong, message in [
        ("<View>", "is not XML"),
        ("<!DOCTYPE x [<!ENTITY a 'b'>]><View/>", "no DOCTYPE"),
        (own.replace('value="$post"', 'value="$tweet"'), r"nothing shows \$post"),
        (own.replace('value="neither"', 'value="unsure"'), "its choices are favor, against, unsure"),
        (own.replace('name="label"', 'name="stance"'), "exactly one"),
    ]:
        with pytest.raises(InputError, match=message):
            check_config(wrong, scheme, path)


def test_titles_are_short_enough():
    for study_title in (
        "x",
        "A title that goes on and on until it is far too long for the server",
        "日本" * 40,
    ):
        assert len(project_title(study_title, "001", "a" * 32)) <= TITLE


def test_the_guideline_and_the_labels_given_under_it(tmp_path):
    folder = study(tmp_path)
    covmis(folder, "round", "open")
    covmis(folder, "round", "push")
    fill(
        folder / "annotation" / "rounds" / "001" / "sheets" / "a1.csv",
        lambda row: ("favor", "against")[row["item_id"][-1] < "3"],
    )
    covmis(folder, "round", "pull")
    assert covmis(folder, "guideline", "check")["look_again"] == 0
    guideline = folder / "annotation" / "guideline.md"
    guideline.write_text(guideline.read_text() + "\nagainst: also irony.\n")
    found = covmis(folder, "guideline", "check")
    assert found["earlier"][0]["diff"] == ["+against: also irony."]
    assert found["earlier"][0]["names"] == ["against"]
    assert 0 < found["look_again"] < 11
    covmis(folder, "guideline", "check", "--strict", fails=1)
    covmis(folder, "round", "push")
    sheet = folder / "annotation" / "rounds" / "001" / "sheets" / "a1.csv"
    fill(sheet, lambda row: "neither")
    covmis(folder, "round", "pull")
    assert covmis(folder, "guideline", "check", "--strict")["look_again"] == 0


def test_a_label_belongs_to_the_guideline_that_was_out_when_it_was_given(tmp_path):
    sent = [Sending("2026-01-01T00:00:00Z", "v1"), Sending("2026-02-01T00:00:00Z", "v2")]
    about = record.About(
        pilot=False, labels=Labels(), annotators=[], per_item=2, guideline="v2", guidelines=sent
    )
    made = record.RoundFolder(tmp_path, about)
    assert [made.guideline_at(at) for at in ("2026-01-15T00:00:00Z", "2026-02-01T00:00:00Z", "")] == [
        "v1",
        "v2",
        "v2",
    ]
