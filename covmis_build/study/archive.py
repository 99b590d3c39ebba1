"""Every post of the archive, for questions of one's own: in SQL, as an Arrow dataset, as a DataFrame."""

from __future__ import annotations

from typing import TYPE_CHECKING

from covmis_build import tables
from covmis_build.archive.store import POSTS
from covmis_build.building.store import files_here, files_of
from covmis_build.engine.port import quiet
from covmis_build.errors import InputError, counted

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import duckdb
    import pandas as pd
    from pyarrow.dataset import Dataset

    from covmis_build.places import Places


class ArchivePosts:
    """The posts of the archive as the last run read them.

    SQL sees two tables: `posts` has each post once (the copy that counts), `copies` has every row that was read.
    """

    def __init__(self, places: Places) -> None:
        parts, older = files_of(places), places.table("older_copies")
        missing = [path for path in (places.table("parts"), older, *parts) if not path.exists()]
        if missing:
            raise InputError("is missing", file=missing[0], remedy="Make it with `covmis run read`")
        if not parts:
            raise InputError("the archive has no posts", file=places.archives[0], remedy="Put posts there")
        self.parts = files_here(places)
        self._older = older

    def sql(self, query: str) -> duckdb.DuckDBPyRelation:
        """The answer to a query over `posts` and `copies`, as a relation of DuckDB: `.df()`, `.fetchall()`, `.arrow()`."""
        import duckdb

        connection = quiet(duckdb.connect())
        connection.execute(f"CREATE VIEW store AS SELECT * FROM read_parquet({_listed(self.parts)})")
        connection.execute("CREATE VIEW copies AS FROM store")
        connection.execute(f"CREATE VIEW older AS SELECT * FROM read_parquet({_listed([self._older])})")
        connection.execute(f"CREATE VIEW posts AS {POSTS}")
        return connection.sql(query)

    def arrow(self) -> Dataset:
        """Every row that was read, as a dataset of Arrow: nothing is loaded before it is requested."""
        import pyarrow.dataset

        return pyarrow.dataset.dataset([str(path) for path in self.parts])

    def to_pandas(self, columns: Sequence[str] = (), where: str = "") -> pd.DataFrame:
        """The posts, each once, in the order of their ids; `where` is a condition in SQL. `created_at` is a time."""
        chosen = ", ".join(columns) or "*"
        condition = f" WHERE {where}" if where else ""
        posts = self.sql(f"SELECT {chosen} FROM posts{condition} ORDER BY post_id")
        return tables.with_times(tables.frame(posts.to_arrow_table()))

    def __len__(self) -> int:
        """Count the posts."""
        (count,) = self.sql("SELECT count(*) FROM posts").fetchall()[0]
        return int(count)

    def __repr__(self) -> str:
        return f"<{counted(len(self), 'posts')} of an archive: .sql(…), .arrow(), .to_pandas(columns, where)>"


def _listed(paths: Sequence[Path]) -> str:
    quoted = (str(path).replace("'", "''") for path in paths)
    return "[" + ", ".join(f"'{path}'" for path in quoted) + "]"
