"""Posts of a forum: a line a post, and its tables."""

import json

from covmis_build.archive.post import Post

ID = "talk_id"


def recognises_line(row):
    return {"talk_id", "words"} <= row.keys()


def read(line):
    return [post(json.loads(line))]


def recognises_header(header):
    return {"talk_id", "words"} <= header


def post(row):
    native = str(row["talk_id"])
    return Post(f"talk:{native}", native, "talk", row["words"], row.get("day", ""))
