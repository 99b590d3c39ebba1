"""What a notebook needs of a study: times that are times, settings that can be changed, frames in place of files, short reprs."""

from __future__ import annotations

import pandas as pd
import pytest

import covmis_build as covmis
from covmis_build.annotation.answers import Problem, Pulled
from covmis_build.errors import InputError
from tests.small_study import small_study


@pytest.fixture
def study(tmp_path):
    study = small_study(tmp_path)
    study.run(workers=1)
    return study


def test_times_are_times(study):
    assert str(study.posts["created_at"].dtype).startswith("datetime64")
    posts = study.archive.to_pandas(["post_id", "created_at"])
    assert posts["created_at"].dt.year.between(2006, 2030).any()
    assert covmis.open_study(study.places.folder).posts["created_at"].isna().sum() == 0


def test_a_study_and_its_results_print_as_one_line(study):
    ran = study.run(workers=1)
    for shown in (study, ran, study.status(), study.plan_sample(), study.show_queries(), study.archive):
        assert len(repr(shown)) < 200
        assert "\n" not in repr(shown)
    assert "<table" in study._repr_html_()
    assert str(study.status()).startswith(study.settings.title)


def test_settings_are_changed_and_comments_stay(tmp_path):
    study = covmis.new_study(tmp_path / "s", title="S")
    file = study.places.folder / "study.toml"
    before = file.read_text("utf-8")
    again = study.change(cleaning={"minimum_posts": 12, "languages": ("en", "de")}, title="T")
    assert (again.settings.cleaning.minimum_posts, again.settings.cleaning.languages) == (12, ("en", "de"))
    lines = dict(zip(before.splitlines(), file.read_text("utf-8").splitlines(), strict=True))
    changed = {old.split(" =")[0] for old, new in lines.items() if old != new}
    assert changed == {"title", "minimum_posts", "languages"}
    assert all(old.partition("#")[2] == new.partition("#")[2] for old, new in lines.items())
    text = file.read_text("utf-8")
    with pytest.raises(InputError, match="unknown key 'minimum_post'"):
        study.change(cleaning={"minimum_post": 3})
    assert file.read_text("utf-8") == text


def test_claims_come_from_a_frame(tmp_path):
    study = covmis.new_study(tmp_path / "s", title="S")
    claims = pd.DataFrame(
        {"nr": ["a", "b"], "what": ["Garlic cures it", "Masks harm you"], "extra": [1.5, None]}
    )
    done = study.import_claims(claims, columns={"claim_id": "nr", "text": "what"})
    assert (done.added, done.understood.left_over) == (2, ["extra"])
    assert list(done.claims["text"]) == list(claims["what"])


def test_claims_of_a_frame_without_ids_are_numbered(tmp_path):
    study = covmis.new_study(tmp_path / "s", title="S")
    study.import_claims(pd.DataFrame({"claim": ["Garlic cures it"]}))
    assert "claim-0001,Garlic cures it" in (tmp_path / "s/queries/claims.csv").read_text("utf-8-sig")


def test_print_shows_what_the_command_line_warns_of():
    pulled = Pulled("001", answers=1, problems=[Problem("a2.csv", "none is imported", "Name the file")])
    assert str(pulled).startswith(
        "warning: a2.csv: none is imported. Name the file\nRound 001: 1 answer came back"
    )
    assert "a2.csv: none is imported" in pulled._repr_html_()
    pulled.old = {str(problem) for problem in pulled.problems}
    assert "a2.csv" not in str(pulled), "an earlier pull has said it"
