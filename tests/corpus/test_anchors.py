"""Time stamps of seals and root hashes: whoever relabels and seals again is found out, also the owner of the study."""

from __future__ import annotations

import shutil

import pytest

from covmis_build import anchors
from covmis_build.archive.traces import Traces
from covmis_build.corpus.publish import BUNDLE
from covmis_build.corpus.verify import check_kept
from covmis_build.errors import BrokenSeal, InputError, ServiceError
from covmis_build.study.study import open_study
from covmis_build.study.verify import verify
from tests.corpus.studies import covmis
from tests.servers.loopback import says
from tests.servers.timestamps import Authority

pytestmark = pytest.mark.starts("openssl")
HASH, OTHER = "ab" * 32, "cd" * 32


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    with Authority(tmp_path_factory.mktemp("tsa") / "ours") as ours:
        yield ours


def test_a_time_stamp_is_verified_without_a_network(authority, tmp_path) -> None:
    kept = tmp_path / anchors.OF_ROOT
    told = anchors.stamp(kept, HASH, authority.address)
    assert (told.hash, told.by) == (HASH, "CN=Time stamps of tests,O=Tests")
    assert Traces(["x:1252934402983700001"]).of_file(kept).unread == (), "a purge need not name it"
    asked = len(authority.requests)
    assert bytes.fromhex(HASH) in authority.requests[-1].body
    assert anchors.checked(kept, HASH, authority.certificate) == (True, told.sentence)
    assert "--authorities FILE` tells" in anchors.checked(kept, HASH, None)[1]
    assert anchors.stamp(kept, HASH, authority.address) == told
    assert len(authority.requests) == asked, "the first time stamp is worth most"
    with pytest.raises(InputError, match="of another hash"):
        anchors.stamp(kept, OTHER, authority.address)
    theirs = Authority(tmp_path / "theirs")
    data = kept.read_bytes()
    others = {
        "of another hash": (data, OTHER, authority.certificate),
        "is none of authority.pem": (data, HASH, theirs.certificate),
        "root.tsr is no valid time stamp, or more than one": (data + b"words behind it", HASH, None),
        "root.tsr is no valid time stamp": (data[:-3] + bytes([data[-3] ^ 1]) + data[-2:], HASH, None),
    }
    for words, (forged, digest, certificates) in others.items():
        kept.write_bytes(forged)
        passed, why = anchors.checked(kept, digest, certificates)
        assert not passed
        assert words in why
    for nonsense in (b"", b"0", b"\x30\x84\xff\xff\xff\xff", b"\x30\x80" * 9000, b"x" * (1 << 20)):
        kept.write_bytes(nonsense)
        assert anchors.checked(kept, HASH, None) == (
            False,
            "root.tsr is no valid time stamp, or more than one",
        )


def test_an_authority_that_answers_otherwise_is_no_proof(authority, tmp_path) -> None:
    kept = tmp_path / anchors.OF_ROOT
    earlier = tmp_path / "earlier.tsr"
    anchors.stamp(earlier, HASH, authority.address)
    for fault, words in (
        (says(200, earlier.read_bytes()), "gave no time stamp of what it was asked"),
        (says(200, b"x" * (1 << 20)), "cannot be reached"),
        (says(200, b"<html>"), "gave no time stamp of what it was asked"),
        (says(503, b""), "it answered 503"),
        (says(302, b"", Location="http://elsewhere.example/"), "it answered 302"),
    ):
        authority.faults.append(fault)
        with pytest.raises(ServiceError, match=words):
            anchors.stamp(kept, HASH, authority.address)
        assert not kept.exists()
    with pytest.raises(InputError, match="is no address"):
        anchors.stamp(kept, HASH, "ftp://elsewhere.example")


@pytest.fixture
def study(annotated, tmp_path):
    """A study of its own with two sealed rounds."""
    return open_study(shutil.copytree(annotated, tmp_path / "study"))


def test_an_owner_cannot_label_and_seal_again_unseen(authority, study, tmp_path) -> None:
    release, folder = study.places.release, study.places.rounds / "002"
    seal = study.round("002").seal(anchor=authority.address).seal
    kept = shutil.copy(folder / anchors.OF_SEAL, tmp_path / "kept.tsr")
    covmis("release", "--bundle", "--anchor", authority.address, "--study", study.places.folder)
    first = (release / anchors.OF_ROOT).read_bytes()
    checks = [*verify(release, anchor=kept, authorities=authority.certificate)]
    assert [check for check in checks if not check.passed] == []
    told = {check.what: check.detail for check in checks}
    assert told["an authority stamped the root hash"].endswith("by CN=Time stamps of tests,O=Tests")
    assert told["round 002 is as it was sealed"].startswith("stamped 20")
    assert "stamped 20" in study.verify_rounds().summary[1]
    study.release(bundle=True)
    assert (release / anchors.OF_ROOT).read_bytes() == first, "the same root hash keeps its time stamp"

    (folder / "seal.json").unlink()
    assert verified(study) == ("the seal that was stamped is not there",)
    guideline = folder / "guideline.md"  # what an owner can change without the old seal, as any label
    guideline.write_text(guideline.read_text() + "One more rule.\n")
    assert study.round("002").seal().seal != seal
    assert [what.partition(":")[0] for what in verified(study)] == [
        "the time stamp (seal.tsr is of another hash"
    ]
    with pytest.raises(BrokenSeal, match="the time stamp is of another seal"):
        study.release()
    with pytest.raises(InputError, match="of another hash"):
        study.round("002").seal(anchor=authority.address)
    (folder / anchors.OF_SEAL).unlink()
    study.round("002").seal(anchor=authority.address)
    assert verified(study) == ()
    study.release(bundle=True)
    assert not (release / anchors.OF_ROOT).exists()
    wrong = check_kept(release, kept, None)
    assert not wrong.passed
    assert wrong.detail.startswith(f"none has the hash {seal}, which was there at 20")


def verified(study) -> tuple[str, ...]:
    return study.verify_rounds().rounds[1].changed


def test_a_reopened_round_keeps_the_time_stamp_of_its_first_seal(authority, study, tmp_path) -> None:
    round_ = study.round("002")
    round_.seal(anchor=authority.address)
    kept = shutil.copy(round_.folder.folder / anchors.OF_SEAL, tmp_path / "kept.tsr")
    round_.reopen([round_.items["item_id"].iloc[0]], "read wrongly")
    assert verified(study) == ()
    again = study.round("002").seal(anchor=authority.address).seal
    study.release(bundle=True)
    assert check_kept(study.places.release, kept, authority.certificate).passed
    assert check_kept(study.places.release / BUNDLE, kept, authority.certificate).passed
    assert anchors.read(round_.folder.folder / anchors.OF_SEAL).hash == again
    earlier = round_.folder.folder / "sealed" / "1" / anchors.OF_SEAL
    assert earlier.read_bytes() == kept.read_bytes()
    earlier.write_bytes(b"nothing")
    assert "under the seal" in verified(study)[0]
