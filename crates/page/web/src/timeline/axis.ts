// Times along the top.

import { duration, moment } from "../units";
import { AXIS } from "./layout";
import { type Scene, FONT, across } from "./scene";

/** Least pixels between two times. */
const APART = 96;

export function axis(context: CanvasRenderingContext2D, scene: Scene): void {
  const { palette, gutter, width, height, model } = scene;
  context.font = FONT;
  context.fillStyle = palette.surface;
  context.fillRect(0, 0, width, AXIS);
  context.strokeStyle = palette.line;
  context.lineWidth = 1;
  // At high zoom, ticks show their distance from a round time, which is in the gutter.
  const step = stepOf(scene);
  const close = step < 100_000;
  const base = close ? Math.floor((model.stored.start + scene.start) / (step * 100)) * step * 100 : 0;
  context.fillStyle = palette.muted;
  if (close) context.fillText(`${moment(base, step * 100)} +`, 8, AXIS / 2);
  for (const { x, time } of ticks(scene)) {
    const text = close ? duration(Math.round(time - base)) : moment(time, step);
    const wide = context.measureText(text).width;
    if (x - wide / 2 > gutter - 10 && x + wide / 2 < width) context.fillText(text, x - wide / 2, AXIS / 2);
  }
  lines(context, [[0, AXIS - 0.5, width, AXIS - 0.5], [gutter - 0.5, AXIS, gutter - 0.5, height]]);
  pointer(context, scene, step);
}

/** Lines behind the boxes. */
export function grid(context: CanvasRenderingContext2D, scene: Scene): void {
  context.strokeStyle = scene.palette.line;
  context.lineWidth = 1;
  context.globalAlpha = 0.6;
  lines(context, ticks(scene).map(({ x }) => [x, AXIS, x, scene.height]));
  context.globalAlpha = 1;
}

function lines(context: CanvasRenderingContext2D, ends: number[][]): void {
  context.beginPath();
  for (const [x = 0, y = 0, toX = 0, toY = 0] of ends) {
    context.moveTo(x, y);
    context.lineTo(toX, toY);
  }
  context.stroke();
}

/** The labeled times, ns of the trace, and their positions. */
function ticks(scene: Scene): { x: number; time: number }[] {
  const [step, origin] = [stepOf(scene), scene.model.stored.start];
  const first = Math.ceil((origin + scene.start) / step) * step;
  // The loop counts ticks, because a small step may not change a large time.
  const number = Math.floor((scene.end - scene.start) / step) + 1;
  const times = Array.from({ length: number }, (_, at) => first + at * step);
  return times.map((time) => ({ x: Math.round(across(scene, time - origin)) + 0.5, time }));
}

function stepOf({ start, end, width, gutter }: Scene): number {
  return niceStep(((end - start) * APART) / Math.max(width - gutter, 1));
}

/** The time under the pointer. */
function pointer(context: CanvasRenderingContext2D, scene: Scene, step: number): void {
  if (scene.pointer === undefined) return;
  const { palette, gutter, width, height } = scene;
  const x = Math.round(across(scene, scene.pointer)) + 0.5;
  if (x < gutter) return;
  context.strokeStyle = palette.muted;
  context.setLineDash([2, 3]);
  context.beginPath();
  context.moveTo(x, AXIS);
  context.lineTo(x, height);
  context.stroke();
  context.setLineDash([]);
  const text = moment(scene.model.stored.start + scene.pointer, step / 20);
  const wide = context.measureText(text).width + 12;
  const left = Math.min(Math.max(x - wide / 2, gutter), width - wide);
  context.fillStyle = palette.ink;
  context.fillRect(left, 2, wide, AXIS - 6);
  context.fillStyle = palette.surface;
  context.fillText(text, left + 6, AXIS / 2 - 1);
}

/** 1, 2 or 5 times a power of ten, ns. */
function niceStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
  const factor = [1, 2, 5, 10].find((factor) => factor * power >= least) ?? 10;
  return Math.max(1, factor * power);
}
