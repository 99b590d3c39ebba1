"""The chance of an audit, where no file says it."""

import numpy as np
import pandas as pd
import pytest

from covmis_build.sampling.audit import AUDITED, AUTOMATIC, chances_of_checks


@pytest.mark.parametrize(("audited", "chance"), [(2, 0.5), (1, 0.25), (0, 0.25)])
def test_it_is_the_audited_share_and_never_zero(audited, chance):
    """Where none of n was audited it is 1/n: an item that nobody could check would have no weight."""
    how = [AUDITED] * audited + [AUTOMATIC] * (4 - audited)
    found = chances_of_checks(pd.DataFrame({"how": how}), ["favor"] * 4, np.full(4, np.nan))
    assert found.tolist() == [chance] * 4


def test_a_stored_chance_counts_and_what_people_labelled_is_certain():
    table = pd.DataFrame({"how": [AUDITED, AUTOMATIC, "agreed"]})
    found = chances_of_checks(table, ["favor", "favor", ""], np.array([0.1, 0.2, np.nan]))
    assert found.tolist() == [0.1, 0.2, 1.0]
