// Draws the timeline onto its canvas.

import { size } from "../units";
import { axis, grid } from "./axis";
import { drawArrow } from "./arrow";
import { AXIS, type PlacedLane } from "./layout";
import { type Arrow, type Boxes, type Label, firstEndingAfter } from "./model";
import { type Range, type Scene, BOLD, FONT, across } from "./scene";

const SMALL = FONT.replace("12px", "11px");

export function draw(context: CanvasRenderingContext2D, scene: Scene): void {
  const { width, height, palette } = scene;
  context.fillStyle = palette.surface;
  context.fillRect(0, 0, width, height);
  context.textBaseline = "middle";
  context.save();
  context.beginPath();
  context.rect(0, AXIS, width, height - AXIS);
  context.clip();
  rows(context, scene);
  context.restore();
  axis(context, scene);
}

function rows(context: CanvasRenderingContext2D, scene: Scene): void {
  const { layout, palette, scroll, height, width, gutter } = scene;
  const top = (at: number) => AXIS + at - scroll;
  const seen = (at: number, tall: number) => top(at) < height && top(at) + tall > AXIS;
  const visible = layout.rows.filter((row) => seen(row.top, row.height));
  context.save();
  context.beginPath();
  context.rect(gutter, AXIS, width - gutter, height - AXIS);
  context.clip();
  // Another timeline of the same scale may be longer.
  const end = Math.min(width, across(scene, scene.model.stored.length));
  for (const row of visible) {
    context.fillStyle = palette.band;
    context.fillRect(gutter, top(row.top) - 3, end - gutter, row.height + 6);
  }
  if (end < width) {
    context.fillStyle = palette.muted;
    context.fillRect(end, AXIS, 1, height);
  }
  grid(context, scene);
  for (const { arrow } of scene.arrows) if (!arrow.says) shade(context, scene, arrow);
  for (const strip of layout.strips) if (seen(strip.top, strip.height)) drawLane(context, scene, strip, top(strip.top));
  for (const row of visible) for (const lane of row.lanes) drawLane(context, scene, lane, top(lane.top));
  if (scene.selected) outlineSelected(context, scene);
  if (scene.range) drawRange(context, scene, scene.range);
  for (const { arrow, id } of scene.arrows) drawArrow(context, scene, arrow, id);
  context.restore();
  names(context, scene, top);
}

/** The gutter: headings of groups and names of rows. */
function names(context: CanvasRenderingContext2D, scene: Scene, top: (at: number) => number): void {
  const { model, layout, palette, gutter, height } = scene;
  for (const row of layout.rows) {
    const at = top(row.top);
    if (at > height || at + row.height < AXIS) continue;
    const { name, note } = model.rows[row.row] ?? { name: "", note: "" };
    context.font = BOLD;
    context.fillStyle = palette.ink;
    context.fillText(fitName(context, name, gutter - 18), 8, at + 11);
    context.font = SMALL;
    context.fillStyle = palette.muted;
    context.fillText(fit(context, note, gutter - 18), 8, at + 27);
  }
}

/** The selected time. */
function drawRange(context: CanvasRenderingContext2D, scene: Scene, range: Range): void {
  const [from, to] = [across(scene, range.from), across(scene, range.to)];
  context.globalAlpha = 0.12;
  context.fillStyle = scene.palette.accent;
  if (!range.isStep) context.fillRect(from, AXIS, Math.max(to - from, 1), scene.height);
  context.globalAlpha = 1;
  context.fillRect(from, AXIS, 1.5, scene.height);
  context.fillRect(to - 1.5, AXIS, 1.5, scene.height);
}

/** The time that the arrow's waiter lost. */
function shade(context: CanvasRenderingContext2D, scene: Scene, arrow: Arrow): void {
  const [from, to] = arrow.lost.map((time) => across(scene, time)) as [number, number];
  context.globalAlpha = 0.09;
  context.fillStyle = scene.palette.lost;
  context.fillRect(from, AXIS, Math.max(to - from, 1), scene.height);
  context.globalAlpha = 1;
}

function drawLane(context: CanvasRenderingContext2D, scene: Scene, placed: PlacedLane, top: number): void {
  const { model, start, end, width, gutter } = scene;
  const nsPerPixel = (end - start) / Math.max(width - gutter, 1);
  const painter = new Painter(context, scene, top, placed);
  model.visit(placed.lane, start, end, nsPerPixel, (boxes, from, to) => painter.boxes(boxes, from, to));
  painter.flush();
}

/** Where a mark of many narrow boxes ends, CSS pixels: short enough to show where they are dense. */
const MARK = 2;

/** Paints one lane's boxes. Boxes too narrow to distinguish become marks; fuller marks are stronger. */
class Painter {
  private markStart = 0;
  private markEnd = -1;
  private markLabel = 0;
  /** The longest of the boxes in the mark, and the width that they fill, CSS pixels. */
  private markLongest = 0;
  private markBusy = 0;
  private readonly scale: number;

  constructor(
    private readonly context: CanvasRenderingContext2D,
    private readonly scene: Scene,
    private readonly top: number,
    private readonly placed: PlacedLane,
  ) {
    this.scale = (scene.width - scene.gutter) / (scene.end - scene.start);
  }

  boxes(boxes: Boxes, from: number, to: number): void {
    const { starts, ends, labels, counts, amounts } = boxes;
    const { start: origin, gutter, width } = this.scene;
    for (let at = firstEndingAfter(boxes, from); at < starts.length; at++) {
      let start = starts[at] as number;
      if (start >= to) break;
      let end = ends[at] as number;
      const count = counts?.[at] ?? 1;
      const busy = count > 1 ? Math.min((amounts[at] as number) / Math.max(end - start, 1), 1) : 1;
      // A block that extends beyond the edge of a chunk is cut there: the neighbor draws the rest.
      if (counts) [start, end] = [Math.max(start, from), Math.min(end, to)];
      const left = Math.max(gutter + (start - origin) * this.scale, gutter - 4);
      const right = Math.min(gutter + (end - origin) * this.scale, width + 4);
      const label = labels[at] as number;
      if (right - left < MARK) {
        this.narrow(left, right, label, busy);
      } else {
        this.flush();
        this.box(left, right, label, count, busy, amounts[at] as number);
      }
    }
  }

  flush(): void {
    if (this.markEnd < 0) return;
    const { context, scene, placed } = this;
    const wide = Math.max(this.markEnd - this.markStart, 1);
    const look = scene.model.label(this.markLabel).l;
    // Lost time that is too small for its hatching keeps its color.
    context.fillStyle = look === "lost" ? scene.palette.lost : scene.palette.fills[look];
    this.fill(this.markStart, wide, this.markBusy / wide, this.opacity(this.markLabel), placed.height);
    context.globalAlpha = 1;
    this.markEnd = -1;
  }

  private narrow(left: number, right: number, label: number, busy: number): void {
    if (this.markEnd < 0 || left > this.markEnd + 0.5 || right > this.markStart + MARK) {
      this.flush();
      this.markStart = left;
      this.markLongest = this.markBusy = -1;
    }
    this.markEnd = Math.max(right, this.markStart);
    this.markBusy = Math.max(this.markBusy, 0) + (right - left) * busy;
    if (right - left > this.markLongest) [this.markLongest, this.markLabel] = [right - left, label];
  }

  private box(left: number, right: number, number: number, count: number, busy: number, bytes: number): void {
    const { context, scene, top, placed } = this;
    const { palette } = scene;
    const label = scene.model.label(number);
    const [wide, tall] = [right - left, placed.height];
    const opacity = this.opacity(number);
    context.fillStyle = palette.fills[label.l];
    this.fill(left, wide - (wide > 4 ? 1 : 0), busy, opacity, tall);
    context.globalAlpha = opacity;
    const hatch = palette.patterns[label.l];
    if (hatch && count === 1 && wide > 4) {
      context.fillStyle = hatch;
      context.fillRect(left, top, wide - 1, tall);
    }
    if (wide > 26 && tall > 12) this.text(left, right, label, count, bytes);
    context.globalAlpha = 1;
  }

  private text(left: number, right: number, label: Label, count: number, bytes: number): void {
    const { context, scene, top, placed } = this;
    const from = Math.max(left, scene.gutter) + 5;
    const to = Math.min(right, scene.width) - 5;
    context.font = placed.height > 20 ? FONT : SMALL;
    const text = fit(context, boxText(label, count, bytes), to - from);
    if (!text) return;
    const middle = top + placed.height / 2 + 0.5;
    if (scene.palette.patterns[label.l] && count === 1) {
      // Text is not readable on a pattern.
      context.fillStyle = scene.palette.fills[label.l];
      context.fillRect(from - 3, top + 3, context.measureText(text).width + 6, placed.height - 6);
    }
    context.fillStyle = scene.palette.ink;
    context.fillText(text, from, middle);
  }

  /** Fills a place of which boxes fill a part: the work of a GPU as high as that part, other boxes as strong. */
  private fill(left: number, wide: number, busy: number, opacity: number, tall: number): void {
    const { context, top, placed } = this;
    if (SHARES.has(placed.lane.kind)) {
      const high = Math.max(1, tall * Math.min(busy, 1));
      context.globalAlpha = opacity;
      context.fillRect(left, top + tall - high, wide, high);
    } else {
      context.globalAlpha = opacity * strength(busy);
      context.fillRect(left, top, wide, tall);
    }
  }

  private opacity(label: number): number {
    return !this.scene.searched || this.scene.searched(label) ? 1 : 0.18;
  }
}

/** Lanes whose boxes are as high as the part of the time that they fill. */
const SHARES: ReadonlySet<string> = new Set(["op", "busy", "idle"]);

/** The opacity of a mark whose boxes fill a part of it. */
function strength(busy: number): number {
  return 0.3 + 0.7 * Math.min(busy, 1);
}

/** `cudaMemcpyAsync DtoH device → pageable · 256 MiB`; the number of boxes if several are merged. */
function boxText(label: Label, count: number, bytes: number): string {
  if (count > 1) return label.l.startsWith("idle") ? `${count} × idle` : `${count} boxes`;
  const name = label.l === "kernel" || label.l === "communication" ? shortKernel(label.t) : label.t;
  return bytes > 0 ? `${name} · ${size(bytes)}` : name;
}

/** A kernel's own name: without return type, namespaces, template and call arguments. */
function shortKernel(name: string): string {
  const bare = name.replace(/^(void|static|auto)\s+/, "").replace(/\(anonymous namespace\)::/g, "");
  const end = bare.search(/[<(]/);
  const own = (end > 0 ? bare.slice(0, end) : bare).split("::").pop() ?? "";
  return own || name;
}

/** Width of a selected box below which a line marks its time, CSS pixels. */
const NARROW = 8;

function outlineSelected(context: CanvasRenderingContext2D, scene: Scene): void {
  const selected = scene.selected as NonNullable<Scene["selected"]>;
  const row = scene.layout.rows.find((placed) => placed.row === selected.row);
  const lane = row?.lanes.find(({ lane }) => lane.kind === selected.kind && lane.depth === selected.depth);
  if (!lane) return;
  const [left, right] = [across(scene, selected.start), across(scene, selected.end)];
  context.strokeStyle = scene.palette.ink;
  context.lineWidth = 2;
  // A box of a few pixels is hard to see among others.
  if (right - left < NARROW) {
    context.globalAlpha = 0.5;
    context.fillStyle = scene.palette.ink;
    context.fillRect((left + right) / 2 - 0.5, AXIS, 1, scene.height);
    context.globalAlpha = 1;
  }
  context.strokeRect(left - 1, AXIS + lane.top - scene.scroll - 1, Math.max(right - left, 2) + 1, lane.height + 2);
}

/** A row's name that keeps its thread's id: many threads of a program have one name. */
function fitName(context: CanvasRenderingContext2D, name: string, width: number): string {
  const [, front, id] = name.match(/^(.*) (\([^()]*\))$/) ?? [];
  if (front === undefined || id === undefined || context.measureText(name).width <= width) return fit(context, name, width);
  const fitted = fit(context, front, width - context.measureText(` ${id}`).width);
  return fitted ? `${fitted} ${id}` : fit(context, id, width);
}

const widths = new Map<string, number>();

/** As much of a text as fits, with an ellipsis; empty if too little fits. */
export function fit(context: CanvasRenderingContext2D, text: string, width: number): string {
  const measured = (part: string) => {
    const key = context.font + part;
    let known = widths.get(key);
    if (known === undefined) {
      if (widths.size > 20_000) widths.clear();
      known = context.measureText(part).width;
      widths.set(key, known);
    }
    return known;
  };
  const whole = measured(text);
  if (whole <= width) return text;
  const kept = Math.floor((text.length * width) / whole) - 1;
  for (let length = kept; length >= 3 && length > kept - 4; length--) {
    const part = `${text.slice(0, length)}…`;
    if (context.measureText(part).width <= width) return part;
  }
  return "";
}
