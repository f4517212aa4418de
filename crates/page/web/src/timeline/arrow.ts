// The arrow from the holder to the waiter.

import { AXIS, type PlacedLane } from "./layout";
import type { Arrow, Spot } from "./model";
import { type Scene, BOLD, across } from "./scene";

interface Frame {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

export function drawArrow(context: CanvasRenderingContext2D, scene: Scene, arrow: Arrow, id: string): void {
  const victim = frame(scene, arrow.waiter);
  const holder = arrow.holder && frame(scene, arrow.holder);
  const [waited = ""] = arrow.text.split(" at ");
  if (victim) outline(context, scene, victim);
  if (holder) outline(context, scene, holder);
  if (victim && holder) curve(context, scene, holder, victim, arrow);
  const [ofVictim, ofHolder] = arrow.says ?? [`${id} waits ${waited}`, "is waited for"];
  if (victim && ofVictim) tag(context, scene, victim, ofVictim, holder);
  if (holder && ofHolder) tag(context, scene, holder, ofHolder, victim);
}

/** The place of a box: in the outermost lane of its row. */
function frame(scene: Scene, spot: Spot): Frame | undefined {
  const row = scene.layout.rows.find((placed) => placed.row === spot.row);
  if (!row) return undefined;
  const lanes = row.lanes.filter(({ lane }) => lane.kind === "call" || lane.kind === "op" || lane.kind === "idle");
  const lane: PlacedLane = lanes[0] ?? { lane: row.lanes[0]?.lane as never, top: row.top, height: row.height };
  const top = AXIS + lane.top - scene.scroll;
  const left = across(scene, spot.start);
  return { left, right: Math.max(across(scene, spot.end), left + 2), top, bottom: top + lane.height };
}

function outline(context: CanvasRenderingContext2D, scene: Scene, { left, right, top, bottom }: Frame): void {
  context.strokeStyle = scene.palette.lost;
  context.lineWidth = 2;
  context.strokeRect(left - 1, top - 1, right - left + 2, bottom - top + 2);
}

function curve(context: CanvasRenderingContext2D, scene: Scene, from: Frame, to: Frame, arrow: Arrow): void {
  const down = to.top >= from.top;
  const [fromY, toY] = down ? [from.bottom, to.top - 2] : [from.top, to.bottom + 2];
  // At a time that both cover; otherwise from the end of one to the start of the other.
  const [lostFrom, lostTo] = arrow.lost.map((time) => across(scene, time)) as [number, number];
  const left = Math.max(from.left, to.left, lostFrom, scene.gutter);
  const right = Math.min(from.right, to.right, lostTo, scene.width);
  const together = right > left;
  const x = (left + right) / 2;
  const [fromX, toX] = together ? [x - Math.min(24, (x - left) / 2), x] : [from.right, Math.max(to.left, lostFrom) + 3];
  const bend = Math.max(14, Math.abs(toY - fromY) * 0.45) * (down ? 1 : -1);
  const path = () => {
    context.beginPath();
    context.moveTo(fromX, fromY);
    context.bezierCurveTo(fromX, fromY + bend, toX, toY - bend, toX, toY - (down ? 7 : -7));
  };
  const head = () => {
    const back = down ? -10 : 10;
    context.beginPath();
    context.moveTo(toX, toY);
    context.lineTo(toX - 5.5, toY + back);
    context.lineTo(toX + 5.5, toY + back);
    context.closePath();
  };
  // An outline, so that it is visible on everything that it crosses.
  context.strokeStyle = scene.palette.surface;
  context.lineWidth = 6;
  path();
  context.stroke();
  head();
  context.stroke();
  context.strokeStyle = context.fillStyle = scene.palette.lost;
  context.lineWidth = 2.5;
  path();
  context.stroke();
  head();
  context.fill();
  context.beginPath();
  context.arc(fromX, fromY, 3.5, 0, 7);
  context.fill();
}

/** Text next to a box, on the side away from the other one. */
function tag(
  context: CanvasRenderingContext2D,
  scene: Scene,
  box: Frame,
  text: string,
  other: Frame | undefined,
): void {
  context.font = BOLD;
  const wide = context.measureText(text).width + 12;
  const above = !other || other.top > box.top;
  const left = Math.min(Math.max(box.left - 2, scene.gutter + 2), scene.width - wide - 2);
  const top = above ? Math.max(box.top - 20, AXIS + 1) : Math.min(box.bottom + 3, scene.height - 18);
  context.fillStyle = scene.palette.lost;
  context.fillRect(left, top, wide, 17);
  context.fillStyle = scene.palette.surface;
  context.fillText(text, left + 6, top + 9);
}
