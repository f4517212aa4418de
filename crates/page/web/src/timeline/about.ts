// What a selected box is about: the other end of a call or an operation, and the arrows to what waited.

import { duration } from "../units";
import type { Arrow, Model, Spot } from "./model";
import { boxesIn, type Picked } from "./pick";
import type { Scene } from "./scene";

/** What the file has about a single call or operation. */
export interface About {
  lines: string[];
  /** Frames, innermost first. */
  stack: string[];
  /** From the call to the operation, and the row of the one that is not selected. */
  arrow?: Arrow;
  row: number;
}

/** The arrows to a selected time that was lost or idle: from what it waited for. */
export function arrowsOf(model: Model, picked: Picked): Scene["arrows"] {
  const label = model.label(picked.label);
  if (picked.lane.kind === "idle" && picked.count === 1) return chainOf(model, picked, label.c ?? []);
  if (picked.lane.kind !== "lost" || label.r === undefined || picked.count > 1) return [];
  const id = label.f === undefined ? "" : (model.stored.findings[label.f]?.id ?? "");
  const spot = { start: picked.start, end: picked.end };
  const text = `${duration(picked.end - picked.start)} at `;
  const lost: [number, number] = [picked.start, picked.end];
  return [{ id, arrow: { waiter: { row: picked.row, ...spot }, holder: { row: label.r, ...spot }, lost, text } }];
}

/** Arrows from the root of idle time through the threads that waited for it to the GPU. */
function chainOf(model: Model, picked: Picked, chain: number[]): Scene["arrows"] {
  const spot = (row: number): Spot => ({ row, start: picked.start, end: picked.end });
  const lost: [number, number] = [picked.start, picked.end];
  const cause = model.label(picked.label).t.split(" · ")[0] as string;
  return chain.map((row, at) => {
    const says: [string, string] = ["", at === chain.length - 1 ? cause : ""];
    const waiter = spot(at === 0 ? picked.row : (chain[at - 1] as number));
    return { id: "idle", arrow: { waiter, holder: spot(row), lost, text: "", says } };
  });
}

/** What the file has about a call or an operation; undefined for other boxes, and where it has nothing. */
export async function aboutOf(model: Model, picked: Picked): Promise<About | undefined> {
  const isOp = picked.lane.kind === "op";
  if (picked.count > 1 || (!isOp && picked.lane.kind !== "call")) return undefined;
  const detail = await model.detail(picked.chunk, picked.at, picked.start);
  if (!detail) return undefined;
  const { other, launch, stack } = detail;
  const how = launch ? [launch] : [];
  if (!other) return { lines: how, stack, row: picked.row };
  const [op, call] = isOp ? [picked, other] : [other, picked];
  const row = model.rows[other.row]?.name ?? "";
  const delay = `starts ${after(op, call.start, "the call began")}, ${after(op, call.end, "it returned")}`;
  const named = isOp ? await boxAt(model, other) : undefined;
  const name = named ? `${model.label(named.label).t} in ` : "";
  const line = isOp
    ? `asked for by ${name}${row}, which took ${duration(call.end - call.start)} · ${delay}`
    : `its operation in ${row} takes ${duration(op.end - op.start)} · ${delay}`;
  // An operation may start before its call returns: the arrow is then at a time that both cover.
  const lost: [number, number] = op.start < call.end ? [op.start, Math.min(call.end, op.end)] : [call.end, op.start];
  const says: [string, string] = isOp ? ["", "its call"] : ["its operation", ""];
  return { lines: [line, ...how], stack, row: other.row, arrow: { waiter: bare(op), holder: bare(call), lost, text: "", says } };
}

/** `6.25 µs after the call began` */
function after(op: Spot, time: number, what: string): string {
  return op.start >= time ? `${duration(op.start - time)} after ${what}` : `${duration(time - op.start)} before ${what}`;
}

function bare({ row, start, end }: Spot): Spot {
  return { row, start, end };
}

/** The call at a place, once its lane is decoded. */
async function boxAt(model: Model, spot: Spot): Promise<Picked | undefined> {
  for (const lane of model.lanes.filter(({ row, kind }) => row === spot.row && kind === "call")) {
    await model.visitFinest(lane, spot.start, spot.end + 1, () => {});
    const found = boxesIn(model, lane, spot.start, spot.end + 1, 0);
    const same = found.find(({ start, end, count }) => start === spot.start && end === spot.end && count === 1);
    if (same) return same;
  }
  return undefined;
}
