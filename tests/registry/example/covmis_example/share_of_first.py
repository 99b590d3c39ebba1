"""A measure: the share of items to which a system gives the first label."""

from covmis_build.evaluation.measure import Citation, Measure
from covmis_build.stats.confusion import ratio

SHARE = Measure(
    "share_of_first", "S1", "Share of the first label", Citation("A paper of theirs"),
    lambda counts: ratio(counts.predicted[0], counts.total), "predicted first / N",
)  # fmt: skip
NOT_ONE = 7
