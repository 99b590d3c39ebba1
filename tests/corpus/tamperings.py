"""What somebody may change in a release, checksums made to fit."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import zipfile
from contextlib import contextmanager

import msgspec
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from covmis_build import children
from covmis_build.annotation.json_records import own_hash
from covmis_build.corpus import bundle, covmis_shape
from covmis_build.corpus.bundle import hash_tree, root_of
from covmis_build.corpus.convert import read_corpus, write_corpus
from covmis_build.corpus.publish import BUNDLE, hub_parts, parquet_bytes, release_hashes
from covmis_build.corpus.release_facts import from_json, without_root
from covmis_build.corpus.resources import IN_COVMIS_SHAPE, PEOPLE
from covmis_build.corpus.verify import check_release
from covmis_build.errors import CovmisError, InputError
from covmis_build.places import CHECKSUMS, FACTS
from covmis_build.study.verify import _bundle as of_bundle
from covmis_build.study.verify import verify


def with_new_checksums(folder, before, more=()):
    """As somebody would leave it who does not want to be noticed: sizes and hashes in metadata fit, too.

    `more`: files that the list names besides those that it named.
    """
    for name, entities in (("croissant.json", "distribution"), ("ro-crate-metadata.json", "@graph")):
        path = folder / name
        if not path.is_file() or path.read_bytes() != (before / name).read_bytes():
            continue  # this is what was changed
        told = json.loads(path.read_text("utf-8"))
        for entity in told[entities]:
            file = folder / entity["@id"]
            if "contentSize" in entity and file.is_file():
                unit = " B" if name == "croissant.json" else ""
                entity["contentSize"] = f"{file.stat().st_size}{unit}"
                if "sha256" in entity:
                    entity["sha256"] = hashlib.sha256(file.read_bytes()).hexdigest()
        path.write_text(json.dumps(told, ensure_ascii=False, indent=2) + "\n", "utf-8")
    names = sorted({*(line[66:] for line in (folder / CHECKSUMS).read_text().splitlines()), *more})
    lines = [
        f"{hashlib.sha256((folder / name).read_bytes()).hexdigest()}  {name}\n"
        for name in names
        if (folder / name).exists()
    ]
    (folder / CHECKSUMS).write_text("".join(lines))


def with_new_root(folder):
    """As somebody would leave it who makes the root hash anew, too, and writes it wherever it stands."""
    facts = from_json((folder / FACTS).read_bytes())
    hashes = release_hashes(folder, facts.root)
    root = root_of(hash_tree(release=hashes))
    if (folder / BUNDLE).exists():
        files = opened(folder / BUNDLE)
        manifest = json.loads(files.pop(bundle.MANIFEST))
        files[bundle.FACTS] = without_root((folder / FACTS).read_bytes())
        manifest["files"] = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
        tree = hash_tree(**manifest | {"release": hashes})
        root = root_of(tree)
        packed(folder / BUNDLE, files | {bundle.MANIFEST: tree})
    for path in folder.rglob("*"):
        if path.suffix in {".md", ".html", ".json"}:
            path.write_bytes(path.read_bytes().replace(facts.root.encode(), root.encode()))


def opened(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(path, files):
    path.write_bytes(bundle.zipped(files))


def in_every_format(change):
    def tamper(folder):
        corpus = change(read_corpus(folder / "corpus.parquet"))
        for name in ("corpus.csv", "corpus.jsonl", "corpus.parquet"):
            write_corpus(folder / name, corpus, text=False)
        divided = pd.read_csv(folder / "splits.csv", dtype=str, encoding="utf-8-sig")
        for name, rows in hub_parts(corpus, divided).items():
            write_corpus(folder / "huggingface" / f"{name}.parquet", rows, text=False)
        IN_COVMIS_SHAPE.write(folder, covmis_shape.stance(corpus))

    return tamper


def first(column, value):
    def change(corpus):
        changed = corpus.copy()
        changed.loc[0, column] = value(changed.loc[0, column])
        return changed

    return change


def half_the_chance(corpus):
    changed = corpus.copy()
    changed.loc[0, "p_sample"] = changed.loc[0, "p_sample"] / 2
    changed.loc[0, "weight"] = 1 / (changed.loc[0, "p_claim"] * changed.loc[0, "p_sample"])
    return changed


def other_label(label):
    return "against" if label != "against" else "favor"


def in_text(name, before, after, *, more=()):
    def tamper(folder):
        for file in (name, *more):
            text = (folder / file).read_text("utf-8")
            assert before in text, (file, before)
            (folder / file).write_text(text.replace(before, after), "utf-8")

    return tamper


def with_a_file(name):
    def tamper(folder):
        (folder / name).write_text("The figures of the card are wrong.\n")
        sums = folder / CHECKSUMS
        lines = [*sums.read_text().splitlines(), f"{'0' * 64}  {name}"]
        sums.write_text("\n".join(sorted(lines, key=lambda line: line[66:])) + "\n")

    return tamper


def in_facts(change):
    def tamper(folder):
        facts = json.loads((folder / "facts.json").read_text())
        change(facts)
        text = msgspec.json.format(json.dumps(facts, ensure_ascii=False), indent=1)
        (folder / "facts.json").write_text(text + "\n", "utf-8")

    return tamper


def in_annotations(change):
    def tamper(folder):
        rows = change(pd.read_parquet(folder / "annotations.parquet"))
        PEOPLE.write(folder, rows)
        for place in (folder, folder / "huggingface"):
            (place / "annotations.parquet").write_bytes(parquet_bytes(rows, PEOPLE.schema))

    return tamper


def one_format(folder):
    path = folder / "corpus.jsonl"
    lines = path.read_text("utf-8").splitlines()
    lines[0] = lines[0].replace('"label": "', '"label": "x')
    path.write_text("\n".join(lines) + "\n", "utf-8")


def short_hub_copy(folder):
    path = folder / "huggingface" / "train.parquet"
    write_corpus(path, read_corpus(path).iloc[15:], text=False)


def hub_copy_with_a_column(folder):
    path = folder / "huggingface" / "train.parquet"
    table = pq.read_table(path)
    pq.write_table(table.append_column("verdict", pa.array(["false"] * len(table))), path)


def hub_copy_with_words(folder):
    path = folder / "huggingface" / "test.parquet"
    table = pq.read_table(path).replace_schema_metadata({"note": "The figures are wrong."})
    pq.write_table(table, path, compression="zstd")


def a_copy_beside_the_parts(folder):
    shutil.copy(folder / "corpus.parquet", folder / "huggingface" / "corpus.parquet")


def a_licence(folder):
    (folder / "LICENCE.txt").write_text("Do with it what you want.")


def design_turned_round(folder):
    path = folder / "design.json"
    first, *entries, last = path.read_text().splitlines(keepends=True)
    path.write_text("".join([first, entries[1], entries[0], *entries[2:], last]))


def labels_with_a_column(files):
    name = "annotation/rounds/001/labels.parquet"
    table = pq.read_table(io.BytesIO(files[name]))
    out = io.BytesIO()
    pq.write_table(table.append_column("verdict", pa.array(["x"] * len(table))), out, compression="zstd")
    files[name] = out.getvalue()


def other_facts(files):
    files[bundle.FACTS] = files[bundle.FACTS].replace(b'"annotators": 2', b'"annotators": 9')


def in_csv(name, change):
    def tamper(folder):
        rows = pd.read_csv(folder / name, dtype=str, keep_default_na=False, encoding="utf-8-sig")
        change(rows).to_csv(folder / name, index=False, encoding="utf-8-sig")

    return tamper


def cell(column, value):
    return first(column, value)


def in_json(name, change):
    def tamper(folder):
        told = json.loads((folder / name).read_text("utf-8"))
        change(told)
        (folder / name).write_text(json.dumps(told), "utf-8")

    return tamper


def swapped(rows):
    """Two items of different parts."""
    changed = rows.copy()
    other = int((rows["part"] != rows["part"].iloc[0]).argmax())
    changed.loc[[0, other], "part"] = changed.loc[[other, 0], "part"].to_numpy()
    return changed


def in_bundle(change):
    """A change inside the bundle, its manifest made to fit."""

    def tamper(folder):
        files = opened(folder / BUNDLE)
        change(files)
        manifest = json.loads(files["manifest.json"])
        manifest["files"] = {
            name: hashlib.sha256(data).hexdigest() for name, data in files.items() if name != "manifest.json"
        }
        files["manifest.json"] = hash_tree(**manifest)
        packed(folder / BUNDLE, files)

    return tamper


def without(name):
    return in_bundle(lambda files: files.pop(name))


def inside(name, before, after):
    def change(files):
        assert before in files[name], (name, before)
        files[name] = files[name].replace(before, after)

    return in_bundle(change)


def with_a_key_twice(files):
    """Readers that take the first of two see another hash than covmis, which would take the last."""
    name = "annotation/rounds/001/seal.json"
    files[name] = files[name].replace(b"{", b'{"seal": "0000", ', 1)


def in_manifest(change):
    def tamper(files):
        manifest = json.loads(files[bundle.MANIFEST])
        change(manifest)
        files[bundle.MANIFEST] = hash_tree(**manifest)

    return in_bundle(tamper)


def forgotten(rows):
    """A post that was found and not drawn: in no round."""
    return rows["purged"].append("x:1")


def other_guideline(files):
    name = next(name for name in files if "/guidelines/" in name)
    files[name] += b"One more rule."


def in_table(name, change):
    def tamper(files):
        schema = pq.read_schema(io.BytesIO(files[name]))
        rows = change(pq.read_table(io.BytesIO(files[name])).to_pandas())
        out = io.BytesIO()
        pq.write_table(pa.Table.from_pandas(rows, schema=schema, preserve_index=False), out)
        files[name] = out.getvalue()

    return in_bundle(tamper)


def other_seed(files):
    files["study.toml"] = files["study.toml"].replace(b"seed = 20220405", b"seed = 7")


def gone(name):
    def tamper(folder):
        (folder / name).unlink()

    return tamper


def half_sample(rows):
    return rows.assign(p_sample=rows["p_sample"] / 2)


def opened_earlier(files):
    """Set back when a round was opened, and mend the record's own hash."""
    name = "annotation/rounds/001/round.json"
    about = json.loads(files[name])
    about["opened_at"] = about["opened_at"].replace("2026", "2020", 1)
    about["sha256"] = own_hash(about, "sha256")
    files[name] = (json.dumps(about, ensure_ascii=False, indent=1, sort_keys=True) + "\n").encode()


TAMPERINGS = {
    "a label in one format": one_format,
    "a label in all formats": in_every_format(first("label", other_label)),
    "how a label came about": in_every_format(first("how", lambda how: "agreed" if how != "agreed" else "single")),
    "a row taken out": in_every_format(lambda corpus: corpus.iloc[1:].reset_index(drop=True)),
    "rows cut from the Hugging Face copy": short_hub_copy,
    "a column more in the Hugging Face copy": hub_copy_with_a_column,
    "an item twice in the parts": in_csv("splits.csv", lambda rows: pd.concat([rows, rows.head(1)])),
    "p_sample and weight": in_every_format(half_the_chance),
    "group_size": in_every_format(first("group_size", lambda size: size + 3)),
    "a kind": in_every_format(first("kind", lambda kind: "title" if kind != "title" else "keywords")),
    "a claim's words": in_every_format(first("claim", lambda claim: claim + "!")),
    "a day": in_every_format(first("created_at", lambda _: "2019-01-01T00:00:00Z")),
    "kappa on the card": in_text("card.md", "0.6", "0.8"),
    "kappa in the facts": in_facts(lambda facts: facts["kappa"].update(value=0.9)),
    "a count on the card": in_text("card.md", "posts labelled", "thousand posts labelled"),
    "a count in the methods": in_text("methods.md", "posts on", "000 posts on"),
    "a number of the statistics": in_text("statistics.json", '"smallest": 1', '"smallest": 2'),
    "a table of the statistics": in_text("statistics.tex", "Posts per claim", "Posts a claim"),
    "per_claim": in_facts(lambda facts: facts["sampling"].update(per_claim=48)),
    "minimum_words": in_facts(lambda facts: facts["cleaning"].update(minimum_words=3)),
    "left out": in_facts(lambda facts: facts["left_out"].update(purged=3)),
    "an audit": in_facts(lambda facts: facts["audit"].update(changed=0, audited=9)),
    "made ids": in_facts(lambda facts: facts.update(made_ids=9)),
    "platforms": in_facts(lambda facts: facts["platforms"].update(X=9)),
    "what a person said": in_annotations(lambda rows: rows.assign(label=rows["label"].replace("favor", "neither"))),
    "who said it": in_annotations(lambda rows: rows.assign(annotator="p1")),
    "people's labels taken out": in_annotations(lambda rows: rows.iloc[10:]),
    "a soft label": in_text("soft_labels.csv", ",1.0,", ",0.9,"),
    "the licence": in_text("croissant.json", "No licence has been stated", "CC0-1.0"),
    "an author": in_text("datacite.json", ":tba", "Mallory"),
    "the citation": in_text("citation.bib", "@misc", "@article"),
    "a type": in_text("datapackage.json", '"type": "string"', '"type": "number"'),
    "a reader": in_text("read_with_r.R", "character", "numeric"),
    "the hub's header": in_text("huggingface/README.md", "pretty_name", "ugly_name"),
    # the ten that passed once are among these; the tenth, "seconds", has a test of its own below
    "a reason": in_facts(lambda facts: facts["flow"][1]["reasons"].update({"too long": 3})),
    "how many were dropped": in_facts(lambda facts: facts["flow"][2].update(dropped_pairs=1)),
    "a label of the hub": lambda folder: write_corpus(
        folder / "huggingface" / "train.parquet",
        first("label", other_label)(read_corpus(folder / "huggingface" / "train.parquet")), text=False,
    ),
    "an id": in_every_format(first("native_id", lambda native: native[:-1] + ("7" if native[-1] != "7" else "8"))),
    "a post": in_every_format(first("post_id", lambda post: post + "1")),
    "a claim": in_every_format(first("claim_id", lambda _: "elsewhere")),
    "a weight": in_every_format(first("weight", lambda weight: weight * 1.01)),
    "p_claim": in_every_format(first("p_claim", lambda p: p * 0.9)),
    "a row twice": in_every_format(lambda corpus: pd.concat([corpus, corpus.head(1)], ignore_index=True)),
    "an empty label": in_every_format(first("label", lambda _: "")),
    "a group of no posts": in_every_format(first("group_size", lambda _: 0)),
    "the order of rows": in_every_format(lambda corpus: corpus.iloc[::-1].reset_index(drop=True)),
    "a row less in CSV": in_csv("corpus.csv", lambda rows: rows.iloc[1:]),
    "a digit of an id in CSV": in_csv("corpus.csv", cell("native_id", lambda native: native[:-1] + "0000")),
    "a part": in_csv("splits.csv", cell("part", lambda part: "test" if part != "test" else "train")),
    "two parts swapped": in_csv("splits.csv", swapped),
    "a group": in_csv("splits.csv", cell("group", lambda group: group + "x")),
    "an item without a part": in_csv("splits.csv", lambda rows: rows.iloc[1:]),
    "an unheard-of part": in_csv("splits.csv", cell("part", lambda _: "secret")),
    "all to train": in_csv("splits.csv", lambda rows: rows.assign(part="train")),
    "a file of a part": gone("huggingface/train.parquet"),
    "a replicate weight": in_csv("replicate_weights.csv", cell("weight_1", lambda weight: str(float(weight) + 0.5))),
    "a replicate": in_csv("replicate_weights.csv", lambda rows: rows.drop(columns="weight_2")),
    "words in the footer of the Hugging Face copy": hub_copy_with_words,
    "a corpus beside the parts": a_copy_beside_the_parts,
    "a licence that nobody gave": a_licence,
    "two lines of the design swapped": design_turned_round,
    "a column of labels in the bundle": in_bundle(labels_with_a_column),
    "a key of the settings in the bundle": in_bundle(lambda files: files.update({"study.toml": files["study.toml"] + b"\n# more\n"})),
    "a byte before a round": in_bundle(
        lambda files: files.update({"annotation/rounds/001/round.json": b" " + files["annotation/rounds/001/round.json"]})
    ),
    "no guideline of today": without("annotation/guideline.md"),
    "another effective size": in_text("statistics.json", '"effective_n": ', '"effective_n": 1'),
    "a weight among the replicates": in_csv("replicate_weights.csv", cell("weight", lambda weight: str(float(weight) * 2))),
    "a rule": in_every_format(first("automatic_label", lambda rule: "" if rule else "favor")),
    "a design": in_every_format(first("design", lambda _: "two_phase")),
    "a chance of a check": in_every_format(first("p_audit", lambda chance: chance / 2)),
    "whether all have labels": in_text("design.json", '"complete":true', '"complete":false'),
    "no design": gone("design.json"),
    "a label in COVMis-Stance's shape": in_csv("covmis_stance.csv", cell("label", other_label)),
    "an id in COVMis-Stance's shape": in_csv("covmis_stance.csv", cell("tweet_id", lambda native: native + "0")),
    "a rule in COVMis-Stance's shape": in_csv("covmis_stance.csv", cell("auto", lambda auto: str(auto == "False"))),
    "a claim's words in the list": in_csv("misinformation.csv", cell("mis", lambda words: words + "!")),
    "a query": in_csv("misinformation.csv", cell("keywords", lambda query: query + " hoax")),
    "a claim less": in_csv("misinformation.csv", lambda rows: rows.iloc[1:]),
    "a script on the card": in_text("card.html", "<html", "<svg><script>alert(1)</script></svg><html"),
    "a page within a drawing": in_text("statistics.html", "</svg>", "<foreignObject><p>.97</p></foreignObject></svg>"),
    "a script of a drawing": in_text("statistics.html", "<svg ", '<svg onload="alert(1)" '),
    "a key of the facts": in_facts(lambda facts: facts.update(kappa_of_others=0.97)),
    "an earlier version": in_facts(lambda facts: facts.update(version="0.2.0")),
    "a version that never was": in_facts(lambda facts: facts.update(version="0.1.9")),
    "a file more, with its checksum": with_a_file("errata.md"),
    "a program, with its checksum": with_a_file("huggingface/conftest.py"),
    "a script for R": in_text("estimates.R", "0.5 / (1 / loose", "0.1 / (1 / loose"),
    "a script for Python": in_text("estimates.py", "0.5 / (1 / loose", "0.1 / (1 / loose"),
    "a script for svy": in_text("estimates_svy.py", "1 - 1 / len(repeated)", "1 / len(repeated)"),
    "a seal in the crate": in_text("ro-crate-metadata.json", '"propertyID": "sha256"', '"propertyID": "md5"'),
    "a stage in the facts": in_facts(lambda facts: facts["stages"][0].update(version="9")),
    "the crate's licence": in_text("ro-crate-metadata.json", "No licence has been stated", "CC0-1.0"),
    "the settings told": in_text("settings.toml", "minimum_words = 10", "minimum_words = 3"),
    "codemeta": in_text("codemeta.json", '"datePublished": "', '"datePublished": "1'),
    "the citation's year": in_text("citation.bib", "year = {", "year = {1"),
    "a reader for pandas": in_text("read_with_pandas.py", '"native_id": "str"', '"native_id": "float64"'),
    "a claim's size": in_json("statistics.json", lambda told: told["per_claim"][0].update(total=99)),
    "a share": in_json("statistics.json", lambda told: told["shares"][0].update(share=0.99)),
    "an interval": in_json("statistics.json", lambda told: told["shares"][0].update(low=0.0)),
    "a month": in_json("statistics.json", lambda told: told["per_month"].pop()),
    "the title": in_facts(lambda facts: facts.update(title="Another corpus")),
    "how many annotators": in_facts(lambda facts: facts.update(annotators=40)),
    "simulated": in_facts(lambda facts: facts["release"].update(simulated=False)),
    "a round's seal": in_facts(lambda facts: facts["rounds"][0].update(seal="0" * 64)),
    "a round's kappa": in_facts(lambda facts: facts["rounds"][0]["kappa"].update(value=0.99)),
    "a period": in_facts(lambda facts: facts.update(period=["1999-01-01", "1999-01-02"])),
    "near-copies in two parts": in_facts(lambda facts: facts["parts"].update(near_copies=4)),
    "a page": in_text("card.html", "posts", "messages"),
    "a soft label's people": in_csv("soft_labels.csv", cell("people", lambda _: "7")),
    "a phase": in_annotations(lambda rows: rows.assign(phase="discussion")),
    "gold beside what people said": in_annotations(lambda rows: rows.assign(gold="favor")),
    "annotations in one format": in_csv("annotations.csv", cell("label", other_label)),
    "labels in the bundle": in_table("annotation/rounds/001/labels.parquet", lambda rows: rows.assign(label="favor")),
    "decisions in the bundle": in_table("annotation/rounds/001/decisions.parquet", lambda rows: rows.assign(label="favor")),
    "probabilities in the bundle": in_table("annotation/rounds/002/items.parquet", half_sample),
    "the sample in the bundle": in_table("data/build/sample.parquet", half_sample),
    "an item less in the bundle": in_table("data/build/sample.parquet", lambda rows: rows.iloc[1:]),
    "items in the bundle": in_table("data/build/items.parquet", lambda rows: rows.iloc[: len(rows) // 2]),
    "the corpus in the bundle": in_table("data/release/corpus.parquet", lambda rows: rows.assign(label="favor")),
    "the seed in the bundle": in_bundle(other_seed),
    "no corpus in the bundle": in_bundle(lambda files: files.update({"data/release/corpus.parquet": b"PAR1"})),
    "a claim's words in the bundle's list": in_bundle(
        lambda files: files.update({"queries/claims.csv": files["queries/claims.csv"].replace(b"a", b"o", 40)})
    ),
    "a claim less in the bundle's list": in_bundle(
        lambda files: files.update({"queries/claims.csv": files["queries/claims.csv"].rpartition(b"c6")[0]})
    ),
    "no claim list in the bundle": without("queries/claims.csv"),
    "hits cut": in_table("data/build/hits.parquet", lambda rows: rows.iloc[:-40]),
    "what found a hit": in_table("data/build/hits.parquet", lambda rows: rows.assign(kind="title")),
    "dropped cut": in_table("data/build/dropped.parquet", lambda rows: rows.iloc[:-40]),
    "why posts were dropped": in_table("data/build/dropped.parquet", lambda rows: rows.assign(reason="too old")),
    "a query less": in_table("data/build/queries.parquet", lambda rows: rows.iloc[1:]),
    "a query's words": in_table("data/build/queries.parquet", lambda rows: rows.assign(text="hoax")),
    "a claim's words in the bundle's table": in_table("data/build/claims.parquet", lambda rows: rows.assign(text="Hoax.")),
    "no hits in the bundle": without("data/build/hits.parquet"),
    "no tables in the bundle": in_bundle(
        lambda files: [files.pop(name) for name in list(files) if name.startswith("data/build/")]
    ),
    "an earlier guideline": in_bundle(other_guideline),
    "a round's guideline": inside("annotation/rounds/001/guideline.md", b"e", b"a"),
    "a round's agreement": inside("annotation/rounds/001/report.json", b"0.", b"1."),
    "agreement over all rounds": inside("annotation/rounds/summary.json", b'"value": 0.', b'"value": 1.'),
    "no agreement over all rounds": without("annotation/rounds/summary.json"),
    "a purged post that nobody drew": in_manifest(forgotten),
    "a purged post of the corpus": in_manifest(lambda told: told["purged"].append("x:1250000000000000000")),
    "a seal": without("annotation/rounds/001/seal.json"),
    "a key twice in a seal": in_bundle(with_a_key_twice),
    "the last seal": without("annotation/rounds/002/seal.json"),
    "all seals": in_bundle(lambda files: [files.pop(f"annotation/rounds/00{number}/seal.json") for number in (1, 2)]),
    "a round": in_bundle(
        lambda files: [files.pop(name) for name in list(files) if name.startswith("annotation/rounds/002/")]
    ),
    "a pilot": inside("annotation/rounds/001/round.json", b'"pilot": false', b'"pilot": true'),
    "a round's labels": inside("annotation/rounds/002/round.json", b'"neither"', b'"nothing"'),
    "no facts": gone("facts.json"),
    "no facts in the bundle": without("data/release/facts.json"),
    "no settings in the bundle": without("study.toml"),
    "no bundle": gone("bundle.zip"),
    "no card": gone("card.md"),
    "no root hash": in_facts(lambda facts: facts.update(root="")),
    "another root hash": in_facts(lambda facts: facts.update(root="0" * 64)),
    "the guideline of today": inside("annotation/guideline.md", b"e", b"a"),
    "when a round was opened": in_bundle(opened_earlier),
    "the settings of today": inside("study.toml", b"claims_per_round = 12", b"claims_per_round = 9"),
    "versions of libraries": in_manifest(lambda told: told["versions"].update(duckdb="0.1")),
    "how long people took": in_annotations(lambda rows: rows.assign(time="below 5 s")),
    "how long posts are": in_json("statistics.json", lambda told: told["lengths"][0].update(mean=9.0)),
    "the licence's checksum": in_text("croissant.json", '"sha256": "', '"sha256": "0'),
}  # fmt: skip


@contextmanager
def at_once():
    """Read foreign files in this process: what is tried here is what is noticed, not what a file can do to its reader."""

    def here(act, given, **_):
        for arguments in given:
            try:
                yield act(*arguments)
            except InputError as error:
                yield error

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(children, "each_in_child", here)
        yield


def first_failed(folder, *, bundle_first=False) -> list[str]:
    """What `covmis verify` says first that is wrong: of the release by itself, or of its bundle."""
    parts = [
        check_release,
        *([lambda folder: of_bundle(folder / BUNDLE, folder)] if (folder / BUNDLE).is_file() else []),
    ]
    try:
        for part in reversed(parts) if bundle_first else parts:
            if wrong := [check.what for check in part(folder) if not check.passed]:
                return wrong
    except CovmisError as error:  # refused in one line is noticed, too
        return [str(error)]
    return []


OFTEN = {
    "a script on the card", "a page within a drawing", "a script of a drawing", "a key of the facts", "a version that never was", "an earlier version",
    "a file more, with its checksum", "a program, with its checksum",
    "a file of a part",
    "a label in one format", "rows cut from the Hugging Face copy", "who said it", "a soft label", "a group",
    "a design", "a label in COVMis-Stance's shape", "a query", "gold beside what people said",
    "labels in the bundle", "probabilities in the bundle", "the corpus in the bundle", "no corpus in the bundle",
    "a claim's words in the bundle's list", "no claim list in the bundle", "no tables in the bundle", "what found a hit",
    "an earlier guideline", "agreement over all rounds", "a purged post that nobody drew", "the last seal",
    "a round", "a round's labels", "no facts", "no settings in the bundle", "a count on the card", "the licence",
    "a script for R", "a type", "codemeta", "a page", "a row taken out", "annotations in one format", "per_claim",
    "a reason", "a claim's words in the list", "a share", "the sample in the bundle", "the seed in the bundle",
    "no agreement over all rounds", "no card", "a post", "a row twice", "a group of no posts", "p_claim",
    "an empty label", "words in the footer of the Hugging Face copy", "a licence that nobody gave", "a column of labels in the bundle",
    "a byte before a round", "how long people took",
}  # fmt: skip
"""Tried in every run: each check of `covmis verify` notices one of them, and what one check alone notices is here."""
OF_THE_ROOT = {"no bundle", "no facts in the bundle", "no root hash", "another root hash"}
"""With a root hash made anew they are no changes: a release without a bundle, or the same one."""
ROOT_ALONE = {
    "the guideline of today", "when a round was opened", "the settings of today", "versions of libraries",
}  # fmt: skip
"""Nothing else says the same: whoever makes the root hash anew is found out only by those who have the old one."""


def failed(folder) -> list[str]:
    try:
        return [check.what for check in verify(folder) if not check.passed]
    except CovmisError as error:  # refused in one line is noticed, too
        return [str(error)]
