"""A study with posts that queries find and posts that they miss, run once a worker."""

import shutil

import pytest

from covmis_build.study.study import open_study
from tests.ranking.test_recall_of_a_study import study_in


@pytest.fixture(scope="session")
def run_once(tmp_path_factory):
    return study_in(tmp_path_factory.mktemp("ranking") / "study")


@pytest.fixture
def made(run_once, tmp_path):
    """A copy of the study, and which claim each post is about."""
    study, about = run_once
    return open_study(shutil.copytree(study.places.folder, tmp_path / "study")), dict(about)
