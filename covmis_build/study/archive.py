"""Query the archive's posts: with SQL, as an Arrow dataset, or as a DataFrame."""

from __future__ import annotations

from typing import TYPE_CHECKING

from covmis_build import checked_parquet, tables
from covmis_build.archive.store import POSTS
from covmis_build.building.store import files_here, files_of
from covmis_build.engine.port import quiet
from covmis_build.errors import InputError, counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    import duckdb
    import pandas as pd
    from pyarrow.dataset import Dataset

    from covmis_build.places import Places


class ArchivePosts:
    """The archive's posts as the last run imported them.

    SQL has two tables: `posts` has one row per post (the copy that counts), `copies` has every imported row.
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
        """Run a query on `posts` and `copies`. Returns a DuckDB relation: `.df()`, `.fetchall()`, `.arrow()`."""
        import duckdb

        connection = quiet(duckdb.connect())
        connection.execute(
            f"CREATE VIEW store AS SELECT * FROM read_parquet({checked_parquet.listed(self.parts)})"
        )
        connection.execute("CREATE VIEW copies AS FROM store")
        connection.execute(
            f"CREATE VIEW older AS SELECT * FROM read_parquet({checked_parquet.listed([self._older])})"
        )
        connection.execute(f"CREATE VIEW posts AS {POSTS}")
        return connection.sql(query)

    def arrow(self) -> Dataset:
        """Return every imported row as an Arrow dataset, which loads lazily."""
        import pyarrow.dataset

        for path in self.parts:
            checked_parquet.check(path)
        return pyarrow.dataset.dataset([str(path) for path in self.parts])

    def to_pandas(self, columns: Sequence[str] = (), where: str = "") -> pd.DataFrame:
        """Return the posts, one row each, ordered by id. `where` is an SQL condition. `created_at` is a time."""
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
