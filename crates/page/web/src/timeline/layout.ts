// Where rows and lanes are, from top to bottom, CSS pixels.

import type { Lane, Model } from "./model";

export const AXIS = 24;
export const OVERVIEW = 46;
const HEADING = 24;
const ROW_GAP = 10;
const SMALLEST_ROW = 36;
/** Members of a folded team that are drawn, each as a strip of this height. */
const STRIPS = 16;
const STRIP = 4;

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

/** The heading of a GPU, a process, or a team of threads; it folds its rows. */
export interface Heading {
  key: string;
  text: string;
  top: number;
  /** Whether it is a team within a process. */
  isTeam: boolean;
  folded: boolean;
  rows: number[];
}

export interface Layout {
  rows: PlacedRow[];
  headings: Heading[];
  /** The lanes of folded teams. */
  strips: PlacedLane[];
  height: number;
}

/** The keys of the headings above a row: the group's, then the team's. */
export function headingsOf(model: Model, number: number): string[] {
  const row = model.rows[number];
  if (!row) return [];
  // A GPU's engines and streams are under one heading.
  const kind = row.kind === "engine" ? "stream" : row.kind;
  const group = `${kind} ${row.group}`;
  return row.team === undefined ? [group] : [group, `${group} / ${row.team}`];
}

/** Lays out the `wanted` rows, without those under `folded` headings. Tops count from below the axis. */
export function layOut(model: Model, wanted: (row: number) => boolean, folded: ReadonlySet<string>): Layout {
  const byRow: Lane[][] = model.rows.map(() => []);
  for (const lane of model.lanes) byRow[lane.row]?.push(lane);
  const layout: Layout = { rows: [], headings: [], strips: [], height: 0 };
  const open: (Heading | undefined)[] = [];
  model.rows.forEach((row, number) => {
    if (!wanted(number)) return;
    const keys = headingsOf(model, number);
    for (const [level, key] of keys.entries()) {
      if (open[level]?.key === key) continue;
      closeTeam(layout, open[1], byRow);
      open.length = level;
      // Within a folded group there is nothing to draw.
      const text = level === 0 ? row.group : (row.team ?? "");
      const heading: Heading = { key, text, top: layout.height, isTeam: level === 1, folded: folded.has(key), rows: [] };
      open.push(heading);
      if (open[0]?.folded && level > 0) continue;
      layout.headings.push(heading);
      layout.height += HEADING;
    }
    if (keys.length === 1) {
      closeTeam(layout, open[1], byRow);
      open.length = 1;
    }
    for (const heading of open) heading?.rows.push(number);
    if (open.some((heading) => heading?.folded)) return;
    const placed = placeRow(number, byRow[number] ?? [], layout.height);
    layout.rows.push(placed);
    layout.height += placed.height + ROW_GAP;
  });
  closeTeam(layout, open[1], byRow);
  return layout;
}

/** Draws the members of a folded team as strips below its heading. */
function closeTeam(layout: Layout, team: Heading | undefined, byRow: Lane[][]): void {
  if (!team?.folded || !layout.headings.includes(team)) return;
  for (const row of team.rows.slice(0, STRIPS)) {
    const lanes = byRow[row]?.filter(({ kind, depth }) => depth === 0 && (kind === "call" || kind === "lost")) ?? [];
    for (const lane of lanes) layout.strips.push({ lane, top: layout.height, height: lane.kind === "call" ? STRIP : STRIP / 2 });
    layout.height += STRIP + 1;
  }
  layout.height += ROW_GAP;
}

function placeRow(row: number, lanes: Lane[], top: number): PlacedRow {
  const order = ["busy", "idle", "range", "call", "lost", "op"];
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
    case "busy":
    case "idle":
      return 19;
    case "call":
    case "op":
      return lane.depth === 0 ? 24 : 17;
  }
}
