"""Makes typed results of JSON."""

from __future__ import annotations

import dataclasses
import functools
import keyword
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

T = TypeVar("T")


def decode(kind: type[T], value: Mapping[str, Any]) -> T:
    """An object of a dataclass. Keys that the class has no field for are left out, as of a newer program.

    >>> from holdup.results import Place
    >>> decode(Place, {"file": "train.py", "line": 7, "function": "step", "new": 1})
    Place(file='train.py', line=7, function='step')
    """
    read: Callable[[Any], T] = _reader(typing.cast(Any, kind))
    return read(value)


@functools.cache
def _reader(kind: Any) -> Callable[[Any], Any]:
    """A function that makes a value of a type from JSON."""
    if dataclasses.is_dataclass(kind):
        return _object_reader(kind)
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is tuple:
        element = _reader(arguments[0])
        return lambda values: tuple(map(element, values))
    if origin in (types.UnionType, typing.Union):
        some = [each for each in arguments if each is not types.NoneType]
        reader = _reader(some[0]) if len(some) == 1 else _same
        return lambda value: None if value is None else reader(value)
    return _same


def _object_reader(kind: Any) -> Callable[[Any], Any]:
    hints = typing.get_type_hints(kind)
    fields = [(field.name, field.name.rstrip("_") if keyword.iskeyword(field.name.rstrip("_")) else field.name)
              for field in dataclasses.fields(kind) if field.init and field.name in hints]
    readers: dict[str, Callable[[Any], Any]] = {}

    def read(value: Mapping[str, Any]) -> Any:
        if not readers:
            readers.update((name, _reader(hints[name])) for name, _ in fields)
        return kind(**{name: readers[name](value[key]) for name, key in fields if key in value})

    return read


def _same(value: Any) -> Any:
    return value
