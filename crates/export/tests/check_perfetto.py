"""Reads the output of `holdup export --format perfetto` with Perfetto's own Python package, and compares it with the output of
holdup's other commands for the same trace.

    check_perfetto.py HOLDUP TRACE... [--trace-processor]

Needs the package `perfetto`. With --trace-processor, its trace processor reads the file too; the package downloads it.
"""

import collections
import csv
import json
import pathlib
import subprocess
import sys
import tempfile

from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TracePacket, TrackEvent

csv.field_size_limit(sys.maxsize)

CLEARED = TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
NEEDS = TracePacket.SEQ_NEEDS_INCREMENTAL_STATE
OPERATIONS = {"kernel", "memcpy", "memset", "operation"}


class Slice:
    def __init__(self, event, sequence, time, parent):
        self.track, self.start, self.end, self.parent = sequence.track, time, None, parent
        self.name = sequence.names[event.name_iid]
        (self.category,) = [sequence.categories[iid] for iid in event.category_iids]
        self.args = {sequence.keys[note.name_iid]: sequence.value(note) for note in event.debug_annotations}
        assert len(self.args) == len(event.debug_annotations), "an argument twice"

    def around(self):
        slice = self.parent
        while slice:
            yield slice
            slice = slice.parent


class Sequence:
    """Packets of one writer: their default track, the interned entries, and the open slices."""

    def __init__(self, packet):
        assert packet.sequence_flags & CLEARED and packet.first_packet_on_sequence
        self.track = packet.trace_packet_defaults.track_event_defaults.track_uuid
        self.names, self.categories, self.keys, self.values = {}, {}, {}, {}
        self.open, self.last = [], -1

    def intern(self, data):
        for entries, known in [
            (data.event_names, self.names),
            (data.event_categories, self.categories),
            (data.debug_annotation_names, self.keys),
        ]:
            for entry in entries:
                assert entry.iid > 0 and entry.iid not in known, "interned twice"
                known[entry.iid] = entry.name
        for entry in data.debug_annotation_string_values:
            assert entry.iid > 0 and entry.iid not in self.values, "interned twice"
            self.values[entry.iid] = entry.str.decode()

    def value(self, note):
        if note.array_values:
            return [self.value(item) for item in note.array_values]
        kind = note.WhichOneof("value")
        value = getattr(note, kind)
        return self.values[value] if kind == "string_value_iid" else value


class Stacks:
    """The interned stacks of a sequence of samples; the viewer drops a sample of which a part is missing."""

    def __init__(self):
        self.paths, self.functions, self.mappings, self.frames, self.stacks, self.open = {}, {}, {}, {}, {}, []

    def intern(self, data):
        for entries, known in [
            (data.mapping_paths, self.paths),
            (data.function_names, self.functions),
            (data.mappings, self.mappings),
            (data.frames, self.frames),
            (data.callstacks, self.stacks),
        ]:
            for entry in entries:
                assert entry.iid > 0 and entry.iid not in known, "interned twice"
                known[entry.iid] = entry
        for mapping in data.mappings:
            assert all(path in self.paths for path in mapping.path_string_ids)
        for frame in data.frames:
            assert frame.mapping_id in self.mappings and frame.function_name_id in self.functions
        for stack in data.callstacks:
            assert stack.frame_ids and all(frame in self.frames for frame in stack.frame_ids)

    def innermost(self, iid):
        return self.functions[self.frames[self.stacks[iid].frame_ids[-1]].function_name_id].str.decode()


class Opened:
    """A trace as a viewer reads it; output that breaks the format's rules fails here."""

    def __init__(self, path):
        trace = Trace()
        trace.ParseFromString(path.read_bytes())
        self.tracks, self.slices, self.instants = {}, [], []
        self.counters = collections.defaultdict(list)
        # (time, order in the file, slice) of each flow's ends.
        self.flows = collections.defaultdict(list)
        self.attributes, sequences = {}, {}
        # (time, thread id, innermost frame) of each sample.
        self.samples = []
        for at, packet in enumerate(trace.packet):
            assert not packet.HasField("track_event") or packet.sequence_flags & NEEDS
            if packet.HasField("track_descriptor"):
                self.describe(packet.track_descriptor)
            for attribute in packet.trace_attributes.attribute:
                self.attributes[attribute.key] = attribute.string_value or attribute.long_value
            number = packet.trusted_packet_sequence_id
            if packet.HasField("trace_packet_defaults"):
                assert number not in sequences
                sequences[number] = Sequence(packet)
                assert sequences[number].track in self.tracks, "an event's track is not described"
            elif packet.first_packet_on_sequence:
                assert number not in sequences and packet.sequence_flags & CLEARED
                sequences[number] = Stacks()
            if packet.HasField("perf_sample"):
                assert packet.sequence_flags & NEEDS
                sequences[number].intern(packet.interned_data)
                sample = packet.perf_sample
                frame = sequences[number].innermost(sample.callstack_iid) if sample.HasField("callstack_iid") else ""
                self.samples.append((packet.timestamp, sample.tid, frame))
            if packet.HasField("track_event"):
                sequence = sequences[number]
                sequence.intern(packet.interned_data)
                self.event(packet.track_event, packet.timestamp, sequence, at)
        for sequence in sequences.values():
            assert not sequence.open, "a slice without an end"

    def describe(self, track):
        assert track.uuid and track.uuid not in self.tracks, "a track twice"
        assert not track.parent_uuid or track.parent_uuid in self.tracks, "a parent that is not described"
        if track.HasField("thread"):
            assert self.tracks[track.parent_uuid].process.pid == track.thread.pid
        self.tracks[track.uuid] = track

    def event(self, event, time, sequence, at):
        assert time >= sequence.last, "time goes backwards on a track"
        sequence.last = time
        if event.type == TrackEvent.TYPE_SLICE_BEGIN:
            slice = Slice(event, sequence, time, sequence.open[-1] if sequence.open else None)
            sequence.open.append(slice)
            self.slices.append(slice)
        elif event.type == TrackEvent.TYPE_SLICE_END:
            slice = sequence.open.pop()
            slice.end = time
        elif event.type == TrackEvent.TYPE_COUNTER:
            field = event.WhichOneof("counter_value_field")
            self.counters[sequence.track].append((time, getattr(event, field)))
            assert self.tracks[sequence.track].HasField("counter")
            return
        else:
            self.instants.append(event)
            return
        for flow in event.flow_ids:
            self.flows[flow].append((time, at, slice))

    def thread(self, slice):
        """Process and thread id of a slice's track, or of the track that holds it."""
        track = self.tracks[slice.track]
        while not track.HasField("thread"):
            track = self.tracks[track.parent_uuid]
        return track.thread.pid, track.thread.tid


def written(text):
    """A name as the export writes it."""
    return text.replace("\0", "\u2400")


def same(found, listed):
    assert found == listed, (list((found - listed).items())[:3], list((listed - found).items())[:3])
    return found.total()


def check_ids(opened):
    """Every process has its own number, and every thread its own number in its process."""
    pids = [track.process.pid for track in opened.tracks.values() if track.HasField("process")]
    threads = [(t.thread.pid, t.thread.tid) for t in opened.tracks.values() if t.HasField("thread")]
    assert len(set(pids)) == len(pids) and min(pids) > 0
    assert len(set(threads)) == len(threads) and all(tid > 0 for _, tid in threads)


def check_calls(opened, calls):
    """The calls that `holdup calls` lists, to the nanosecond, on the threads it lists them for."""
    found = collections.Counter(
        (s.name, s.start, s.end - s.start, *opened.thread(s)) for s in opened.slices if s.category == "call"
    )
    listed = [(written(c["name"]), c["start_ns"], c["duration_ns"], c["pid"], c["tid"]) for c in calls]
    return same(found, collections.Counter(listed))


def check_ops(opened, ops):
    """The operations that `holdup ops` lists, in tracks of their stream on their device."""
    found = collections.Counter()
    for slice in opened.slices:
        if slice.category in OPERATIONS:
            track = opened.tracks[slice.track]
            found[slice.name, slice.start, slice.end - slice.start, track.name.split()[-1]] += 1
            assert opened.tracks[track.parent_uuid].process.process_name.startswith("GPU")
    listed = [(written(o["name"]), o["start_ns"], o["duration_ns"], str(o["stream"])) for o in ops]
    return same(found, collections.Counter(listed))


def own_call(opened, slice):
    """The outermost call around a slice, by nesting; by time if a loss crosses calls and has its own lane."""
    around = [other for other in slice.around() if other.category == "call"]
    if not around:
        holds = lambda call: call.start <= slice.start and slice.end <= call.end
        calls = [other for other in opened.slices if other.category == "call" and holds(other)]
        around = [call for call in calls if opened.thread(call) == opened.thread(slice)]
        around.sort(key=lambda call: call.end - call.start)
        assert slice.category == "loss", "a recorded wait lies in its call"
    return around[-1]


def check_waits(opened, waits, explanation):
    """The recorded waits of the trace, and for each finding the calls and the time that `holdup explain` reports."""
    slices = [s for s in opened.slices if s.category in ("wait", "loss")]
    found = collections.Counter((s.start, s.end, s.args.get("lock")) for s in slices if s.category == "wait")
    listed = collections.Counter((int(w["start_ns"]), int(w["end_ns"]), w["lock"]) for w in waits)
    for finding in explanation["findings"]:
        own = [s for s in slices if s.args.get("finding") == finding["id"]]
        if finding["cause"] == "unexplained" or finding["of_account"]:
            assert not own
            continue
        assert {s.name for s in own} == {finding["cause"]}
        assert sum(s.args["lost ns"] for s in own) == finding["lost_ns"], finding["id"]
        if finding["waiter"]["call"]:
            calls = [own_call(opened, slice) for slice in own]
            names = {written(thread["call"]) for thread in finding["threads"]}
            assert all(call.name in names for call in calls), finding["id"]
            assert len(set(map(id, calls))) == finding["count"], finding["id"]
    return same(found, listed)


def check_flows(opened, joined):
    """Each flow has two ends: a call and its operation, the holder's call and the slice of the wait for it, or a moment on
    the holder's or the releaser's thread and the wait."""
    to_ops = to_waits = to_others = 0
    for ends in opened.flows.values():
        (_, _, source), (_, _, sink) = sorted(ends, key=lambda end: end[:2])
        assert source.category in ("call", "release"), (source.category, sink.category)
        assert opened.thread(source) != opened.thread(sink) if sink.category not in OPERATIONS else True
        if source.category == "release":
            assert sink.category == "wait" and source.start < sink.end
            to_others += 1
        elif sink.category in OPERATIONS:
            to_ops += 1
        else:
            assert sink.category in ("wait", "loss") and sink.args["held in"] == source.name
            to_waits += 1
    assert to_ops == joined, (to_ops, joined)
    blamed = sum("held in" in s.args for s in opened.slices if s.category in ("wait", "loss") and "evidence" in s.args)
    assert to_others == sum(s.category == "release" for s in opened.slices)
    assert to_waits == blamed, (to_waits, blamed)
    return to_ops, to_waits


def check_states(opened, states):
    """The intervals of the table, below their threads, with the time that each was running and runnable."""
    found = collections.Counter(
        (s.start, s.end, opened.thread(s)[1], s.args.get("running ns", 0), s.args.get("runnable ns", 0))
        for s in opened.slices
        if s.category == "state"
    )
    keys = ("start_ns", "end_ns", "tid", "running_ns", "runnable_ns")
    return same(found, collections.Counter(tuple(int(row[key]) for key in keys) for row in states))


def check_samples(opened, samples):
    """The samples of the table, each with the frame in which its thread was."""
    listed = collections.Counter((int(s["at_ns"]), int(s["tid"]), written(s["frame"])) for s in samples)
    return same(collections.Counter(opened.samples), listed)


def check_counters(opened, ops):
    """One counter per stream, and one per direction of copies on each device; all end at 0."""
    pending = copies = 0
    for track, values in opened.counters.items():
        times = [time for time, _ in values]
        assert times == sorted(set(times)), "a counter has two values at once"
        assert values[-1][1] == 0 and min(value for _, value in values) >= 0
        pending += opened.tracks[track].name.endswith(" pending")
        copies += opened.tracks[track].name.startswith("copies ")
    assert pending == len({(o["pid"], o["device"], o["context"], o["stream"]) for o in ops})
    assert copies == len({(o["device"], o["copy"]) for o in ops if o["copy"] and o["bytes"] and o["duration_ns"]})
    return pending + copies


def check_trace_processor(path, opened):
    """Perfetto's own importer reads the file without errors, and finds as many slices and flows."""
    from perfetto.trace_processor import TraceProcessor

    with TraceProcessor(trace=str(path)) as processor:
        rows = lambda query: list(processor.query(query))
        errors = [(row.name, row.value) for row in rows("select name, value from stats where severity = 'error'")]
        assert not any(value for _, value in errors), [error for error in errors if error[1]]
        counts = {row.category: row.n for row in rows("select category, count(*) n from slice group by 1")}
        wanted = collections.Counter(slice.category for slice in opened.slices)
        wanted["about"] = len(opened.instants)
        assert counts == wanted, (counts, wanted)
        assert rows("select count(*) n from flow")[0].n == len(opened.flows)


def check(holdup, trace, use_processor):
    def run(*arguments):
        return subprocess.run([holdup, *arguments], check=True, stdout=subprocess.PIPE).stdout.decode()

    with tempfile.TemporaryDirectory() as directory:
        out, tables = pathlib.Path(directory, "out.pftrace"), pathlib.Path(directory, "tables")
        run("export", trace, "--format", "perfetto", "-o", str(out))
        run("export", trace, "--format", "csv", "-o", str(tables))
        listing = lambda verb: [json.loads(line) for line in run(verb, trace, "--format", "json").split("\n")[:-1]]
        calls, ops = listing("calls"), listing("ops")

        def table(name):
            with open(tables / f"{name}.csv", newline="") as file:
                return list(csv.DictReader(file))

        waits = table("waits")
        explanation = json.loads(run("explain", trace, "--all", "--format", "json"))
        opened = Opened(out)
        check_ids(opened)
        counts = [check_calls(opened, calls), check_ops(opened, ops), check_waits(opened, waits, explanation)]
        counts += check_flows(opened, sum(call["ops"] for call in calls))
        counts += [check_counters(opened, ops)]
        counts += [check_states(opened, table("states")), check_samples(opened, table("samples"))]
        assert opened.attributes["holdup.source"] == explanation["trace"]["source"]
        assert len(opened.instants[0].debug_annotations) == len(explanation["findings"])
        if use_processor:
            check_trace_processor(out, opened)
    text = "{}: {} calls, {} operations, {} waits, {}+{} flows, {} counters, {} states, {} samples"
    print(text.format(trace, *counts))


if __name__ == "__main__":
    holdup, *traces = [argument for argument in sys.argv[1:] if argument != "--trace-processor"]
    assert traces, __doc__
    for trace in traces:
        check(holdup, trace, "--trace-processor" in sys.argv)
