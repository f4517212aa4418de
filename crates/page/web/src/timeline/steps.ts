// The steps of the program as a strip of cells to pick from, on the timeline's own axis: one cell a step, as high as the step is long,
// filled with what it went into. Of more steps than there is room for, a cell shows the longest of several.

import { element } from "../dom";
import { count, duration, moment, percent } from "../units";
import type { Model, Strip } from "./model";
import type { Palette } from "./palette";
import { BOLD, FONT } from "./scene";
import type { View } from "./view";

/** Height of the strip, and of the marks of slow steps above the cells, CSS pixels. */
const STRIP = 42;
const MARKS = 8;
/** The narrowest cell, CSS pixels. */
const NARROW = 4;
/** Steps longer than this many times the median are drawn as high, with a gap. */
const HIGH = 2.5;

/** What the strip asks of the timeline. */
export interface StepsOwner {
  readonly model: Model;
  readonly view: View;
  pickStep(step: number): void;
  /** The pointer is at a step of the strip. */
  hoverStep(step: number | undefined, x: number): void;
  letGo(): void;
}

/** A cell: the longest of its steps, and where it is. */
interface Cell {
  step: number;
  left: number;
  wide: number;
}

export class StepStrip {
  readonly canvas: HTMLCanvasElement;
  private readonly context: CanvasRenderingContext2D;
  private readonly slow: Set<number>;
  /** The time that is drawn highest, ns. */
  private readonly highest: number;
  /** The cells that are visible, from left to right. */
  private cells: Cell[] = [];
  private width = 0;
  private gutter = 0;
  /** The step that the keys have reached, and the one whose time is shown. */
  private at = 0;
  private picked = -1;

  constructor(
    readonly steps: Strip,
    private readonly owner: StepsOwner,
    private readonly changed: () => void,
  ) {
    this.canvas = element("canvas", {
      class: "steps", tabindex: "0", role: "slider", "aria-orientation": "horizontal", "aria-valuemin": "1",
      "aria-valuemax": String(steps.starts.length), "aria-label": `${steps.title}. Enter shows a step.`,
    });
    this.context = this.canvas.getContext("2d", { alpha: false }) as CanvasRenderingContext2D;
    this.slow = new Set(steps.slow.map(({ at }) => at));
    const longest = steps.takes.reduce((most, ns) => Math.max(most, ns), 1);
    this.highest = Math.min(longest, Math.max(steps.median.takes, 1) * HIGH);
    this.listen();
    this.say();
  }

  /** The step from one time to another; undefined if none is. */
  between(start: number, end: number): number | undefined {
    const at = this.steps.starts.indexOf(start);
    return at >= 0 && this.steps.takes[at] === end - start ? at : undefined;
  }

  /** The slow step after one, or before it; the first one after the last. */
  nextSlow(from: number, by: 1 | -1): number | undefined {
    const all = this.steps.slow.map(({ at }) => at);
    return by > 0 ? (all.find((at) => at > from) ?? all[0]) : (all.findLast((at) => at < from) ?? all.at(-1));
  }

  /** Marks a step as the one that is shown; -1 for none. */
  mark(step: number): void {
    this.picked = step;
    if (step >= 0) this.at = step;
    this.say();
  }

  resize(width: number, gutter: number): void {
    [this.width, this.gutter] = [width, gutter];
    this.canvas.style.height = `${STRIP}px`;
    this.canvas.width = Math.round(width * devicePixelRatio);
    this.canvas.height = Math.round(STRIP * devicePixelRatio);
  }

  /** Lays out the cells of the visible time. Steps that are narrower than a cell share one. */
  private lay(): void {
    const { starts, takes } = this.steps;
    const { start, end } = this.owner.view;
    const cells: Cell[] = [];
    let step = Math.max(0, firstAfter(starts, start) - 1);
    for (; step < starts.length && (starts[step] as number) < end; step++) {
      const [left, right] = [this.x(starts[step] as number), this.x((starts[step] as number) + (takes[step] as number))];
      if (right < this.gutter) continue;
      if (right - left >= NARROW) {
        cells.push({ step, left, wide: right - left });
        continue;
      }
      const shared = this.gutter + Math.floor((left - this.gutter) / NARROW) * NARROW;
      const last = cells.at(-1);
      if (last?.left !== shared || last.wide !== NARROW) cells.push({ step, left: shared, wide: NARROW });
      else if ((takes[step] as number) > (takes[last.step] as number)) last.step = step;
    }
    this.cells = cells;
  }

  /** Where a time is, CSS pixels. */
  private x(time: number): number {
    const { view } = this.owner;
    return this.gutter + ((time - view.start) / view.span) * (this.width - this.gutter);
  }

  draw(palette: Palette): void {
    const { context, width, gutter, steps } = this;
    context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    context.fillStyle = palette.surface;
    context.fillRect(0, 0, width, STRIP);
    context.fillStyle = palette.band;
    context.fillRect(gutter, 0, width - gutter, STRIP);
    this.lay();
    context.save();
    context.beginPath();
    context.rect(gutter, 0, width - gutter, STRIP);
    context.clip();
    for (const cell of this.cells) this.drawCell(palette, cell);
    if (this.picked >= 0) this.outline(palette.ink, this.picked);
    if (document.activeElement === this.canvas) this.outline(palette.accent, this.at);
    context.restore();
    context.textBaseline = "middle";
    context.fillStyle = palette.ink;
    context.font = BOLD;
    context.fillText(`${count(steps.starts.length)} steps`, 8, 13, gutter - 14);
    context.fillStyle = palette.muted;
    context.font = FONT.replace("12px", "11px");
    const median = `median ${duration(steps.median.takes)}`;
    const both = `${median}, ${count(steps.slow.length)} slow`;
    const fits = steps.slow.length > 0 && context.measureText(both).width <= gutter - 14;
    context.fillText(fits ? both : median, 8, 29, gutter - 14);
  }

  /** What a step is, in one line. */
  says(step: number): string {
    const { steps, owner } = this;
    const takes = steps.takes[step] ?? 0;
    const begins = moment(owner.model.stored.start + (steps.starts[step] ?? 0), Math.max(takes / 100, 1));
    const parts = this.parts(step).map(({ name, ns }) => `${name} ${percent(ns / Math.max(takes, 1))}`);
    const what = parts.length > 0 ? `; ${steps.of}: ${parts.slice(0, 4).join(", ")}` : "";
    return `${this.name(step)}: ${this.slow.has(step) ? "slow, " : ""}${duration(takes)}${this.difference(step)}, from ${begins} on${what}`;
  }

  /** `ProfilerStep#12, step 13 of 65` */
  name(step: number): string {
    const { names, starts } = this.steps;
    const number = `step ${count(step + 1)} of ${count(starts.length)}`;
    return names[step] ? `${names[step]}, ${number}` : number;
  }

  /** `, 49.0 ms more than the median` */
  difference(step: number): string {
    const more = (this.steps.takes[step] ?? 0) - this.steps.median.takes;
    if (more === 0) return ", the median";
    return `, ${duration(Math.abs(more))} ${more > 0 ? "more" : "less"} than the median`;
  }

  /** The parts of a step, busy time first. */
  private parts(step: number): { name: string; ns: number }[] {
    const { steps } = this;
    const idle = pairs(steps.idle[step]).map(([cause, ns]) => ({ name: steps.causes[cause]?.[0] ?? "", ns }));
    return steps.is_gpu ? [{ name: "busy", ns: steps.busy[step] ?? 0 }, ...idle] : idle;
  }

  private drawCell(palette: Palette, cell: Cell): void {
    const { context, steps } = this;
    const { step, left } = cell;
    const wide = Math.max(cell.wide - (cell.wide > 6 ? 2 : 1), 1);
    const tall = this.tall(step);
    const takes = Math.max(steps.takes[step] ?? 0, 1);
    const bottom = STRIP - 4;
    context.fillStyle = palette.fills["idle-unknown"];
    context.fillRect(left, bottom - tall, wide, tall);
    let from = bottom;
    const fill = (ns: number, style: string | CanvasPattern | undefined) => {
      if (!style) return;
      context.fillStyle = style;
      context.fillRect(left, from - (ns / takes) * tall, wide, (ns / takes) * tall);
    };
    const busy = steps.busy[step] ?? 0;
    if (steps.is_gpu) {
      fill(busy, palette.fills.kernel);
      from -= (busy / takes) * tall;
    }
    for (const [cause, ns] of pairs(steps.idle[step])) {
      const look = steps.causes[cause]?.[1] ?? "idle-unknown";
      fill(ns, palette.fills[look]);
      fill(ns, palette.patterns[look]);
      from -= (ns / takes) * tall;
    }
    if (takes > this.highest) {
      context.fillStyle = palette.band;
      context.fillRect(left, bottom - tall + 5, wide, 2);
    }
    if (this.slow.has(step)) this.drawMark(palette, left + wide / 2);
  }

  /** A mark above a slow step: a shape, so that it is seen without color. */
  private drawMark(palette: Palette, x: number): void {
    const { context } = this;
    context.fillStyle = palette.lost;
    context.beginPath();
    context.moveTo(x, MARKS - 1);
    context.lineTo(x - 4, 1);
    context.lineTo(x + 4, 1);
    context.closePath();
    context.fill();
  }

  private outline(colour: string, step: number): void {
    const [left, right] = this.sides(step);
    this.context.strokeStyle = colour;
    this.context.lineWidth = 2;
    this.context.strokeRect(left - 1, MARKS, Math.max(right - left, NARROW), STRIP - MARKS - 3);
  }

  /** Where a step begins and ends, CSS pixels. */
  private sides(step: number): [number, number] {
    const start = this.steps.starts[step] ?? 0;
    return [this.x(start), this.x(start + (this.steps.takes[step] ?? 0))];
  }

  /** Height of a step's cell: by its time. */
  private tall(step: number): number {
    return Math.max(2, (STRIP - 4 - MARKS) * Math.min(1, (this.steps.takes[step] ?? 0) / this.highest));
  }

  /** The step at a place: the longest of its cell. */
  private stepAt(x: number): number | undefined {
    return this.cells.findLast(({ left, wide }) => left <= x && x < left + wide)?.step;
  }

  private go(step: number): void {
    this.at = Math.min(Math.max(step, 0), this.steps.starts.length - 1);
    this.say();
    this.owner.hoverStep(this.at, Math.min(Math.max(this.sides(this.at)[0], this.gutter), this.width));
    this.changed();
  }

  private say(): void {
    this.canvas.setAttribute("aria-valuenow", String(this.at + 1));
    this.canvas.setAttribute("aria-valuetext", this.says(this.at));
  }

  private listen(): void {
    const { canvas, owner } = this;
    const moves: Record<string, () => number | undefined> = {
      ArrowLeft: () => this.at - 1,
      ArrowDown: () => this.at - 1,
      ArrowRight: () => this.at + 1,
      ArrowUp: () => this.at + 1,
      Home: () => 0,
      End: () => this.steps.starts.length - 1,
      PageDown: () => this.nextSlow(this.at, 1),
      PageUp: () => this.nextSlow(this.at, -1),
    };
    const actions: Record<string, () => void> = {
      Enter: () => owner.pickStep(this.at),
      " ": () => owner.pickStep(this.at),
      Escape: () => owner.letGo(),
    };
    canvas.addEventListener("keydown", (event) => {
      const [move, action] = [moves[event.key], actions[event.key]];
      if ((!move && !action) || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      if (move) this.go(move() ?? this.at);
      action?.();
    });
    canvas.addEventListener("pointermove", (event) => owner.hoverStep(this.stepAt(event.offsetX), event.offsetX));
    canvas.addEventListener("pointerleave", () => owner.hoverStep(undefined, 0));
    canvas.addEventListener("click", (event) => {
      const step = this.stepAt(event.offsetX);
      if (step !== undefined) owner.pickStep(step);
    });
    for (const focus of ["focus", "blur"]) {
      canvas.addEventListener(focus, () => {
        if (focus === "blur") owner.hoverStep(undefined, 0);
        this.changed();
      });
    }
  }
}

/** The index of the first of some ascending numbers that is larger than another. */
function firstAfter(numbers: number[], than: number): number {
  let [low, high] = [0, numbers.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((numbers[middle] as number) <= than) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Numbers by turns as pairs. */
export function pairs(numbers: number[] | undefined): [number, number][] {
  const found: [number, number][] = [];
  for (let at = 0; numbers && at + 1 < numbers.length; at += 2) found.push([numbers[at] as number, numbers[at + 1] as number]);
  return found;
}
