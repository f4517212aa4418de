// Where rows and lanes are, from top to bottom, CSS pixels.

import type { Lane, Model } from "./model";

export const AXIS = 24;
export const OVERVIEW = 38;
const HEADING = 24;
const ROW_GAP = 10;
const SMALLEST_ROW = 36;

export interface PlacedLane {
  lane: Lane;
  top: number;
  height: number;
}

export interface PlacedRow {
  row: number;
  top: number;
  height: number;
  lanes: PlacedLane[];
}

export interface Heading {
  text: string;
  top: number;
}

export interface Layout {
  rows: PlacedRow[];
  headings: Heading[];
  height: number;
}

/** Lays out the `wanted` rows. Tops count from below the axis. */
export function layOut(model: Model, wanted: (row: number) => boolean): Layout {
  const byRow: Lane[][] = model.rows.map(() => []);
  for (const lane of model.lanes) byRow[lane.row]?.push(lane);
  const rows: PlacedRow[] = [];
  const headings: Heading[] = [];
  let top = 0;
  let group = "";
  model.rows.forEach((row, number) => {
    if (!wanted(number)) return;
    // A GPU's engines and streams are under one heading.
    const key = `${row.kind === "thread"} ${row.group}`;
    if (key !== group) {
      headings.push({ text: row.group, top });
      top += HEADING;
      group = key;
    }
    const placed = placeRow(number, byRow[number] ?? [], top);
    rows.push(placed);
    top += placed.height + ROW_GAP;
  });
  return { rows, headings, height: top };
}

function placeRow(row: number, lanes: Lane[], top: number): PlacedRow {
  const order = ["range", "call", "lost", "op"];
  const sorted = [...lanes].sort((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind) || a.depth - b.depth);
  const placed: PlacedLane[] = [];
  let at = top;
  for (const lane of sorted) {
    const height = laneHeight(lane);
    placed.push({ lane, top: at, height });
    at += height + 1;
  }
  return { row, top, height: Math.max(at - top, SMALLEST_ROW), lanes: placed };
}

function laneHeight(lane: Lane): number {
  switch (lane.kind) {
    case "range":
      return 15;
    case "lost":
      return 8;
    case "call":
    case "op":
      return lane.depth === 0 ? 24 : 17;
  }
}
