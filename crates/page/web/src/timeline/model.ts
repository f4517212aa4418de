// The timeline's contents: rows, lanes of boxes, and the examples of findings (crates/page/src/timeline).

import { bytes, has, json } from "../data";

export type Look =
  | "launch" | "copy" | "pageable" | "fill" | "sync" | "memory" | "setup" | "other" | "kernel"
  | "communication" | "range" | "lost" | "waited" | "idle-lock" | "idle-memory" | "idle-sync" | "idle-setup" | "idle-host"
  | "idle-calls" | "idle-asleep" | "idle-unknown";

export interface Label {
  /** Text. */
  t: string;
  /** Look. */
  l: Look;
  /** Finding, as an index. */
  f?: number;
  /** Row that was waited for. */
  r?: number;
  /** Rows of the threads that led to idle time: first that of the call that ended it, last the root. */
  c?: number[];
  /** Number of boxes. */
  n: number;
}

export interface Row {
  name: string;
  note: string;
  group: string;
  kind: "gpu" | "thread" | "engine" | "stream";
  /** The name of a team of threads that it belongs to. */
  team?: string;
  /** The part of the time in which a GPU worked. */
  busy?: number;
}

export interface Spot {
  row: number;
  start: number;
  end: number;
}

export interface Arrow {
  waiter: Spot;
  lost: [number, number];
  holder?: Spot;
  text: string;
  /** What the tags of the waiter and of the holder say, where they do not say who waits for whom. */
  says?: [string, string];
}

export interface Pointed {
  id: string;
  examples: (Arrow | null)[];
}

/** Number of its data, start and end of the time that it covers completely, number of boxes. */
type Chunk = [number, number, number, number];

interface Level {
  width: number;
  chunks: Chunk[];
}

export interface Lane {
  row: number;
  kind: "range" | "call" | "lost" | "op" | "busy" | "idle";
  depth: number;
  levels: Level[];
}

/** The steps that the program repeats (crates/page/src/timeline/steps.rs); times in ns from the timeline's start. */
export interface Strip {
  title: string;
  of: string;
  is_gpu: boolean;
  starts: number[];
  takes: number[];
  busy: number[];
  names: string[];
  causes: [string, Look][];
  /** Of each step, causes (by index) and times by turns; empty if not known. */
  idle: number[][];
  median: { takes: number; busy: number; idle: number[] };
  slow: SlowStep[];
}

export interface SlowStep {
  at: number;
  /** What it had more of than the median. */
  more: { cause: number; place: string; finding?: string }[];
}

interface Stored {
  start: number;
  length: number;
  rows: Row[];
  lanes: Lane[];
  labels: Label[];
  findings: Pointed[];
  steps?: Strip;
}

/** Decoded boxes, in order of time. */
export interface Boxes {
  starts: Float64Array;
  ends: Float64Array;
  labels: Uint32Array;
  /** Number of boxes in each block; undefined for single boxes. */
  counts?: Uint32Array;
  /** Bytes that a single box moved; for a block of several, their total time, ns. */
  amounts: Float64Array;
  /** The number of its data. */
  chunk: number;
}

/** What a click on a call or an operation shows. */
export interface Detail {
  /** The operation's call, or the call's operation. */
  other?: Spot;
  /** Grid, block and more; empty for what is no kernel. */
  launch: string;
  /** Frames, innermost first. */
  stack: string[];
}

interface StoredDetails {
  launches: string[];
  frames: string[];
  stacks: number[][];
}

export type Visit = (boxes: Boxes, from: number, to: number) => void;

export class Model {
  /** Called when missing boxes have arrived. */
  onLoad: () => void = () => {};
  private readonly decoded = new Map<number, Boxes>();
  private readonly loading = new Map<number, Promise<Boxes>>();

  private constructor(
    readonly stored: Stored,
    private readonly prefix: string,
    readonly length: number,
  ) {}

  /** The timeline whose data have names with this prefix; of that length at least, ns. */
  static async load(prefix = "", length = 1): Promise<Model> {
    const stored = await json<Stored>(`${prefix}timeline`);
    const model = new Model(stored, prefix, Math.max(stored.length, length));
    // The coarsest levels come first: with them, the first picture is complete.
    const coarsest = model.lanes.map((lane) => lane.levels[0]).filter((level) => level !== undefined);
    await Promise.all(coarsest.flatMap((level) => level.chunks.map((chunk) => model.load(chunk, level.width))));
    return model;
  }

  get lanes(): Lane[] {
    return this.stored.lanes;
  }

  get rows(): Row[] {
    return this.stored.rows;
  }

  /** Whether boxes are being loaded. */
  get isLoading(): boolean {
    return this.loading.size > 0;
  }

  label(number: number): Label {
    return this.stored.labels[number] ?? { t: "?", l: "other", n: 0 };
  }

  private details: Promise<StoredDetails> | undefined;

  /** The details of a single box; undefined where the file has none. */
  async detail(chunk: number, at: number, start: number): Promise<Detail | undefined> {
    const boxes = this.decoded.get(chunk);
    if (!boxes || boxes.counts || !(await has(`${this.prefix}details-${chunk}`))) return undefined;
    this.details ??= json<StoredDetails>(`${this.prefix}details`);
    const [raw, stored] = await Promise.all([bytes(`${this.prefix}details-${chunk}`), this.details]);
    const [row = 0, since = 0, takes = 0, launch = 0, stack = 0] = valuesAt(raw, boxes.starts.length, at);
    const from = start - (since % 2 === 0 ? since / 2 : -(since + 1) / 2);
    const found: Detail = {
      launch: stored.launches[launch] ?? "",
      stack: (stored.stacks[stack] ?? []).map((frame) => stored.frames[frame] ?? ""),
    };
    if (row > 0) found.other = { row: row - 1, start: from, end: from + takes };
    return found;
  }

  /** Visits the boxes of a lane between two times, as single as the file has them, once they are decoded. */
  async visitFinest(lane: Lane, from: number, to: number, visit: Visit): Promise<void> {
    const wanted = lane.levels.flatMap((level) =>
      level.chunks.filter(([, start, end]) => start < to && end > from).map((chunk) => this.load(chunk, level.width)),
    );
    await Promise.all(wanted);
    this.visit(lane, from, to, 0, visit);
  }

  /**
   * Visits a lane's boxes between two times at the level for that many ns per pixel. Boxes that are not decoded yet,
   * or not in the file, are visited at a coarser level.
   */
  visit(lane: Lane, from: number, to: number, nsPerPixel: number, visit: Visit): void {
    const fine = lane.levels.findIndex((level) => level.width <= nsPerPixel);
    const level = fine < 0 ? lane.levels.length - 1 : fine;
    this.visitLevel(lane, level, from, to, visit);
  }

  private visitLevel(lane: Lane, at: number, from: number, to: number, visit: Visit): void {
    const level = lane.levels[at];
    if (!level || from >= to) return;
    let reached = from;
    const chunks = level.chunks;
    for (let next = firstAfter(chunks, from); next < chunks.length; next++) {
      const chunk = chunks[next] as Chunk;
      const [number, start, until] = chunk;
      if (start >= to) break;
      if (start > reached) this.visitLevel(lane, at - 1, reached, start, visit);
      const boxes = this.decoded.get(number);
      if (boxes) {
        visit(boxes, Math.max(from, start), Math.min(to, until));
      } else {
        void this.load(chunk, level.width);
        this.visitLevel(lane, at - 1, Math.max(from, start), Math.min(to, until), visit);
      }
      reached = Math.max(reached, until);
    }
    if (reached < to) this.visitLevel(lane, at - 1, reached, to, visit);
  }

  /** The first box of a lane that begins after a time and whose label is `wanted`. */
  async next(lane: Lane, after: number, wanted: (label: number) => boolean): Promise<Spot | undefined> {
    const level = lane.levels[lane.levels.length - 1];
    for (const chunk of level?.chunks ?? []) {
      if (chunk[2] <= after) continue;
      const boxes = await this.load(chunk, (level as Level).width);
      for (let at = firstEndingAfter(boxes, after); at < boxes.starts.length; at++) {
        const start = boxes.starts[at] as number;
        if (start > after && wanted(boxes.labels[at] as number)) {
          return { row: lane.row, start, end: boxes.ends[at] as number };
        }
      }
    }
    return undefined;
  }

  private load(chunk: Chunk, width: number): Promise<Boxes> {
    const [number, start, , length] = chunk;
    const known = this.decoded.get(number);
    if (known) return Promise.resolve(known);
    let loading = this.loading.get(number);
    if (!loading) {
      loading = bytes(`${this.prefix}boxes-${number}`).then((raw) => {
        const boxes = decode(raw, start, length, width > 0, number);
        this.decoded.set(number, boxes);
        this.loading.delete(number);
        this.onLoad();
        return boxes;
      });
      this.loading.set(number, loading);
    }
    return loading;
  }
}

/** The first chunk with boxes after a time. */
function firstAfter(chunks: Chunk[], time: number): number {
  let [low, high] = [0, chunks.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((chunks[middle] as Chunk)[2] <= time) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The first box that ends after a time. */
export function firstEndingAfter(boxes: Boxes, time: number): number {
  let [low, high] = [0, boxes.ends.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((boxes.ends[middle] as number) <= time) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Columns of numbers, each byte by byte (crates/page/src/timeline/encode.rs). */
function decode(raw: Uint8Array, start: number, length: number, merged: boolean, chunk: number): Boxes {
  let at = 0;
  const column = <T extends Float64Array | Uint32Array>(into: T): T => {
    const planes = raw[at++] as number;
    for (let plane = 0, weight = 1; plane < planes; plane++, weight *= 256) {
      for (let box = 0; box < length; box++) into[box] = (into[box] as number) + (raw[at++] as number) * weight;
    }
    return into;
  };
  const starts = column(new Float64Array(length));
  const ends = column(new Float64Array(length));
  for (let box = 0, time = start; box < length; box++) {
    starts[box] = time += starts[box] as number;
    ends[box] = (ends[box] as number) + time;
  }
  const labels = column(new Uint32Array(length));
  const counts = merged ? column(new Uint32Array(length)) : undefined;
  const amounts = column(new Float64Array(length));
  return counts ? { starts, ends, labels, counts, amounts, chunk } : { starts, ends, labels, amounts, chunk };
}

/** The numbers of one box in columns that are stored byte by byte. */
function valuesAt(raw: Uint8Array, length: number, box: number): number[] {
  const values: number[] = [];
  for (let at = 0; at < raw.length; ) {
    const planes = raw[at++] as number;
    let value = 0;
    for (let plane = planes - 1; plane >= 0; plane--) value = value * 256 + (raw[at + plane * length + box] as number);
    values.push(value);
    at += planes * length;
  }
  return values;
}
