"""One large file for many processes: which jobs are cut, and what is in one, in parts, as it is unpacked.

A part is read by `glance` as the job would be; all parts, in their order, give what the job gives.
"""

from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING

from covmis_build.addresses import place
from covmis_build.archive import formats, streams
from covmis_build.archive.reader import Part, file_of, first_line, open_job
from covmis_build.archive.streams import ZIP, Job, kind
from covmis_build.errors import InputError, doubted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from covmis_build.archive.reader import How

LARGE = 4 << 20
"""Packed bytes that are worth several processes; of what is not packed, four times as many."""
QUICK = {"gz", "zst"}
"""Packings that are unpacked several times faster than what is in them can be matched."""


def to_cut(jobs: Sequence[Job], cores: int) -> frozenset[Job]:
    """Jobs of which one process should hand the content to others: large, and nobody can begin in the middle.

    None where whole jobs keep all cores busy: handing on is work, too. What is slow to unpack is cut only where there is
    less of it than cores: it keeps one busy by itself.
    """
    large = {job: packing for job in jobs if (packing := _packing_of_large(job)) is not None}
    if not large or _even(map(_size, jobs), cores):
        return frozenset()
    slow = {job for job, packing in large.items() if packing not in {*QUICK, ""}}
    return frozenset(large.keys() - slow if len(slow) >= cores else large)


UNEVEN = 1.25
"""How much longer than an even share the busiest core may take."""


def _even(sizes: Iterable[int], cores: int) -> bool:
    """Whether jobs of these sizes take about as long on each core."""
    shares = [0] * cores
    for size in sorted(sizes, reverse=True):
        shares[shares.index(min(shares))] += size
    return max(shares) <= UNEVEN * sum(shares) / cores


def _size(job: Job) -> int:
    return job.end - job.start or place(job.path).stat().st_size


def _packing_of_large(job: Job) -> str | None:
    """How it is packed; None if it is not large, or a range of lines."""
    path = place(job.path)
    if job.member.startswith("\0") or (job.end and not job.member) or path.stat().st_size < LARGE:
        return None
    with path.open("rb") as file:
        if job.member and job.start == job.end == 0:
            with zipfile.ZipFile(file) as archive, archive.open(job.member) as member:
                size, packed = archive.getinfo(job.member).compress_size, kind(member.read(6)) or "gz"
        else:
            size = job.end - job.start if job.member else path.stat().st_size
            file.seek(job.start)
            head = file.read(6)
            packed = kind(head) or ("gz" if head.startswith((ZIP, b"PAR1")) else "")
    return packed if size >= (LARGE if packed else 4 * LARGE) else None


LARGE_PART = 4 << 20
"""Bytes that are worth sending to another process."""


def parts(job: Job, how: How) -> Iterator[Part]:
    """A job's content for others to match, in order, as it is unpacked; nothing if it can only be read as a whole."""
    rule = how.rule(job.name)
    if rule and rule.time_from_id:
        return
    table = job.kind == streams.TABLE
    blocks = _blocks_of_table(job, how) if table else streams.blocks(job, how.limits)
    before, waiting, size = ("", ""), list[streams.Block](), 0
    file, form = before
    for block in blocks:
        data = bytes(block.data)
        if block.file != file and (table or first_line(data)):
            file, form = block.file, "" if table else formats.detect(first_line(data))
        waiting.append(block._replace(data=data))
        size += len(data)
        if size >= LARGE_PART:
            yield Part(waiting, *before)
            before, waiting, size = (file, form), [], 0
    if waiting:
        yield Part(waiting, *before)


def _blocks_of_table(job: Job, how: How) -> Iterator[streams.Block]:
    name = file_of(job)
    try:
        cutting = open_job(job, how).table.cutting
    except InputError:
        return  # it is told when it is read
    if cutting is not None:
        with doubted(name):
            yield from (streams.Block(name, first, data) for first, data in cutting.parts())
