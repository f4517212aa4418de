// Colors from the page's styles, and patterns, so that boxes differ without color too.

import type { Look } from "./model";

export const LOOKS: readonly Look[] = [
  "launch", "copy", "pageable", "fill", "sync", "memory", "setup", "other", "range", "kernel",
  "communication", "lost", "waited", "idle-lock", "idle-memory", "idle-sync", "idle-setup", "idle-host", "idle-calls",
  "idle-asleep", "idle-unknown",
];

/** The names of looks in the legend. */
export const LOOK_NAMES: Record<Look, string> = {
  launch: "launch",
  copy: "copy",
  pageable: "copy of pageable memory",
  fill: "fill",
  sync: "synchronization",
  memory: "allocation, free",
  setup: "loading, creation",
  other: "other call",
  kernel: "computing kernel",
  communication: "communicating kernel",
  range: "range of the program",
  lost: "lost time",
  waited: "wait that the program asked for",
  "idle-lock": "idle: a lock",
  "idle-memory": "idle: copies, memory",
  "idle-sync": "idle: a synchronization",
  "idle-setup": "idle: start-up, loading, allocation",
  "idle-host": "idle: the program's own code",
  "idle-calls": "idle: CUDA calls, launch latency",
  "idle-asleep": "idle: threads asleep",
  "idle-unknown": "idle: not known",
};

export interface Palette {
  surface: string;
  ink: string;
  muted: string;
  line: string;
  band: string;
  accent: string;
  lost: string;
  /** The work of GPUs where it is only a strip. */
  work: string;
  fills: Record<Look, string>;
  patterns: Partial<Record<Look, CanvasPattern>>;
}

/** The colors at `element`. */
export function palette(element: HTMLElement, context: CanvasRenderingContext2D): Palette {
  const probe = document.createElement("span");
  element.append(probe);
  const colour = (name: string) => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  };
  const fills = Object.fromEntries(LOOKS.map((look) => [look, colour(`box-${look}`)])) as Record<Look, string>;
  const hatch = colour("hatch");
  const lost = colour("lost");
  const found: Palette = {
    surface: colour("surface"),
    ink: colour("ink"),
    muted: colour("muted"),
    line: colour("line"),
    band: colour("band"),
    accent: colour("accent"),
    lost,
    work: colour("good"),
    fills,
    patterns: {
      pageable: pattern(context, hatch, diagonal),
      sync: pattern(context, hatch, dots),
      memory: pattern(context, hatch, crossed),
      fill: pattern(context, hatch, upright),
      lost: pattern(context, lost, diagonal),
      waited: pattern(context, hatch, diagonal),
      communication: pattern(context, hatch, backward),
      "idle-lock": pattern(context, hatch, diagonal),
      "idle-memory": pattern(context, hatch, backward),
      "idle-sync": pattern(context, hatch, dots),
      "idle-setup": pattern(context, hatch, squares),
      "idle-calls": pattern(context, hatch, level),
      "idle-asleep": pattern(context, hatch, upright),
      "idle-unknown": pattern(context, hatch, dashes),
    },
  };
  probe.remove();
  return found;
}

/** Draws one tile of 6 by 6 CSS pixels. */
type Tile = (context: CanvasRenderingContext2D) => void;

const TILE = 6;

function pattern(context: CanvasRenderingContext2D, colour: string, tile: Tile): CanvasPattern {
  const scale = Math.max(1, Math.round(devicePixelRatio));
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = TILE * scale;
  const inner = canvas.getContext("2d") as CanvasRenderingContext2D;
  inner.scale(scale, scale);
  inner.strokeStyle = inner.fillStyle = colour;
  inner.lineWidth = 1.4;
  tile(inner);
  const made = context.createPattern(canvas, "repeat") as CanvasPattern;
  made.setTransform(new DOMMatrix().scale(1 / scale));
  return made;
}

function diagonal(context: CanvasRenderingContext2D): void {
  context.beginPath();
  for (const shift of [-TILE, 0, TILE]) {
    context.moveTo(shift - 1, TILE + 1);
    context.lineTo(shift + TILE + 1, -1);
  }
  context.stroke();
}

function crossed(context: CanvasRenderingContext2D): void {
  context.lineWidth = 0.8;
  diagonal(context);
  context.beginPath();
  for (const shift of [-TILE, 0, TILE]) {
    context.moveTo(shift - 1, -1);
    context.lineTo(shift + TILE + 1, TILE + 1);
  }
  context.stroke();
}

function backward(context: CanvasRenderingContext2D): void {
  context.beginPath();
  for (const shift of [-TILE, 0, TILE]) {
    context.moveTo(shift - 1, -1);
    context.lineTo(shift + TILE + 1, TILE + 1);
  }
  context.stroke();
}

function squares(context: CanvasRenderingContext2D): void {
  context.lineWidth = 0.8;
  lines(context, [[0, 3, TILE, 3], [3, 0, 3, TILE]]);
}

function level(context: CanvasRenderingContext2D): void {
  lines(context, [[0, 4, TILE, 4]]);
}

function dashes(context: CanvasRenderingContext2D): void {
  lines(context, [[2, 3, 4, 3]]);
}

function lines(context: CanvasRenderingContext2D, ends: [number, number, number, number][]): void {
  context.beginPath();
  for (const [x, y, toX, toY] of ends) {
    context.moveTo(x, y);
    context.lineTo(toX, toY);
  }
  context.stroke();
}

function dots(context: CanvasRenderingContext2D): void {
  for (const [x, y] of [[1.5, 1.5], [4.5, 4.5]] as const) {
    context.beginPath();
    context.arc(x, y, 0.8, 0, 7);
    context.fill();
  }
}

function upright(context: CanvasRenderingContext2D): void {
  context.beginPath();
  context.moveTo(1.5, 0);
  context.lineTo(1.5, TILE);
  context.stroke();
}
