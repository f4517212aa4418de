"""The tables of a trace, for pandas and Arrow."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdup._program import run

if TYPE_CHECKING:
    import pandas
    import pyarrow


class Table:
    """A table of a trace. Any library that reads Arrow's C streams takes it: `polars.from_arrow(table)`,
    `duckdb.sql("from table")`. Columns whose names end in `_ns` are nanoseconds from the trace's start."""

    def __init__(self, name: str, path: Path, folder: tempfile.TemporaryDirectory[str]) -> None:
        self.name = name
        """The table's name."""
        self._path = path
        self._folder = folder

    def to_arrow(self) -> pyarrow.Table:
        """The table in Arrow.

        Raises:
            ImportError: pyarrow is missing.
        """
        return _parquet().read_table(self._path)

    def to_pandas(self) -> pandas.DataFrame:
        """The table in pandas; integers that the trace may not state are of the type `Int64`.

        Raises:
            ImportError: pandas or pyarrow is missing.
        """
        import pandas

        table = self.to_arrow()
        nullable = {name for name in table.column_names if table.column(name).null_count}
        frame: pandas.DataFrame = table.to_pandas(integer_object_nulls=True)
        for name in nullable:
            if str(table.schema.field(name).type) == "int64":
                frame[name] = frame[name].astype(pandas.Int64Dtype())
        return frame

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return f"<Table {self.name}>"

    def _repr_html_(self) -> str:
        html: str = self.to_pandas()._repr_html_()
        return html


class Tables(Mapping[str, Table]):
    """The tables of a trace by name, with names of threads and calls instead of row numbers; docs/export.md describes them.
    The trace is exported when a table is first asked for.

    >>> tables = Tables("examples/recorded-d2h-stall.holdup")
    >>> "calls" in tables, len(tables) > 15
    (True, True)
    >>> tables["ops"].to_arrow().num_rows
    1445
    """

    def __init__(self, path: str | os.PathLike[str], selection: tuple[str, ...] = ()) -> None:
        self.path = os.fspath(path)
        """The trace."""
        self._selection = selection
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def _exported(self) -> Path:
        if self._folder is None:
            folder = tempfile.TemporaryDirectory(prefix="holdup-")
            arguments = ["export", "--format", "parquet", "--names", "--output", f"{folder.name}/tables"]
            run([*arguments, *self._selection, "--", self.path])
            self._folder = folder
        return Path(self._folder.name) / "tables"

    def __getitem__(self, name: str) -> Table:
        path = self._exported() / f"{name}.parquet"
        if not path.is_file() or self._folder is None:
            raise KeyError(name)
        return Table(name, path, self._folder)

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(path.stem for path in self._exported().glob("*.parquet")))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    @property
    def meta(self) -> dict[str, Any]:
        """What the trace states of itself: source, command, host, versions, losses."""
        read: dict[str, Any] = json.loads((self._exported() / "meta.json").read_text())
        return read


def _parquet() -> Any:
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError("tables need pyarrow: pip install 'holdup[pandas]'") from error
    return pyarrow.parquet
