// Mouse, touch and keys.

import type { View } from "./view";

/** The view that mouse, touch and keys control. */
export interface Controlled {
  readonly view: View;
  readonly canvas: HTMLCanvasElement;
  /** The part of the canvas's width, right of the gutter, at a place on it. */
  part(x: number): number;
  isOnAxis(y: number): boolean;
  scrollRows(pixels: number): void;
  hover(x: number, y: number): void;
  leave(): void;
  click(x: number, y: number): void;
  zoomTo(x: number, y: number): void;
  zoomToSelected(): void;
  letGo(): void;
  openHelp(): void;
  find(): void;
  /** Selects the time between two times of the timeline, ns; `done` at the end of the drag. */
  selectTime(from: number, to: number, done: boolean): void;
  selectVisible(): void;
  /** Selects the box before or after the selected one; without a selected box, the first visible one. */
  step(forward: boolean): void;
  /** The next or previous example of the findings. */
  nextExample(by: 1 | -1): void;
  hintAtWheel(): void;
}

/** How far a key press pans, as a part of the visible time. */
const PAN = 0.2;
const ZOOM = 1.5;
/** Pixels below which a press is a click. */
const STILL = 4;

export function listen(timeline: Controlled): void {
  keys(timeline);
  wheel(timeline);
  drag(timeline);
  const { canvas } = timeline;
  canvas.addEventListener("pointerleave", () => timeline.leave());
  canvas.addEventListener("dblclick", (event) => timeline.zoomTo(event.offsetX, event.offsetY));
}

function keys(timeline: Controlled): void {
  const { view, canvas } = timeline;
  const pan = (direction: number, fine: boolean) => view.pan(direction * (fine ? PAN / 5 : PAN));
  const actions: Record<string, (event: KeyboardEvent) => void> = {
    arrowleft: (event) => pan(-1, event.shiftKey),
    arrowright: (event) => pan(1, event.shiftKey),
    a: () => pan(-1, false),
    d: () => pan(1, false),
    arrowup: () => timeline.scrollRows(-48),
    arrowdown: () => timeline.scrollRows(48),
    pageup: () => timeline.scrollRows(-240),
    pagedown: () => timeline.scrollRows(240),
    "+": () => view.zoom(1 / ZOOM),
    "=": () => view.zoom(1 / ZOOM),
    w: () => view.zoom(1 / ZOOM),
    "-": () => view.zoom(ZOOM),
    s: () => view.zoom(ZOOM),
    home: () => view.fit(),
    "0": () => view.fit(),
    n: () => timeline.nextExample(1),
    p: () => timeline.nextExample(-1),
    ".": () => timeline.step(true),
    ",": () => timeline.step(false),
    enter: () => timeline.zoomToSelected(),
    r: () => timeline.selectVisible(),
    escape: () => timeline.letGo(),
    "/": () => timeline.find(),
    "?": () => timeline.openHelp(),
  };
  canvas.addEventListener("keydown", (event) => {
    const action = actions[event.key.toLowerCase()];
    // The browser keeps its own shortcuts with Ctrl.
    if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    action(event);
  });
}

function wheel(timeline: Controlled): void {
  const { view, canvas } = timeline;
  canvas.addEventListener(
    "wheel",
    (event) => {
      const sideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
      // Scrolling the page past the timeline should not zoom the timeline.
      const meant = event.ctrlKey || event.metaKey || document.activeElement === canvas;
      if (!sideways && !meant) {
        timeline.hintAtWheel();
        return;
      }
      event.preventDefault();
      const pixels = (delta: number) => delta * (event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1);
      if (sideways) {
        view.pan((pixels(event.deltaX || event.deltaY) / canvas.clientWidth) * 1.2);
      } else {
        view.zoom(Math.exp(Math.min(Math.max(pixels(event.deltaY), -200), 200) / 300), timeline.part(event.offsetX));
      }
    },
    { passive: false },
  );
}

function drag(timeline: Controlled): void {
  const { view, canvas } = timeline;
  const down = new Map<number, { x: number; y: number }>();
  let moved = 0;
  let chosen: number | undefined;
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    canvas.setPointerCapture(event.pointerId);
    down.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
    moved = 0;
    const selects = timeline.isOnAxis(event.offsetY) || event.shiftKey;
    chosen = selects ? view.start + timeline.part(event.offsetX) * view.span : undefined;
  });
  canvas.addEventListener("pointermove", (event) => {
    const before = down.get(event.pointerId);
    if (!before) {
      timeline.hover(event.offsetX, event.offsetY);
      return;
    }
    const [x, y] = [event.offsetX - before.x, event.offsetY - before.y];
    moved += Math.abs(x) + Math.abs(y);
    const other = [...down].find(([id]) => id !== event.pointerId)?.[1];
    down.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
    if (other) {
      const apart = (point: { x: number }) => Math.max(Math.abs(point.x - other.x), 1);
      view.zoom(apart(before) / apart({ x: event.offsetX }), timeline.part((event.offsetX + other.x) / 2));
    } else if (chosen !== undefined && moved > STILL) {
      timeline.hover(event.offsetX, event.offsetY);
      timeline.selectTime(chosen, view.start + timeline.part(event.offsetX) * view.span, false);
    } else if (chosen === undefined && moved > STILL) {
      timeline.leave();
      view.pan(timeline.part(0) - timeline.part(x));
      timeline.scrollRows(-y);
    } else {
      timeline.hover(event.offsetX, event.offsetY);
    }
  });
  const up = (event: PointerEvent) => {
    if (!down.delete(event.pointerId)) return;
    if (moved <= STILL) {
      timeline.click(event.offsetX, event.offsetY);
    } else if (chosen !== undefined) {
      timeline.selectTime(chosen, view.start + timeline.part(event.offsetX) * view.span, true);
    }
  };
  canvas.addEventListener("pointerup", up);
  canvas.addEventListener("pointercancel", (event) => down.delete(event.pointerId));
}
