// Finds the box at a place, and describes it.

import { count, duration, moment, size } from "../units";
import type { Scene } from "./scene";
import { AXIS, type PlacedLane } from "./layout";
import { type Lane, type Model, type Spot, firstEndingAfter } from "./model";

export interface Picked extends Spot {
  lane: Lane;
  label: number;
  count: number;
  /** See Boxes. */
  amount: number;
  /** The number of its data, and its place there. */
  chunk: number;
  at: number;
}

/** The box at a place of the canvas. */
export function pick(scene: Scene, x: number, y: number): Picked | undefined {
  if (x < scene.gutter || y < AXIS) return undefined;
  const at = y - AXIS + scene.scroll;
  const row = scene.layout.rows.find(({ top, height }) => at >= top - 2 && at <= top + height + 2);
  const lane = row?.lanes.find(({ top, height }) => at >= top && at <= top + height);
  return lane && pickIn(scene, lane, x);
}

function pickIn(scene: Scene, placed: PlacedLane, x: number): Picked | undefined {
  const perPixel = (scene.end - scene.start) / (scene.width - scene.gutter);
  const time = scene.start + (x - scene.gutter) * perPixel;
  let nearest: Picked | undefined;
  let distance = 3 * perPixel;
  for (const found of boxesIn(scene.model, placed.lane, time - 3 * perPixel, time + 3 * perPixel, perPixel)) {
    const away = Math.max(found.start - time, time - found.end, 0);
    if (away < distance) [nearest, distance] = [found, away];
  }
  return nearest;
}

/** The boxes of a lane that overlap the time between two times. */
export function boxesIn(model: Model, lane: Lane, from: number, to: number, perPixel: number): Picked[] {
  const found: Picked[] = [];
  model.visit(lane, from, to, perPixel, (boxes, first, last) => {
    for (let at = firstEndingAfter(boxes, first); at < boxes.starts.length; at++) {
      const start = boxes.starts[at] as number;
      if (start >= last || found.length >= 1000) break;
      found.push({
        lane,
        row: lane.row,
        start,
        end: boxes.ends[at] as number,
        label: boxes.labels[at] as number,
        count: boxes.counts?.[at] ?? 1,
        amount: boxes.amounts[at] as number,
        chunk: boxes.chunk,
        at,
      });
    }
  });
  return found;
}

/** A box in words: a title, and lines about it. */
export function describe(model: Model, picked: Picked): { title: string; lines: string[] } {
  const row = model.rows[picked.row];
  const label = model.label(picked.label);
  const takes = picked.end - picked.start;
  const begins = moment(model.stored.start + picked.start, Math.max(takes / 100, 1));
  if (picked.lane.kind === "idle" || picked.lane.kind === "busy") return ofGpu(model, picked, begins);
  const lines = [`${row?.name ?? ""} · at ${begins} · takes ${duration(takes)}`];
  if (picked.count > 1) {
    lines[0] = `${row?.name ?? ""} · from ${begins} on for ${duration(takes)}, of which they take ${duration(picked.amount)}`;
    return { title: `${count(picked.count)} together, the longest: ${label.t}`, lines };
  }
  if (picked.amount > 0) {
    const rate = picked.amount / Math.max(takes, 1);
    lines[0] += ` · ${size(picked.amount)}${picked.lane.kind === "op" ? ` at ${rate.toPrecision(3)} GB/s` : ""}`;
  }
  lines.push(...losses(model, picked));
  return { title: label.t, lines };
}

/** What a GPU did or waited for. */
function ofGpu(model: Model, picked: Picked, begins: string): { title: string; lines: string[] } {
  const { t: name, c: chain } = model.label(picked.label);
  const gpu = model.rows[picked.row]?.name ?? "";
  const [does, takes] = [picked.lane.kind === "idle" ? "idle" : "busy", picked.end - picked.start];
  if (picked.count > 1) {
    const lines = [`${gpu} · from ${begins} on for ${duration(takes)}, ${does} ${duration(picked.amount)} of it`];
    return { title: `${count(picked.count)} times ${does}, the longest: ${name}`, lines };
  }
  const lines = [`${gpu} · ${does} for ${duration(takes)} from ${begins} on`];
  const threads = (chain ?? []).map((thread) => model.rows[thread]?.name ?? "");
  if (threads.length > 0) lines.push(`waits for ${threads.join(", which waits for ")}`);
  return { title: name, lines };
}

/** The time that a call lost, and the causes. */
function losses(model: Model, picked: Picked): string[] {
  if (picked.lane.kind !== "call") return [];
  const lane = model.lanes.find(({ kind, row }) => kind === "lost" && row === picked.row);
  if (!lane) return [];
  const all = boxesIn(model, lane, picked.start, picked.end, 0);
  const within = all.filter(({ start, end, count }) => count === 1 && start >= picked.start && end <= picked.end);
  return within.slice(0, 4).map((loss) => {
    const label = model.label(loss.label);
    const finding = label.f === undefined ? "" : ` (${model.stored.findings[label.f]?.id ?? ""})`;
    return `${label.l === "lost" ? "lost" : "waited"} ${duration(loss.end - loss.start)} · ${label.t}${finding}`;
  });
}
