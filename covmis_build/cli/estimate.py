"""`covmis estimate` and `sample`: what share of the posts favours, and what a sample costs that says it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from covmis_build.cli.verbs import Where, bound, made
from covmis_build.errors import InputError
from covmis_build.operations import operation
from covmis_build.study.study import study_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from covmis_build.operations import Operation


def _of_study_or_corpus(asked: Operation, given: Mapping[str, Any], where: Where) -> Callable[..., Any]:
    """The study's estimate; of a corpus outside every study, the one from its own columns."""
    corpus = given.get("corpus")
    study = study_of(corpus, where.study) if corpus else None
    if corpus is None or study:
        return bound(asked, given, where._replace(study=study.folder) if study else where)
    outside = operation("study.estimate_corpus:estimate_corpus")
    for parameter in asked.parameters:
        value = given.get(parameter.name, parameter.default)
        if parameter.name not in outside.others and value != parameter.default:
            raise InputError(
                f"{parameter.flag} needs the study of the corpus", file=corpus, remedy="Estimate in its study"
            )
    estimate = outside.load()
    return lambda **own: estimate(**{name: own[name] for name in own if name in outside.others})


estimate = made("estimate", _of_study_or_corpus)
sample = made("sample")
