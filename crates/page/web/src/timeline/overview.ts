// The whole trace in a strip: where time was lost, where the GPU worked, and which part is visible below.

import { percent } from "../units";
import { OVERVIEW } from "./layout";
import type { Boxes, Lane, Model } from "./model";
import type { Palette } from "./palette";
import type { View } from "./view";

export class Overview {
  readonly canvas = document.createElement("canvas");
  private readonly context = this.canvas.getContext("2d") as CanvasRenderingContext2D;
  private readonly picture = document.createElement("canvas");
  private width = 0;
  private gutter = 0;

  constructor(
    private readonly model: Model,
    private readonly view: View,
  ) {
    this.canvas.className = "overview";
    this.canvas.setAttribute("aria-hidden", "true");
    this.canvas.addEventListener("pointerdown", (event) => {
      this.canvas.setPointerCapture(event.pointerId);
      this.move(event);
    });
    this.canvas.addEventListener("pointermove", (event) => {
      if (event.buttons & 1) this.move(event);
    });
  }

  /** Draws the strip for a width and a palette; nothing else changes its contents. */
  resize(width: number, gutter: number, palette: Palette): void {
    [this.width, this.gutter] = [width, gutter];
    for (const canvas of [this.canvas, this.picture]) {
      canvas.width = Math.round(width * devicePixelRatio);
      canvas.height = Math.round(OVERVIEW * devicePixelRatio);
    }
    const context = this.picture.getContext("2d") as CanvasRenderingContext2D;
    context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    context.fillStyle = palette.surface;
    context.fillRect(0, 0, width, OVERVIEW);
    context.fillStyle = palette.band;
    context.fillRect(gutter, 0, ((width - gutter) * this.model.stored.length) / this.model.length, OVERVIEW);
    this.strip(context, "lost", palette.lost, 4, 12);
    this.strip(context, this.hasGpus() ? "busy" : "op", palette.work, 20, 22);
    context.fillStyle = palette.muted;
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    context.fillText("lost time", 8, 10.5);
    context.fillText(this.gpuText(), 8, 31);
  }

  draw(palette: Palette): void {
    const { context, width, gutter } = this;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.drawImage(this.picture, 0, 0);
    context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    const scale = (width - gutter) / this.model.length;
    const left = gutter + this.view.start * scale;
    const wide = Math.max(this.view.span * scale, 3);
    if (wide > width - gutter - 1) return;
    context.fillStyle = palette.surface;
    context.globalAlpha = 0.5;
    context.fillRect(gutter, 0, left - gutter, OVERVIEW);
    context.fillRect(left + wide, 0, width - left - wide, OVERVIEW);
    context.globalAlpha = 1;
    context.strokeStyle = palette.ink;
    context.lineWidth = 1.5;
    context.strokeRect(left, 0.75, wide, OVERVIEW - 1.5);
  }

  private hasGpus(): boolean {
    return this.model.rows.some(({ kind }) => kind === "gpu");
  }

  /** `GPU 24 %`: the mean of all GPUs. */
  private gpuText(): string {
    const shares = this.model.rows.flatMap(({ busy }) => (busy === undefined ? [] : [busy]));
    if (shares.length === 0) return "GPU";
    return `${shares.length > 1 ? `${shares.length} GPUs` : "GPU"} ${percent(shares.reduce((sum, share) => sum + share, 0) / shares.length)}`;
  }

  /** Draws one kind of lane over the whole time: its height is how full all these lanes are together. */
  private strip(context: CanvasRenderingContext2D, kind: Lane["kind"], colour: string, top: number, tall: number): void {
    // Columns of whole screen pixels; otherwise gaps would be visible between them.
    const origin = Math.round(this.gutter * devicePixelRatio);
    const columns = new Float32Array(Math.max(1, Math.ceil(this.width * devicePixelRatio) - origin));
    const scale = columns.length / this.model.length;
    // The streams already show the operations of engines.
    const once = (lane: Lane): boolean => this.model.rows[lane.row]?.kind !== "engine";
    const lanes = this.model.lanes.filter((lane) => lane.kind === kind && lane.depth === 0 && once(lane));
    for (const lane of lanes) {
      this.model.visit(lane, 0, this.model.length, Number.MAX_VALUE, (boxes) => fill(columns, boxes, scale, this.model));
    }
    context.fillStyle = colour;
    columns.forEach((full, column) => {
      if (!full) return;
      const height = Math.max(1, tall * Math.min(1, full / Math.max(lanes.length, 1)));
      context.fillRect((origin + column) / devicePixelRatio, top + tall - height, 1 / devicePixelRatio, height);
    });
  }

  private move(event: PointerEvent): void {
    const at = (event.offsetX - this.gutter) / (this.width - this.gutter);
    const middle = at * this.model.length;
    this.view.set(middle - this.view.span / 2, middle + this.view.span / 2);
  }
}

/** Adds to each column the part that boxes fill. */
function fill(columns: Float32Array, boxes: Boxes, scale: number, model: Model): void {
  const { starts, ends, labels, counts, amounts } = boxes;
  for (let at = 0; at < starts.length; at++) {
    if (model.label(labels[at] as number).l === "waited") continue;
    const [start, end] = [starts[at] as number, ends[at] as number];
    const busy = (counts?.[at] ?? 1) > 1 ? (amounts[at] as number) / Math.max(end - start, 1) : 1;
    const [left, right] = [start * scale, end * scale];
    const last = Math.min(Math.floor(right), columns.length - 1);
    for (let column = Math.max(Math.floor(left), 0); column <= last; column++) {
      const part = Math.min(right, column + 1) - Math.max(left, column);
      columns[column] = (columns[column] as number) + Math.max(part * busy, 1e-6);
    }
  }
}
