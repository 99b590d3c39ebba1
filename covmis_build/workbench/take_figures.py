"""Figures to take into a paper: those of a report, or of the estimates, as a zip of SVG, PDF or PNG files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.exceptions import HTTPException
from starlette.responses import Response

from covmis_build.report.figure_files import figure_format, figures_in, figures_of
from covmis_build.study.released import packed_files
from covmis_build.workbench.bench import bench_of
from covmis_build.workbench.release import files_of
from covmis_build.workbench.results import estimated

if TYPE_CHECKING:
    from starlette.requests import Request

    from covmis_build.report.figure_files import Figure


def of_report(request: Request) -> Response:
    """The figures of a page among the study's files."""
    path = files_of(bench_of(request)).get(request.path_params["name"])
    if path is None or path.suffix != ".html":
        raise HTTPException(404)
    return _zip(request, figures_of(path), path.stem)


def of_results(request: Request) -> Response:
    """The figures of the estimates that the results page shows: shares of claims and over time."""
    bench = bench_of(request)
    return _zip(request, figures_in(estimated(bench).html(bench.study.settings.title)), "estimates")


def _zip(request: Request, figures: list[Figure], stem: str) -> Response:
    wanted = figure_format(request.query_params.get("format", "svg"))
    if not figures:
        raise HTTPException(404)
    data = packed_files({f"{stem}/{each.file_name(wanted)}": each.in_format(wanted) for each in figures})
    named = {"content-disposition": f'attachment; filename="{stem}-{wanted}.zip"'}
    return Response(data, media_type="application/zip", headers=named)
