"""A crawl in a process of its own, for tests that kill it: waits are skipped, everything else is real."""

from __future__ import annotations

import sys
import time

if __name__ == "__main__":  # never where somebody imports JOBS: nothing in that process would wait any more
    time.sleep = lambda seconds: None

from covmis_build import credentials
from covmis_build.addresses import place
from covmis_build.collecting.crawl import Crawl, Job, crawl
from covmis_build.collecting.prices import read_prices
from covmis_build.collecting.sources import x

JOBS = [
    Job("x", f"c{number}", "c", "keywords", word, word, "", "2021-01-01T00:00:00Z", "all")
    for number, word in enumerate(("mast", "virus"))
]

if __name__ == "__main__":
    x.PAGES = {"all": 10}
    session = x.connect(credentials.need("X_BEARER_TOKEN"))
    how = Crawl(x.searcher(session), x.platform("all"), read_prices("x"))
    done = crawl(JOBS, place(sys.argv[1]), how, lambda *_: None)
    sys.exit(done.finished + done.already != len(JOBS))
