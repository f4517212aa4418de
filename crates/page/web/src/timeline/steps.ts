// The steps of the program as a strip of cells to pick from: one cell a step, as high as the step is long, filled with what
// it went into. Of more steps than there is room for, a cell shows the longest of several.

import { element } from "../dom";
import { count, duration, moment, percent } from "../units";
import type { Model, Strip } from "./model";
import type { Palette } from "./palette";
import { BOLD, FONT } from "./scene";
import type { View } from "./view";

/** Height of the strip, and of the marks of slow steps above the cells, CSS pixels. */
const STRIP = 42;
const MARKS = 8;
/** The narrowest and the widest cell, CSS pixels. */
const NARROW = 4;
const WIDE = 46;
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

export class StepStrip {
  readonly canvas: HTMLCanvasElement;
  private readonly context: CanvasRenderingContext2D;
  private readonly slow: Set<number>;
  /** The time that is drawn highest, ns. */
  private readonly highest: number;
  /** The longest step of each cell, and how many steps a cell has. */
  private cells: number[] = [];
  private each = 1;
  private cell = 1;
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
    const { takes } = this.steps;
    const room = Math.max(width - gutter - 4, 1);
    this.each = Math.max(1, Math.ceil((takes.length * NARROW) / room));
    const cells = Math.ceil(takes.length / this.each);
    this.cell = Math.min(room / cells, WIDE);
    this.cells = Array.from({ length: cells }, (_, cell) => {
      const [first, last] = [cell * this.each, Math.min((cell + 1) * this.each, takes.length)];
      let longest = first;
      for (let step = first; step < last; step++) if ((takes[step] as number) > (takes[longest] as number)) longest = step;
      return longest;
    });
  }

  draw(palette: Palette): void {
    const { context, width, gutter, steps } = this;
    context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    context.fillStyle = palette.surface;
    context.fillRect(0, 0, width, STRIP);
    context.fillStyle = palette.band;
    context.fillRect(gutter, 0, width - gutter, STRIP);
    this.cells.forEach((step, cell) => this.drawCell(palette, step, this.left(cell)));
    this.drawVisible(palette);
    if (this.picked >= 0) this.outline(palette.ink, this.picked);
    if (document.activeElement === this.canvas) this.outline(palette.accent, this.at);
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

  private left(cell: number): number {
    return this.gutter + 2 + cell * this.cell;
  }

  private drawCell(palette: Palette, step: number, left: number): void {
    const { context, steps } = this;
    const wide = Math.max(this.cell - (this.cell > 6 ? 2 : 1), 1);
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

  /** A line below the steps that the timeline shows. */
  private drawVisible(palette: Palette): void {
    const { context, steps } = this;
    const { start, end } = this.owner.view;
    const first = steps.starts.findIndex((from, at) => from + (steps.takes[at] ?? 0) > start);
    const last = steps.starts.findLastIndex((from) => from < end);
    if (first < 0 || last < first || (first === 0 && last === steps.starts.length - 1)) return;
    const [from, to] = [this.left(this.cellOf(first)), this.left(this.cellOf(last) + 1) - 1];
    context.fillStyle = palette.accent;
    context.fillRect(from, STRIP - 3, Math.max(to - from, 2), 2.5);
  }

  private outline(colour: string, step: number): void {
    const left = this.left(this.cellOf(step));
    this.context.strokeStyle = colour;
    this.context.lineWidth = 2;
    this.context.strokeRect(left - 1, MARKS, Math.max(this.cell, 4), STRIP - MARKS - 3);
  }

  /** Height of a step's cell: by its time. */
  private tall(step: number): number {
    return Math.max(2, (STRIP - 4 - MARKS) * Math.min(1, (this.steps.takes[step] ?? 0) / this.highest));
  }

  private cellOf(step: number): number {
    return Math.floor(step / this.each);
  }

  /** The step at a place: the longest of its cell. */
  private stepAt(x: number): number | undefined {
    return this.cells[Math.floor((x - this.gutter - 2) / this.cell)];
  }

  private go(step: number): void {
    this.at = Math.min(Math.max(step, 0), this.steps.starts.length - 1);
    this.say();
    this.owner.hoverStep(this.at, this.left(this.cellOf(this.at)));
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

/** Numbers by turns as pairs. */
export function pairs(numbers: number[] | undefined): [number, number][] {
  const found: [number, number][] = [];
  for (let at = 0; numbers && at + 1 < numbers.length; at += 2) found.push([numbers[at] as number, numbers[at + 1] as number]);
  return found;
}
