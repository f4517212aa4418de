"""Compares this thread's stack as the library reads it with the interpreter's own.

Usage: stacks.py LIBRARY cdll|pydll     (cdll: without the GIL, pydll: with it)
"""

import asyncio
import contextlib
import ctypes
import functools
import gc
import os
import sys
import threading

load = {"cdll": ctypes.CDLL, "pydll": ctypes.PyDLL}[sys.argv[2]]
lib = load(sys.argv[1])
SIZE = 1 << 20
local = threading.local()
seen = 0
# Not raised: callbacks and __del__ would swallow it.
differences = []


def text(string, most):
    """What fits of a string, as the library is to write it."""
    string = "".join("\ufffd" if 0xD800 <= ord(c) < 0xE000 else c for c in string)
    return string.encode()[:most].decode(errors="ignore")


def stack(frame):
    frames = []
    while frame:
        code = frame.f_code
        name = code.co_qualname if sys.version_info >= (3, 11) else code.co_name
        frames.append((text(code.co_filename, 4096), text(name, 1024), code.co_firstlineno, frame.f_lineno or 0))
        frame = frame.f_back
    return frames


def dump(function=lib.pystack_dump, most=2000):
    if not hasattr(local, "buffer"):
        local.buffer = ctypes.create_string_buffer(SIZE)
    length = function(local.buffer, SIZE, most)
    assert 0 <= length <= SIZE, length
    parts = ctypes.string_at(local.buffer, length).decode().split("\0")[:-1]
    return [(parts[i], parts[i + 1], int(parts[i + 2]), int(parts[i + 3])) for i in range(0, len(parts), 4)]


def same(got, want):
    global seen
    for index, (g, w) in enumerate(zip(got, want)):
        if g != w:
            differences.append(f"frame {index}: got {g}, want {w}")
            break
    if len(got) != len(want):
        differences.append(f"got {len(got)} frames, want {len(want)}")
    seen += len(got)


def probe(*_, **__):
    try:
        got, want = dump(), stack(sys._getframe())
    except AssertionError as error:
        differences.append(f"no stack: {error!r}")
        raise
    same(got[1:], want)  # without dump() itself
    same([got[0][1]], ["dump"])
    return len(got)


def nested():
    def inner(a, *, b):
        def innermost():
            return probe()

        return innermost()

    return inner(1, b=2)


class Thing:
    def method(self):
        return probe()

    @classmethod
    def of_class(cls):
        return cls().method()

    @staticmethod
    def of_nothing():
        return Thing.of_class()

    @property
    def prop(self):
        return self.of_nothing()

    def __getattr__(self, name):
        if name == "made_up":
            return self.prop
        raise AttributeError(name)

    def __add__(self, other):
        return self.made_up

    class Inner:
        def __init__(self):
            Thing() + 1


def comprehensions():
    lists = [probe() for _ in range(2)]
    sets = {probe() for _ in range(2)}
    dicts = {k: probe() for k in range(2)}
    return (lambda: [(lambda: probe())() for _ in lists])(), sets, dicts, sum(probe() for _ in range(2))


def generators():
    def numbers():
        yield probe()
        yield from others()
        yield probe()

    def others():
        for _ in range(2):
            yield (
                0
                + probe()
            )

    for _ in numbers():
        probe()
    sender = (lambda: (yield probe()))()
    next(sender)
    with contextlib.suppress(StopIteration):
        sender.send(probe())


def asynchronous():
    async def leaf():
        await asyncio.sleep(0)
        return probe()

    async def many():
        for _ in range(2):
            yield await leaf()

    @contextlib.asynccontextmanager
    async def around():
        probe()
        yield await leaf()
        probe()

    async def main():
        async for _ in many():
            probe()
        async with around():
            await asyncio.gather(leaf(), leaf())
        return [x async for x in many()]

    asyncio.run(main())


def decorated():
    def twice(function):
        @functools.wraps(function)
        def wrapper(*args):
            function(*args)
            return function(*args)

        return wrapper

    @twice
    @functools.lru_cache(maxsize=None)
    def work(x):
        return probe()

    with contextlib.ExitStack() as exits:
        exits.callback(probe)
        work(1)


def multi_line():
    probe(
        1,
        [
            probe(),
            2,
        ],
        key=probe(
            3
        ),
    )
    (
        Thing()
        .method()
    )
    value = {
        "a": probe(),
        "b": max(
            probe(),
            probe(),
        ),
    }
    assert (
        probe()
        and value
    ), probe()
    for _ in (
        probe(),
        probe(),
    ): probe(); probe()
    try:
        raise ValueError(
            probe()
        )
    except ValueError:
        probe()
    finally:
        probe()
    with contextlib.nullcontext(
        probe()
    ):
        probe(
        )
    return f"""
    {probe()}
    """


def recursion(depth):
    if depth == 0:
        return probe()
    return recursion(
        depth - 1
    )


def through_c():
    """C code between Python frames."""
    list(map(lambda x: probe(), [1]))
    sorted([2, 1], key=probe)
    callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(lambda x: probe() and 0)
    callback(1)
    ctypes.PYFUNCTYPE(ctypes.c_int)(functools.partial(lambda: probe() and Thing.of_class()))()

    class Meta(type):
        def __call__(cls):
            probe()
            return super().__call__()

    class Made(metaclass=Meta):
        __slots__ = ()

        def __init__(self):
            probe()

        def __del__(self):
            probe()

    Made()
    eval("probe()")
    exec("def f():\n  probe()\n\nf()", globals())


def strange_code():
    def run(source, name):
        exec(compile(source, name, "exec"), {"probe": probe})

    run("\n\ndef outer():\n    probe()\nouter()", "<made up>")
    for name in ("caf\xe9", "\u65e5\u672c\u8a9e", "\U00010380"):
        run(f"class A{name}:\n  def {name}(self):\n    probe()\nA{name}().{name}()", f"/tmp/{name}/{name}.py")
    run("probe()", "/tmp/\udc80\udcffbroken")
    run("probe()", "")
    # Texts longer than what is reported, cut within a character.
    for text in ("x", "\xe9", "\u65e5", "\U00010380"):
        run("probe()", text * 4100)
        run("probe()", "y" + text * 4100)
    long = "f" + "g" * 2000
    run(f"def {long}(): probe()\n{long}()", "long")
    # Line tables longer than what is read at once, and steps that need long numbers.
    body = "".join(f"    x = [\n      {i},\n      x]; x = 1\n" for i in range(2000))
    run(f"def big():\n    x = 0\n{body}{chr(10) * 70000}    probe()\n{body}    (\n{chr(10) * 300}probe())\nbig()", "big")
    run("if 1:\n" + "".join(f"  x{i} = (1,\n2)\n" for i in range(500)) + "  probe()", "module")
    # A function that says it is elsewhere.
    code = compile("def moved(): probe()\nmoved()", "moved", "exec")
    exec(code.replace(co_firstlineno=123456), {"probe": probe})


def traced():
    """Bytecode is instrumented or lines are kept elsewhere while a debugger or profiler is at work."""
    for switch in (sys.settrace, sys.setprofile):
        switch(lambda *_: None if switch is sys.setprofile else tracer)
        try:
            multi_line()
            generators()
        finally:
            switch(None)
    if sys.version_info >= (3, 12):
        events = sys.monitoring.events
        sys.monitoring.use_tool_id(3, "test")
        sys.monitoring.set_events(3, events.LINE | events.CALL | events.INSTRUCTION)
        multi_line()
        generators()
        sys.monitoring.set_events(3, 0)
        sys.monitoring.free_tool_id(3)


def tracer(*_):
    return tracer


def threads():
    failures = []

    def work():
        try:
            for _ in range(50):
                nested()
                multi_line()
        except BaseException as error:
            failures.append(error)

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    while any(worker.is_alive() for worker in workers):
        gc.collect()
        [object() for _ in range(1000)]
    assert not failures, failures


def warmed():
    """Specialized bytecode."""
    for _ in range(300):
        Thing.Inner()
        nested()
    multi_line()


def unfinished():
    """Frames that are still being set up when garbage collection, before 3.12 at any allocation, runs Python code."""

    def with_cells(a, b):
        c = lambda: a + b
        return lambda: c() + a

    def with_generator(a):
        yield lambda: a

    calls = gc.get_threshold()
    hook = lambda *_: probe()
    gc.callbacks.append(hook)
    gc.set_threshold(1)
    for x in range(100):
        kept = [with_cells(x, x), [with_cells(y, x) for y in range(3)], with_generator(x), Thing()]
    gc.callbacks.remove(hook)
    gc.set_threshold(*calls)


def limits():
    whole = dump()
    for most in (0, 1, 2, len(whole)):
        assert dump(most=most)[1:] == dump()[1:most], most
    assert dump(lib.pystack_dump_elsewhere) == []


def forked():
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            nested()
            os._exit(len(differences) > 0)
        os._exit(1)
    assert os.waitpid(child, 0)[1] == 0


def at_exit():
    """A thread that walks while the interpreter goes away under it."""
    unlocked = ctypes.CDLL(sys.argv[1])
    threading.Thread(target=lambda: unlocked.pystack_spin(1000), daemon=True).start()


class Last:
    """Goes when the interpreter does, and then there is nothing to be told."""

    def __del__(self, dump=lib.pystack_dump, buffer=ctypes.create_string_buffer(SIZE), write=os.write):
        write(1, b"finalizing: %d\n" % dump(buffer, SIZE, 100))


sys.last = Last()
assert lib.pystack_version() == sys.version_info[0] * 100 + sys.version_info[1], lib.pystack_version()
forked()
for case in (nested, Thing.Inner, Thing.of_nothing, comprehensions, generators, asynchronous, decorated, multi_line,
             through_c, strange_code, warmed, traced, threads, unfinished, limits):
    try:
        case()
    except BaseException:
        print("failed:", getattr(case, "__qualname__", case), file=sys.stderr)
        raise
recursion(500)
assert not differences, f"{len(differences)} differences, the first: {differences[0]}"
at_exit()
print(f"{seen} frames alike", "{}.{}.{}".format(*sys.version_info), flush=True)
