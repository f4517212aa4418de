// Times along the top.

import { duration, moment } from "../units";
import { type Scene, FONT, across } from "./draw";
import { AXIS } from "./layout";

/** Least pixels between two times. */
const APART = 96;

export function axis(context: CanvasRenderingContext2D, scene: Scene): void {
  const { palette, gutter, width, height, start, end, model } = scene;
  const origin = model.stored.start;
  const step = niceStep(((end - start) * APART) / Math.max(width - gutter, 1));
  context.font = FONT;
  context.fillStyle = palette.surface;
  context.fillRect(0, 0, width, AXIS);
  context.strokeStyle = palette.line;
  context.lineWidth = 1;
  // Close up, ticks say how far they are from a round time that stands in the gutter.
  const close = step < 100_000;
  const base = close ? Math.floor((origin + start) / (step * 100)) * step * 100 : 0;
  if (close) {
    context.fillStyle = palette.muted;
    context.fillText(`${moment(base, step * 100)} +`, 8, AXIS / 2);
  }
  for (let time = Math.ceil((origin + start) / step) * step; time <= origin + end; time += step) {
    const x = Math.round(across(scene, time - origin)) + 0.5;
    context.beginPath();
    context.moveTo(x, AXIS - 6);
    context.lineTo(x, AXIS);
    context.stroke();
    context.globalAlpha = 0.5;
    context.beginPath();
    context.moveTo(x, AXIS);
    context.lineTo(x, height);
    context.stroke();
    context.globalAlpha = 1;
    const text = close ? duration(Math.round(time - base)) : moment(time, step);
    const wide = context.measureText(text).width;
    if (x - wide / 2 > gutter - 10 && x + wide / 2 < width) {
      context.fillStyle = palette.muted;
      context.fillText(text, x - wide / 2, AXIS / 2 - 2);
    }
  }
  context.beginPath();
  context.moveTo(0, AXIS - 0.5);
  context.lineTo(width, AXIS - 0.5);
  context.moveTo(gutter - 0.5, AXIS);
  context.lineTo(gutter - 0.5, height);
  context.stroke();
  pointer(context, scene, step);
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
