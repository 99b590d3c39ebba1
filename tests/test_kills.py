"""Every command that writes, killed before and after its changes: the next try ends as the undisturbed one did.

So it does when a call fails (a full disk, a failing disk, no more open files), and when the power is cut: of what it
wrote there is left what it had synced. And whatever a kill has left, `covmis purge` finds it: no byte of a forgotten author's words stays.
"""

from __future__ import annotations

import contextlib
import copy
import errno
import hashlib
import json
import re
import shutil
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import msgspec
import pytest
from typer.testing import CliRunner

from covmis_build import cli, storage
from covmis_build.annotation.channels.label_studio import client
from covmis_build.collecting.sources import bluesky, x
from covmis_build.datasets import fetching
from covmis_build.datasets.shape import Dataset, File, Layout
from covmis_build.errors import CheckFailed, CovmisError, UnfinishedPurge
from covmis_build.options import LabelChange
from covmis_build.settings import labels_of, settings_toml
from covmis_build.study.study import new_study, open_study, rebuild_published
from tests import killing
from tests.annotation.small import fill, label_both
from tests.claims.published import published
from tests.forgettable import AUTHOR, GONE, OTHER, SECRET, collected_and_released, everything, forgettable
from tests.servers.bluesky import Bluesky
from tests.servers.bluesky import post as skeet
from tests.servers.label_studio import LabelStudio
from tests.servers.mastodon import Mastodon
from tests.servers.mastodon import post as toot
from tests.servers.openai import OpenAI
from tests.servers.x import X
from tests.servers.x import post as tweet
from tests.servers.x import posts as tweets
from tests.small_study import small_study

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.killing import Change, Moment
    from tests.servers.loopback import Loopback

TOKEN = "token-of-nobody"
NUMBER = AUTHOR.rpartition(":")[2]
KEPT_IDS = re.compile(
    r"annotation/(rounds|recall|relabel|discarded)/.*\.(parquet|jsonl?)|queries/purge\.csv|ids\.csv|.*\.lock"
)
"""Where ids may stay: the list itself, frozen rounds whose seals need them, and a user's own file, which is named."""


@dataclass
class Command:
    """A command: the study that it finds, the call, and the author to be forgotten."""

    prepare: Callable[[Path], object]
    act: Callable[[Path], object]
    once: bool = False
    """Called again by somebody who has been told its result, it does more (another round), or is refused (nothing to remove)."""
    author: str = AUTHOR
    posts: tuple[str, ...] = ()
    """To be forgotten as well: of a list of ids that nobody has looked up yet, nobody knows the author."""
    server: Loopback | None = None
    labelled: dict[str, str] = field(default_factory=dict)
    """The label that each person gives every task on Label Studio."""


@dataclass
class Prepared:
    """A command's study before it, what it changes undisturbed, and what it leaves."""

    command: Command
    before: Path
    there: dict[str, dict]
    """What the server has: projects and tasks of Label Studio, answers of a model."""
    made: list[Change]
    after: dict[str, str]
    there_after: dict[str, dict]


def left(folder: Path) -> dict[str, str]:
    """What a command has left, but for locks, memories, plans (of what is left), and the ledger's earlier tries."""
    files = {
        name: text
        for name, text in everything(folder).items()
        if not name.endswith((".lock", ".files.json", "plan.json"))
    }
    ledger = files.pop("data/build/ledger.jsonl", "")
    for line in ledger.splitlines():
        entry = json.loads(line)
        for name in ("seconds", "sha256"):
            entry.pop(name, None)
        files[f"ledger: {entry['stage']}"] = json.dumps(entry, sort_keys=True)
    for name in [name for name in files if name.endswith(ANSWERS)]:
        files[name] = answered_once(files[name])
    return files


ANSWERS = "answers.jsonl"


def answered_once(journal: str) -> str:
    """A journal of answers without the one request that a rerun may repeat: nobody knows whether it arrived."""
    lines = journal.splitlines()
    requests = [line for line in lines if "attempt" in json.loads(line)]
    assert len(requests) - len(set(requests)) <= 1
    return "\n".join([*sorted(set(requests)), *(line for line in lines if line not in requests)])


def run_study(folder: Path) -> None:
    study = small_study(folder, 60)
    settings = (folder / "study.toml").read_text()
    (folder / "study.toml").write_text(settings.replace("minimum_posts = 12", "minimum_posts = 1"))
    with (folder / "queries/claims.csv").open("a") as file:
        file.write("planted,Somebody planted words.,en,planted words,,,,,yes,\n")
    words = "Look, this is what somebody planted: {} which are more than ten words in all."
    theirs = [
        {**tweet(number, words.format(text), author=author), "id": str(1255000000000000003 + number)}
        for number, (text, author) in enumerate([(SECRET, NUMBER), ("other words of somebody else's", 8)])
    ]
    lines = [json.dumps({"data": [one]}) for one in theirs]
    (study.places.folder / "data/archive/planted.jsonl").write_text("\n".join(lines) + "\n")


def run(folder: Path, **options: object) -> None:
    open_study(folder).run(workers=1, **options)


def run_before(folder: Path) -> None:
    run_study(folder)
    run(folder)
    settings = (folder / "study.toml").read_text()
    (folder / "study.toml").write_text(settings.replace("minimum_words = 10", "minimum_words = 4"))


def opened(folder: Path) -> None:
    forgettable(folder, NUMBER)
    open_study(folder).open_round()


def pushed(folder: Path) -> None:
    opened(folder)
    open_study(folder).round().push()


def third(item: str) -> bool:
    return item.endswith("3")


def labelled(folder: Path) -> None:
    pushed(folder)
    label_both(folder, differ=third)


def pulled(folder: Path) -> None:
    labelled(folder)
    open_study(folder).round().pull()


def discussed(folder: Path) -> None:
    pulled(folder)
    open_study(folder).round().adjudicate()
    fill(folder / "annotation/rounds/001/sheets/discussion.csv", lambda row: row["A"])


def settled(folder: Path) -> None:
    discussed(folder)
    open_study(folder).round().adjudicate()


def merge(folder: Path) -> None:
    """A copy, in which somebody has decided."""
    theirs = folder.with_name("theirs")
    if not theirs.exists():
        shutil.copytree(folder, theirs)
        for case in open_study(theirs).round().cases().rows:
            open_study(theirs).round().decide(case.item_id, "favor")
    open_study(folder).merge(theirs)


def sealed(folder: Path) -> None:
    settled(folder)
    open_study(folder).round().seal()


def released(folder: Path) -> None:
    sealed(folder)
    open_study(folder).release(bundle=True)
    collected_and_released(folder)


def reopen(folder: Path) -> None:
    round_ = open_study(folder).round()
    round_.reopen([round_.items["item_id"].iloc[1]], "both read the wrong claim")


def reopened(folder: Path) -> None:
    sealed(folder)
    reopen(folder)


def with_a_split_label(folder: Path) -> None:
    sealed(folder)
    study = open_study(folder)
    labels = labels_of("strongly,weakly,against,neither")
    change = LabelChange(after_round=1, from_="favor", to=("strongly", "weakly"))
    storage.write_text(
        study.places.study_toml,
        settings_toml(replace(study.settings, labels=replace(labels, changes=(change,)))),
    )
    guideline = study.places.guideline.read_text("utf-8")
    storage.write_text(
        study.places.guideline, f"{guideline}\n## strongly\n\nA claim.\n\n## weakly\n\nA doubt.\n"
    )


def train(folder: Path) -> None:
    open_study(folder).open_round(training=True, items=4)


def trained(folder: Path) -> None:
    sealed(folder)
    train(folder)
    open_study(folder).round("t1").push()
    label_both(folder, "../training/t001")
    open_study(folder).round("t1").pull()


def recall_before(folder: Path) -> None:
    forgettable(folder, NUMBER)
    storage.write_text(folder / "queries/claims.csv", CLAIMS_OF_RECALL)
    settings = (folder / "study.toml").read_text()
    storage.write_text(folder / "study.toml", settings + SMALLEST)
    run(folder)


def draw(folder: Path) -> None:
    open_study(folder).recall().draw(labels=2, labels_found=1)


CLAIMS_OF_RECALL = "claim_id,text,language,keywords\nc0,Somebody planted words.,en,another\nc1,Another post of somebody.,en,nothing\n"
SMALLEST = '[cleaning]\nminimum_words = 1\nminimum_posts = 1\nundetermined = "keep"\nlanguages = []\n'


def import_posts(folder: Path) -> None:
    theirs = folder.with_name("theirs.jsonl")
    theirs.write_bytes((folder / "data/archive/mine.jsonl").read_bytes())
    open_study(folder).import_posts(theirs)


def import_claims(folder: Path) -> None:
    theirs = folder.with_name("theirs.csv")
    theirs.write_text(f"id,claim,tweet_ids\nn1,A new claim of theirs,{GONE[2:]} {OTHER[2:]}\n")
    open_study(folder).import_claims(theirs, columns={"posts": "tweet_ids"})


WITHOUT_STUDY = {"agreement", "compare", "dataset", "evaluate", "new", "predict", "train"}


def typed(*words: str) -> Callable[[Path], object]:
    """The command line, in the study; `@` is the study's folder."""

    def act(folder: Path) -> None:
        line = [word.replace("@", str(folder)) for word in words]
        of_a_study = [] if WITHOUT_STUDY.intersection(words[:2]) else ["--study", str(folder)]
        ended = CliRunner().invoke(cli.app, [*line, *of_a_study], catch_exceptions=False)
        if ended.exit_code:
            raise OSError(ended.output)  # as the functions do

    return act


SHARES = [word for kind in ("html", "csv", "json") for word in ("--out", f"@/shares.{kind}")]
estimate = typed("estimate", "--by", "claim", *SHARES)


def with_tables(folder: Path) -> None:
    """A released study, and tables to train and to score on."""
    released(folder)
    rows = [
        f"{word}{number},{word} {number},a claim,{word}"
        for number in range(30)
        for word in ("favor", "against")
    ]
    storage.write_text(folder / "train.csv", "\n".join(["item_id,text,target,label", *rows]) + "\n")


def trained_model(folder: Path) -> None:
    with_tables(folder)
    TRAIN(folder)


TRAIN = typed("model", "train", "@/train.csv", "--model", "bow", "--out", "@/models/bow")


OWN_FILES = ("said.csv", "labels.csv")
"""Files of the user's own in the study's folder: a purge names them and leaves them to the user."""


def purge(folder: Path, **what: list[str]) -> None:
    begun = (folder / "queries/purge-journal.jsonl").exists()
    if begun:
        with pytest.raises(UnfinishedPurge, match="has not ended"):
            open_study(folder)
        assert "has not ended" in " ".join(open_study(folder, half_purged=True).status().notes)
    purged = open_study(folder, half_purged=True).purge(**({} if begun else what))
    own = [path for name in OWN_FILES if (path := folder / name).exists() and GONE[2:] in path.read_text()]
    if own:
        with pytest.raises(CheckFailed, match=f"{len(own)} file.* of your own"):
            purged.check()
        for path in own:
            path.unlink()
        purged = open_study(folder).purge()
    purged.check()


CLAIMS = (
    "claim_id,text,language,keywords\nc1,Masts spread it.,en,mast virus\nc2,Towers.,en,tower OR planted\n"
)


def to_collect(folder: Path) -> None:
    storage.write_text(
        folder / "study.toml", 'title = "t"\n[retrieval]\nsince = "2020-01-01"\nuntil = "2024-12-31"\n'
    )
    storage.write_text(folder / "queries/claims.csv", CLAIMS)
    (folder / "data/archive").mkdir(parents=True)


def in_no_time() -> None:
    """Pages of one moment, and small ones; in a process of its own."""
    storage.moment = lambda at=None: "2026-12-01T03:04:05Z"
    x.PAGES = {"all": 10, "recent": 10, "ids": 10}


def collect(folder: Path, source: str, **options: object) -> None:
    in_no_time()
    resume = (folder / f"data/collect/{source}/plan.json").exists()
    open_study(folder).collect(source, resume=resume, **options).check()


def with_ids(folder: Path) -> None:
    to_collect(folder)
    ids = [one["id"] for one in X_POSTS]
    storage.write_text(folder / "ids.csv", "\n".join(["tweet_id", *ids, "1250000000999999999"]) + "\n")


def look_up(folder: Path) -> None:
    in_no_time()
    open_study(folder).collect_ids(folder / "ids.csv", budget="10").check()


X_POSTS = [*tweets(30), {**tweet(40, f"mast virus {SECRET}", author=int(NUMBER)), "id": GONE[2:]}]
SKEETS = [skeet(number, f"post {number} about mast virus") for number in range(40)]
HIDDEN = {**skeet(41, f"mast virus {SECRET}"), "uri": "at://did:plc:bbbb/app.bsky.feed.post/3kgone"}
HIDDEN["author"] = {"did": "did:plc:bbbb", "handle": "gone.test"}
TOOTS = [toot(number, f"post {number} about mast virus") for number in range(40)]
TOOTED = toot(41, f"mast virus {SECRET}")
TOOTED |= {
    "account": {**TOOTED["account"], "id": "99", "acct": "gone", "username": "gone"},
    "uri": TOOTED["uri"].replace("nobody", "gone"),
    "url": TOOTED["url"].replace("nobody", "gone"),
}


@pytest.fixture(scope="module")
def servers():
    """The platforms, for all commands of this process."""
    with (
        pytest.MonkeyPatch.context() as patch,
        X(X_POSTS) as on_x,
        Bluesky([*SKEETS, HIDDEN]) as on_bluesky,
        Mastodon([*TOOTS, TOOTED]) as on_mastodon,
        LabelStudio() as label_studio,
        OpenAI() as model,
    ):
        for name in (
            "X_BEARER_TOKEN",
            "BLUESKY_APP_PASSWORD",
            "MASTODON_ACCESS_TOKEN",
            "LABEL_STUDIO_API_KEY",
        ):
            patch.setenv(name, TOKEN)
        patch.setenv("BLUESKY_HANDLE", "nobody.test")
        patch.setenv("LABEL_STUDIO_URL", label_studio.address)
        patch.setenv("MASTODON_SERVER", on_mastodon.address)
        patch.setenv(x.ADDRESS, on_x.address)
        patch.setenv(bluesky.ADDRESS, on_bluesky.address)
        patch.setattr(client, "PATIENCE", 1.0)
        connection = client.LabelStudio(label_studio.address, TOKEN)
        connection.users()  # the makers' client makes its types when they are first used: before files are watched
        connection.find_project("")
        with contextlib.suppress(CovmisError):
            list(connection.tasks(1))
        connection.close()
        yield {"mastodon": on_mastodon.address, "label studio": label_studio, "model": model}


def on_label_studio(step: Callable[[Path], object], server: LabelStudio) -> Callable:
    """The step, in a study whose channel is this Label Studio."""

    def prepare(folder: Path) -> None:
        forgettable(folder, NUMBER, f'label_studio_url = "{server.address}"\n')
        toml = folder / "study.toml"
        toml.write_text(toml.read_text().replace('channel = "csv"', 'channel = "label-studio"'))
        step(folder)

    return prepare


def opened_there(folder: Path) -> None:
    open_study(folder).open_round()


def pushed_there(folder: Path) -> None:
    opened_there(folder)
    open_study(folder).round().push()


def verb(name: str, **options: object) -> Callable[[Path], object]:
    return lambda folder: getattr(open_study(folder).round(), name)(**options)


def adjudicate_there(folder: Path) -> None:
    open_study(folder).round().pull()
    open_study(folder).round().adjudicate()


def with_predictions(folder: Path) -> None:
    forgettable(folder, NUMBER)
    storage.write_text(folder / "said.csv", "item_id,prediction\n")


def recall_drawn(folder: Path) -> None:
    """Drawn from more posts that no query finds than were drawn."""
    recall_before(folder)
    lines = [
        json.dumps({"data": [tweet(number, f"Another post of somebody, {number}")]}) for number in range(20)
    ]
    storage.write_text(folder / "data/archive/more.jsonl", "\n".join(lines) + "\n")
    run(folder)
    draw(folder)


def recall_labelled(folder: Path) -> None:
    recall_drawn(folder)
    for _ in range(2):  # every yes is asked twice
        open_study(folder).round("r1").push()
        for sheet in (folder / "annotation/recall/r001/sheets").glob("*.csv"):
            fill(sheet, lambda _: "yes")
        open_study(folder).round("r1").pull()


def to_lint(folder: Path) -> None:
    forgettable(folder, NUMBER)
    storage.write_text(
        folder / "queries/claims.csv",
        CLAIMS.replace("Towers.", "t").replace("Masts", "No evidence that masts"),
    )


def to_add(folder: Path) -> None:
    forgettable(folder, NUMBER)
    (folder / "data/archive/mine.jsonl").unlink()


def add_posts(folder: Path) -> None:
    theirs = folder.with_name("mine.jsonl")
    theirs.write_text(json.dumps({**tweet(1, f"Look, {SECRET}", author=int(NUMBER)), "id": GONE[2:]}) + "\n")
    typed("posts", "add", str(theirs))(folder)


def to_rebuild(folder: Path) -> None:
    forgettable(folder, NUMBER)
    published(folder / "published")


def rebuilt(folder: Path) -> None:
    to_rebuild(folder)
    rebuild_published(folder / "mine", "covmis-stance", folder / "published").study.run()


def pulled_labels(folder: Path) -> None:
    pulled(folder)
    open_study(folder).round().labels.to_csv(folder / "labels.csv", index=False)


def count(folder: Path) -> None:
    in_no_time()
    open_study(folder).estimate_collecting("x", budget="5")


CORPUS = {f"part-{number}.csv": b"id,text,label\n%d,words,pos\n" % number for number in range(2)}


def get_corpus(folder: Path) -> None:
    """Fetch a corpus of two files, in a process of its own, from nowhere."""
    files = tuple(
        File(name, hashlib.sha256(data).hexdigest(), f"https://example.org/{name}")
        for name, data in CORPUS.items()
    )
    layout = Layout("ids", files, lambda _: [])
    fetching.find = lambda *_: Dataset(
        "small", "Small", "covidlies", "small", (layout,), "MIT", "", "", "", ""
    )
    sends = httpx.MockTransport(lambda asked: httpx.Response(200, content=CORPUS[asked.url.path[1:]]))
    fetching.fetch("small", folder / "corpora", client=httpx.Client(transport=sends))


def with_corpus(folder: Path) -> None:
    to_collect(folder)
    rows = "".join(f"0,1,{number},text {number},0,{number % 2}\n" for number in range(20))
    storage.write_text(
        folder / "corpora/mu_temporality/weibo2776_924_964.csv", f"level_0,index,id,text,time,labels\n{rows}"
    )


def convert_corpus(folder: Path) -> None:
    for form in ("csv", "jsonl", "parquet"):
        typed(
            "dataset", "convert", "weibo", "--unchecked", "--home", "@/corpora", "--out", f"@/mixed.{form}"
        )(folder)


TABLE = ("@/train.csv", "--schemes", "random", "--folds", "2", "--cells", "@/cells")


def many_labels(folder: Path) -> None:
    """A round of forty items with the labels of two people, and a model that labels like one of them."""
    forgettable(folder, NUMBER, per_claim=22)
    open_study(folder).open_round()
    open_study(folder).round().push()
    label_both(folder, differ=third)
    open_study(folder).round().pull()
    labels = open_study(folder).round().labels
    mine = labels[labels["annotator"] == "a1"].rename(columns={"label": "prediction"})
    mine[["item_id", "prediction"]].to_csv(folder / "said.csv", index=False)


def with_answers(folder: Path) -> None:
    opened(folder)
    lines = [
        json.dumps({"item_id": item, "answer": "Favor."})
        for item in open_study(folder).round().items["item_id"]
    ]
    storage.write_text(folder / "back.jsonl", "\n".join(lines) + "\n")


COMMANDS: dict[str, Callable[[dict], Command]] = {
    "run": lambda _: Command(run_study, run),
    "run anew": lambda _: Command(run_before, run),
    "round open": lambda _: Command(
        lambda folder: forgettable(folder, NUMBER), lambda folder: open_study(folder).open_round(), once=True
    ),
    "round push csv": lambda _: Command(opened, verb("push")),
    "round push html": lambda _: Command(opened, verb("push", channel="html")),
    "round push label studio": lambda on: Command(
        on_label_studio(opened_there, on["label studio"]), verb("push"), server=on["label studio"]
    ),
    "round pull csv": lambda _: Command(labelled, verb("pull")),
    "round pull label studio": lambda on: Command(
        on_label_studio(pushed_there, on["label studio"]), verb("pull"), server=on["label studio"],
        labelled={"a1": "favor", "a2": "favor"},
    ),
    "round adjudicate": lambda _: Command(pulled, verb("adjudicate")),
    "round adjudicate, second": lambda _: Command(discussed, verb("adjudicate")),
    "round merge": lambda _: Command(pulled, merge),
    "round seal": lambda _: Command(settled, verb("seal")),
    "release": lambda _: Command(sealed, lambda folder: open_study(folder).release(bundle=True, deposit=True)),
    "round reopen": lambda _: Command(sealed, reopen),
    "round seal anew": lambda _: Command(reopened, verb("seal")),
    "round open, training": lambda _: Command(sealed, train, once=True),
    "round report, training": lambda _: Command(trained, lambda folder: open_study(folder).round("t1").report()),
    "estimate": lambda _: Command(sealed, estimate),
    "new": lambda _: Command(to_collect, lambda folder: new_study(folder / "mine")),
    "a setting": lambda _: Command(opened, lambda folder: open_study(folder).change(seed=7)),
    "claims select": lambda _: Command(opened, typed("claims", "select", "--top", "1")),
    "queries set": lambda _: Command(opened, typed("queries", "set", "c1", "mast virus")),
    "round decide": lambda _: Command(
        pulled, lambda folder: [open_study(folder).round().decide(case.item_id, "favor") for case in open_study(folder).round().cases().rows],
    ),
    "round report": lambda _: Command(pulled, verb("report")),
    "round board": lambda _: Command(pulled, typed("export", "board")),
    "hydrate": lambda _: Command(released, typed("hydrate", "@/data/release/corpus.csv", "--into", "@/whole")),
    "hydrate bundle": lambda _: Command(released, typed("hydrate", "@/data/release/bundle.zip", "--into", "@/again")),
    "evaluate score": lambda _: Command(
        with_tables, typed("evaluate", "score", "@/train.csv", "@/train.csv", "--out", "@/scores.html", "--out", "@/scores.csv")
    ),
    "evaluate split": lambda _: Command(with_tables, typed("evaluate", "split", "@/train.csv", "--out", "@/parts.csv")),
    "model train": lambda _: Command(with_tables, TRAIN),
    "model predict": lambda _: Command(
        trained_model, typed("model", "predict", "@/models/bow", "@/train.csv", "--out", "@/said.csv")
    ),
    "recall plan": lambda _: Command(recall_before, lambda folder: open_study(folder).recall().plan(labels=2)),
    "recall draw": lambda _: Command(recall_before, draw),
    "posts import": lambda _: Command(lambda folder: forgettable(folder, NUMBER), import_posts),
    "claims import": lambda _: Command(lambda folder: forgettable(folder, NUMBER), import_claims),
    "purge posts": lambda _: Command(released, lambda folder: purge(folder, posts=[GONE])),
    "purge authors": lambda _: Command(released, lambda folder: purge(folder, authors=[AUTHOR])),
    "collect x": lambda _: Command(to_collect, lambda folder: collect(folder, "x", budget="10")),
    "collect bluesky": lambda _: Command(
        to_collect, lambda folder: collect(folder, "bluesky"), author="author:bsky:did:plc:bbbb"
    ),
    "collect mastodon": lambda on: Command(
        to_collect, lambda folder: collect(folder, "mastodon", server=on["mastodon"]),
        author=f"author:masto:{on['mastodon'].removeprefix('http://')}/99",
    ),
    "collect ids": lambda _: Command(with_ids, look_up, posts=(GONE,)),
    "collect x, estimate": lambda _: Command(to_collect, count),
    "round adjudicate label studio": lambda on: Command(
        on_label_studio(pushed_there, on["label studio"]), adjudicate_there, server=on["label studio"],
        labelled={"a1": "favor", "a2": "against"},
    ),
    "round open, predictions": lambda _: Command(
        with_predictions, typed("round", "open", "--predictions", "@/said.csv"), once=True
    ),
    "recall draw, more": lambda _: Command(
        recall_drawn, lambda folder: open_study(folder).recall().draw(labels=8, labels_found=1)
    ),
    "recall report": lambda _: Command(recall_labelled, typed("recall", "report", "--html")),
    "queries try": lambda _: Command(run_study, typed("queries", "try")),
    "claims lint": lambda _: Command(to_lint, typed("claims", "lint", "--accept", "correct:c1")),
    "posts add": lambda _: Command(to_add, add_posts),
    "posts remove": lambda _: Command(lambda folder: forgettable(folder, NUMBER), typed("posts", "remove", "mine.jsonl"), once=True),
    "claims add": lambda _: Command(opened, typed("claims", "add", "Onions cure the virus.", "Salt cures it.")),
    "claims edit": lambda _: Command(opened, typed("claims", "edit", "c1", "Garlic heals everybody.")),
    "claims remove": lambda _: Command(opened, typed("claims", "remove", "c1", "c3"), once=True),
    "round relabel": lambda _: Command(
        with_a_split_label, lambda folder: open_study(folder).relabel(), once=True
    ),
    "round discard": lambda _: Command(pushed, typed("round", "discard", "1"), once=True),
    "round discard, archive": lambda _: Command(pulled, typed("round", "discard", "1", "--archive"), once=True),
    "new, from": lambda _: Command(
        to_rebuild, typed("new", "@/mine", "--from", "covmis-stance", "--files", "@/published")
    ),
    "status, published": lambda _: Command(rebuilt, lambda folder: open_study(folder / "mine").beside_published(folder / "published")),
    "export": lambda _: Command(released, typed("export", "posts")),
    "export, out": lambda _: Command(released, typed("export", "rounds/001", "--out", "@/round.html")),
    "export, figures": lambda _: Command(
        released, typed("export", "@/data/release/card.html", "--format", "svg", "--out", "@/figures")
    ),
    "agreement": lambda _: Command(
        pulled_labels, typed("agreement", "@/labels.csv", "--html", "@/agreement.html", "--latex", "@/agreement.tex")
    ),
    "evaluate compare": lambda _: Command(
        with_tables, typed("evaluate", "compare", "@/train.csv", "a=@/train.csv", "b=@/train.csv", "--out", "@/compared.html", "--out", "@/compared.tex")
    ),
    "dataset get": lambda _: Command(to_collect, get_corpus),
    "dataset convert": lambda _: Command(with_corpus, convert_corpus),
    "model predict, errors": lambda _: Command(
        trained_model, typed("model", "predict", "@/models/bow", "@/train.csv", "--out", "@/said.csv", "--errors", "@/errors.html")
    ),
    "model table": lambda _: Command(with_tables, typed("model", "compare", *TABLE, "--models", "majority,bow")),
    "model ablate": lambda _: Command(with_tables, typed("model", "compare", "--ablate", *TABLE, "--model", "majority")),
    "model admit": lambda _: Command(
        many_labels, typed("model", "admit", "@/said.csv", "--epsilon", "0.2", "--name", "mine")
    ),
    "model prompt": lambda _: Command(opened, typed("model", "prompt", "--out", "@/requests.jsonl")),
    "model prompt, answers": lambda _: Command(
        with_answers, typed("model", "prompt", "--answers", "@/back.jsonl", "--out", "@/said.csv")
    ),
    "model ask": lambda on: Command(
        opened, typed("model", "ask", "--url", f"{on['model'].address}/v1", "--model", "toy", "--journal", f"@/{ANSWERS}", "--out", "@/said.csv", "--yes"),
        server=on["model"],
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def prepare(servers, tmp_path_factory):
    """A command's study, made once, and what the command does to it undisturbed."""
    ready: dict[str, Prepared] = {}
    warm = tmp_path_factory.mktemp("warm") / "study"
    released(warm)  # what is loaded here need not be loaded in every process that is forked
    estimate(warm)
    msgspec.convert({"tasks": [], "total": 0}, client._Tasks)  # its types are settled before the clock stops

    def make(name: str) -> Prepared:
        if name not in ready:
            command = COMMANDS[name](servers)
            folder = tmp_path_factory.mktemp("kill") / "study"
            folder.mkdir()
            _set(command.server, {kept: {} for kept in command.server.kept} if command.server else {})
            killing.done(lambda: command.prepare(folder))
            for number, (who, label) in enumerate(command.labelled.items(), 1):
                command.server.label(number, who, label)
            there = _on(command.server)
            before = Path(shutil.copytree(folder, folder.with_name("before")))
            made = killing.changes(folder, lambda: command.act(folder))
            ready[name] = Prepared(command, before, there, made, left(folder), _on(command.server))
        return ready[name]

    return make


def _on(server: Loopback | None) -> dict[str, dict]:
    return copy.deepcopy({name: getattr(server, name) for name in server.kept}) if server else {}


def _set(server: Loopback | None, state: dict[str, dict]) -> None:
    for name, value in copy.deepcopy(state).items():
        setattr(server, name, value)


def survives(
    prepared: Prepared,
    disturbed: Callable[[Path, Callable[[], object]], None],
    folder: Path,
    *,
    purged: bool = False,
) -> None:
    """Disturbed so and tried again, it ends as if nothing had been; or purged, nothing is left."""
    command = prepared.command
    shutil.copytree(prepared.before, folder)
    _set(command.server, prepared.there)
    told = folder.with_name(f"{folder.name}-told")

    def act() -> None:
        command.act(folder)
        told.touch()

    disturbed(folder, act)
    if command.server:
        time.sleep(0.05)  # what it has been sent it still does
    again = Path(shutil.copytree(folder, folder.with_name(f"{folder.name}-purged"))) if purged else folder
    killing.done(lambda: looked_and_done(command, folder, told=told.exists()))
    assert left(folder) == prepared.after
    assert _on(command.server) == prepared.there_after
    if purged:
        killing.done(lambda: purge(again, authors=[command.author], posts=list(command.posts)))
        forgotten(again)
        shutil.rmtree(again)
    elif "purge" in str(sorted(prepared.after)):
        forgotten(folder)
    shutil.rmtree(folder)


def looked_and_done(command: Command, folder: Path, *, told: bool) -> None:
    """What a person does next: looks where the study stands, and calls the command again.

    Nobody does who was told that a round is open, or what was removed; every other second call must change nothing.
    """
    if not (folder / "queries/purge-journal.jsonl").exists():
        open_study(folder).status()
    if not (told and command.once):
        command.act(folder)


def forgotten(folder: Path) -> None:
    """No byte of the words; ids only on the list, and where seals need them; nothing half-written."""
    texts = everything(folder)
    assert [name for name, text in texts.items() if SECRET in text] == []
    assert [name for name, text in texts.items() if GONE[2:] in text and not KEPT_IDS.fullmatch(name)] == []
    assert [path.name for path in folder.rglob("*") if storage.is_unfinished(path)] == []


IN_ALL = 200


def moments_of(prepare, name: str, count: int) -> list[Moment]:
    return killing.moments(prepare(name).made, count, name)


def killed_at(moment: Moment) -> Callable[[Path, Callable[[], object]], None]:
    return lambda folder, act: killing.killed(folder, moment, act)


FAULTS = {
    "a full disk": errno.ENOSPC,
    "a failing disk": errno.EIO,
    "no more open files": errno.EMFILE,
    "a power cut": 0,
}
OF_EACH = 6
"""Calls of each command for each fault, beyond one of each kind."""


def fault_at(number: int, fault: str) -> Callable[[Path, Callable[[], object]], None]:
    if error := FAULTS[fault]:
        return lambda folder, act: killing.failed(folder, number, error, act)
    return lambda folder, act: killing.cut_off(folder, number, act)


def calls_of(prepared: Prepared, folder: Path) -> list[Change]:
    """The command's calls, syncs among them."""
    shutil.copytree(prepared.before, folder)
    _set(prepared.command.server, prepared.there)
    made = killing.changes(folder, lambda: prepared.command.act(folder), syncs=True)
    shutil.rmtree(folder)
    return made


def some_of(made: list[Change], key: str) -> list[int]:
    """Numbers of calls: one of each kind, and others by key."""
    of_files = [number for number, change in enumerate(made, 1) if change.what != "send"]
    return killing.of_each_kind(made, of_files, OF_EACH, key)


OTHERS = ("run", "round pull csv", "release", "purge posts", "collect bluesky")


@pytest.mark.needs("clients", "label_studio_sdk")
@pytest.mark.parametrize("name", ["round seal", *OTHERS])
def test_a_call_that_fails_loses_nothing(prepare, tmp_path, name):
    made = calls_of(prepare(name), tmp_path / "calls")
    faults = list(FAULTS) if name == "round seal" else list(FAULTS)[OTHERS.index(name) % 2 :: 2]
    for fault in faults:
        number = some_of(made, f"{name}, {fault}")[0]
        survives(prepare(name), fault_at(number, fault), tmp_path / str(number))


@pytest.mark.long
@pytest.mark.needs("clients", "label_studio_sdk")
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("name", COMMANDS)
def test_every_kind_of_call_may_fail(prepare, tmp_path, name, fault):
    numbers = some_of(calls_of(prepare(name), tmp_path / "calls"), f"{name}, {fault}")
    wrong = []
    for number in numbers:
        try:
            survives(prepare(name), fault_at(number, fault), tmp_path / str(number))
        except AssertionError as error:
            wrong.append(f"{number}: {error}")
    print(f"{name}: {fault}: {len(numbers)} calls, {len(wrong)} differences")
    assert wrong == []


@pytest.mark.needs("clients", "label_studio_sdk")
@pytest.mark.parametrize(("at", "name"), list(enumerate(COMMANDS)), ids=list(COMMANDS))
def test_a_command_that_is_killed_ends_at_the_next_try(prepare, tmp_path, at, name):
    moment = moments_of(prepare, name, 1)[0]
    survives(prepare(name), killed_at(moment), tmp_path / "0", purged=not at % 3 and "purge" not in name)


@pytest.mark.long
@pytest.mark.needs("clients", "label_studio_sdk")
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", COMMANDS)
def test_every_kind_of_change_of_a_command_may_be_its_last(prepare, tmp_path, name):
    wanted = moments_of(prepare, name, -(-IN_ALL // len(COMMANDS)))
    for number, moment in enumerate(wanted):
        with_purge = not number % 3 and "purge" not in name
        survives(prepare(name), killed_at(moment), tmp_path / str(number), purged=with_purge)
    print(f"{name}: {len(prepare(name).made)} changes, killed {len(wanted)} times")
