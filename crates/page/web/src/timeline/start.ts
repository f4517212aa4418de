// The timeline: its parts, and the actions of clicks and keys.

import { button, element } from "../dom";
import { onShow, type Target } from "../links";
import { onThemeChange } from "../theme";
import { duration, moment } from "../units";
import { draw } from "./draw";
import { helpDialog } from "./help";
import { listen, type Controlled } from "./input";
import { AXIS, layOut } from "./layout";
import { legend } from "./legend";
import { type Arrow, Model, type Spot } from "./model";
import { Overview } from "./overview";
import { palette } from "./palette";
import { boxesIn, describe, pick, type Picked } from "./pick";
import type { Scene } from "./scene";
import { View } from "./view";

export async function startTimeline(section: HTMLElement): Promise<void> {
  const holder = section.querySelector<HTMLElement>(".timeline");
  if (!holder) return;
  const model = await Model.load();
  new Timeline(holder, model);
}

/** Width of the printed picture, CSS pixels; it shrinks to the paper. */
const PAPER_WIDTH = 900;

interface Example {
  finding: string;
  number: number;
  arrow: Arrow;
}

class Timeline implements Controlled {
  readonly view: View;
  readonly canvas = element("canvas", { tabindex: "0", role: "application", "aria-roledescription": "timeline" });
  private readonly context = this.canvas.getContext("2d", { alpha: false }) as CanvasRenderingContext2D;
  private readonly overview: Overview;
  private readonly tip = element("div", { class: "tip", hidden: "" });
  private readonly details = element("div", { class: "details", "aria-live": "polite" });
  private readonly search = element("input", { type: "search", placeholder: "Find by name", "aria-label": "Find boxes by name" });
  private readonly help = helpDialog();
  private readonly toolbar = element("div", { class: "toolbar", role: "toolbar", "aria-label": "Timeline" });
  private readonly hint = element("div", { class: "hint", hidden: "" }, "Click the timeline to zoom with the wheel, or hold Ctrl");
  private readonly legend = element("ul", { class: "legend", "aria-label": "Legend" });
  private readonly examples: Example[];
  private readonly scene: Scene;
  private current = -1;
  private picked: Picked | undefined;
  private onlyRows: Set<number> | undefined;
  private dirty = false;
  private hinted = 0;

  constructor(
    private readonly holder: HTMLElement,
    readonly model: Model,
  ) {
    this.view = new View(model.length, () => this.changed());
    this.overview = new Overview(model, this.view);
    this.examples = model.stored.findings.flatMap((finding) =>
      finding.examples.flatMap((arrow, number) => (arrow ? [{ finding: finding.id, number, arrow }] : [])),
    );
    this.fillToolbar();
    const frame = element("div", { class: "frame" }, this.overview.canvas, this.canvas, this.tip, this.hint);
    holder.replaceChildren(this.toolbar, frame, this.details, this.legend, this.help);
    this.scene = {
      model,
      layout: layOut(model, () => true),
      palette: palette(holder, this.context),
      width: 0,
      height: 0,
      gutter: 0,
      scroll: 0,
      start: 0,
      end: model.length,
    };
    model.onLoad = () => this.changed();
    onThemeChange(() => this.recolour());
    onShow((target) => this.show(target));
    new ResizeObserver(() => this.resize()).observe(holder);
    addEventListener("beforeprint", () => this.print(true));
    addEventListener("afterprint", () => this.print(false));
    listen(this);
    this.resize();
    this.recolour();
    this.say();
  }

  // Actions of input.

  part(x: number): number {
    return (x - this.scene.gutter) / Math.max(this.scene.width - this.scene.gutter, 1);
  }

  isOnAxis(y: number): boolean {
    return y < AXIS;
  }

  scrollRows(pixels: number): void {
    const most = Math.max(0, this.scene.layout.height + AXIS - this.scene.height);
    this.scene.scroll = Math.min(Math.max(this.scene.scroll + pixels, 0), most);
    this.changed();
  }

  hover(x: number, y: number): void {
    const found = pick(this.scene, x, y);
    this.scene.pointer = x >= this.scene.gutter ? this.view.start + this.part(x) * this.view.span : undefined;
    this.canvas.style.cursor = found ? "pointer" : this.isOnAxis(y) ? "col-resize" : "grab";
    this.changed();
    this.tip.hidden = !found;
    if (!found) return;
    const { title, lines } = describe(this.model, found);
    this.tip.replaceChildren(element("b", {}, title), ...lines.map((line) => element("span", {}, line)));
    const left = Math.min(Math.max(x + 14, 0), this.scene.width - this.tip.offsetWidth - 4);
    this.tip.style.left = `${Math.max(left, 4)}px`;
    this.tip.style.top = `${this.canvas.offsetTop + y + 18}px`;
  }

  leave(): void {
    this.scene.pointer = undefined;
    this.tip.hidden = true;
    this.changed();
  }

  click(x: number, y: number): void {
    this.select(pick(this.scene, x, y));
  }

  zoomTo(x: number, y: number): void {
    const found = pick(this.scene, x, y);
    if (found) this.view.glideAround(found.start, found.end);
  }

  zoomToSelected(): void {
    if (this.picked) this.view.glideAround(this.picked.start, this.picked.end);
  }

  letGo(): void {
    this.scene.arrow = undefined;
    this.current = -1;
    this.search.value = "";
    this.scene.searched = undefined;
    this.onlyInvolved(undefined);
    this.select(undefined);
  }

  openHelp(): void {
    this.help.showModal();
  }

  find(): void {
    this.search.focus();
  }

  step(forward: boolean): void {
    const { picked, scene, view } = this;
    const lane = picked?.lane ?? scene.layout.rows[0]?.lanes.find(({ lane }) => lane.kind === "call" || lane.kind === "op")?.lane;
    if (!lane) return;
    const perPixel = view.span / Math.max(scene.width - scene.gutter, 1);
    const reach = view.span * 2;
    const around = picked ?? { start: view.start, end: view.start };
    const found = forward
      ? boxesIn(this.model, lane, around.end, around.end + reach, perPixel).find(({ start }) => start >= around.end)
      : boxesIn(this.model, lane, around.start - reach, around.start, perPixel).filter(({ end }) => end <= around.start).pop();
    if (!found) return;
    this.select(found);
    if (found.start < view.start || found.end > view.end) {
      const middle = (found.start + found.end) / 2;
      view.set(middle - view.span / 2, middle + view.span / 2);
    }
  }

  nextExample(by: 1 | -1): void {
    const next = this.current < 0 ? (by > 0 ? 0 : this.examples.length - 1) : this.current + by;
    const example = this.examples[(next + this.examples.length) % Math.max(this.examples.length, 1)];
    if (example) this.showExample(example);
  }

  hintAtWheel(): void {
    this.hint.hidden = false;
    clearTimeout(this.hinted);
    this.hinted = window.setTimeout(() => (this.hint.hidden = true), 1600);
  }

  // Display.

  private show(target: Target): void {
    if (target.kind === "example") {
      const wanted = (example: Example) => example.finding === target.finding && example.number === target.example;
      const example = this.examples.find(wanted);
      if (example) this.showExample(example);
      else this.say([`This example of ${target.finding} lies outside the time that the timeline shows.`]);
    } else {
      this.scene.arrow = undefined;
      this.reveal([target.row]);
      this.view.glideAround(target.start, target.end);
      void this.selectSpot(target);
    }
    this.holder.closest("section")?.scrollIntoView({ block: "start", behavior: "instant" });
    this.canvas.focus({ preventScroll: true });
  }

  private showExample(example: Example): void {
    const { arrow, finding } = example;
    this.current = this.examples.indexOf(example);
    this.scene.arrow = { arrow, id: finding };
    this.scene.selected = undefined;
    this.picked = undefined;
    const holder = arrow.holder;
    const near = holder && holder.end - holder.start < 20 * Math.max(arrow.waiter.end - arrow.waiter.start, 1);
    const start = near ? Math.min(arrow.waiter.start, holder.start) : arrow.waiter.start;
    const end = near ? Math.max(arrow.waiter.end, holder.end) : arrow.waiter.end;
    this.view.glideAround(start, end);
    this.reveal(holder ? [arrow.waiter.row, holder.row] : [arrow.waiter.row]);
    this.sayExample(example);
  }

  /** Scrolls so that rows are visible; hides the rows between them if they are too far apart. */
  private reveal(rows: number[]): void {
    if (this.onlyRows && !rows.every((row) => this.onlyRows?.has(row))) this.onlyInvolved(undefined);
    const placed = () => this.scene.layout.rows.filter(({ row }) => rows.includes(row));
    const extent = () => {
      const found = placed();
      const top = Math.min(...found.map(({ top }) => top)) - 30;
      return { top, bottom: Math.max(...found.map(({ top, height }) => top + height)) + 24 };
    };
    const room = this.scene.height - AXIS;
    const scrolls = this.scene.layout.height > room;
    if (scrolls && extent().bottom - extent().top > room) this.onlyInvolved(new Set(rows));
    const { top, bottom } = extent();
    if (top < this.scene.scroll) this.scrollRows(top - this.scene.scroll);
    else if (bottom > this.scene.scroll + room) this.scrollRows(bottom - this.scene.scroll - room);
    this.changed();
  }

  private onlyInvolved(rows: Set<number> | undefined): void {
    if (rows === this.onlyRows) return;
    this.onlyRows = rows;
    this.scene.layout = layOut(this.model, (row) => !rows || rows.has(row));
    this.scene.scroll = 0;
    this.resize();
  }

  private select(picked: Picked | undefined): void {
    this.picked = picked;
    this.scene.selected = picked && { ...picked, kind: picked.lane.kind, depth: picked.lane.depth };
    if (picked) {
      this.scene.arrow = this.arrowOf(picked);
      const { title, lines } = describe(this.model, picked);
      this.say([title, ...lines]);
    } else {
      this.say();
    }
    this.changed();
  }

  /** Selects the box at that place, when its lane is decoded. */
  private async selectSpot(spot: Spot): Promise<void> {
    const lane = this.model.lanes.find(({ row, kind, depth }) => row === spot.row && kind === "call" && depth === 0);
    if (!lane) return;
    await this.model.next(lane, spot.start - 1, () => true);
    const found = boxesIn(this.model, lane, spot.start, Math.max(spot.end, spot.start + 1), 0);
    this.select(found.find(({ start }) => start === spot.start));
  }

  /** The arrow from the holder that a selected interval of lost time waited for. */
  private arrowOf(picked: Picked): Scene["arrow"] {
    const label = this.model.label(picked.label);
    if (picked.lane.kind !== "lost" || label.r === undefined || picked.count > 1) return undefined;
    const id = label.f === undefined ? "" : (this.model.stored.findings[label.f]?.id ?? "");
    const spot = { start: picked.start, end: picked.end };
    const text = `${duration(picked.end - picked.start)} at `;
    return { id, arrow: { waiter: { row: picked.row, ...spot }, holder: { row: label.r, ...spot }, lost: [picked.start, picked.end], text } };
  }

  private sayExample({ finding, arrow, number }: Example): void {
    const rows = this.model.rows;
    const waiter = rows[arrow.waiter.row]?.name ?? "";
    const holder = arrow.holder && rows[arrow.holder.row]?.name;
    const [takes = "", at = ""] = arrow.text.split(" at ");
    const title = `${finding}: ${waiter} waits ${takes} at ${at}${holder ? `, for ${holder}` : ""}`;
    const rest = this.onlyRows ? ["Only the rows involved are shown; Esc shows all."] : [];
    this.say([title, `Example ${number + 1}; N and P go to the next and the previous one.`, ...rest]);
    const back = element("a", { href: `#${finding}` }, `Back to ${finding}`);
    this.details.append(back);
  }

  private say(lines: string[] = []): void {
    const [title, ...rest] = lines;
    if (title === undefined) {
      this.details.replaceChildren(element("span", { class: "quiet" }, "Click a box for what it is; press ? for the keys."));
      return;
    }
    this.details.replaceChildren(element("b", {}, title), ...rest.map((line) => element("span", {}, line)));
  }

  private fillToolbar(): void {
    const { view } = this;
    this.search.addEventListener("input", () => this.searchFor(this.search.value));
    this.search.addEventListener("keydown", (event) => {
      if (event.key === "Enter") void this.findNext();
      if (event.key === "Escape") {
        this.letGo();
        this.canvas.focus();
      }
    });
    const stalls = this.examples.length > 0 ? [
      button("‹", "Previous example (P)", () => this.nextExample(-1)),
      button("Next stall ›", "Next example (N)", () => this.nextExample(1)),
    ] : [];
    this.toolbar.append(
      element("span", { class: "group" }, ...stalls),
      element("span", { class: "group" },
        button("−", "Zoom out (−)", () => view.zoom(1.6)),
        button("+", "Zoom in (+)", () => view.zoom(1 / 1.6)),
        button("Fit", "Show everything (Home)", () => view.fit())),
      this.search,
      button("?", "Keys (?)", () => this.openHelp()),
    );
  }

  private searchFor(text: string): void {
    const wanted = text.trim().toLowerCase();
    const known = new Map<number, boolean>();
    this.scene.searched = !wanted ? undefined : (label) => {
      let matches = known.get(label);
      if (matches === undefined) {
        matches = this.model.label(label).t.toLowerCase().includes(wanted);
        known.set(label, matches);
      }
      return matches;
    };
    this.changed();
  }

  /** Goes to the next box whose name matches the search. */
  private async findNext(): Promise<void> {
    const wanted = this.scene.searched;
    if (!wanted) return;
    const after = this.picked?.start ?? this.view.start - 1;
    for (const from of [after, -1]) {
      const found = await Promise.all(this.model.lanes.map((lane) => this.model.next(lane, from, wanted)));
      let first: { spot: Spot; lane: number } | undefined;
      found.forEach((spot, lane) => {
        if (spot && (!first || spot.start < first.spot.start)) first = { spot, lane };
      });
      if (!first) continue;
      const { spot, lane } = first;
      const box = boxesIn(this.model, this.model.lanes[lane] as never, spot.start, spot.start + 1, 0);
      this.reveal([spot.row]);
      this.view.glideAround(spot.start, spot.end);
      this.select(box.find(({ start }) => start === spot.start));
      return;
    }
    this.say([`Nothing is called ${this.search.value}.`]);
  }

  private recolour(): void {
    this.scene.palette = palette(this.holder, this.context);
    this.overview.resize(this.scene.width, this.scene.gutter, this.scene.palette);
    legend(this.legend, this.model, this.scene.palette);
    this.changed();
  }

  private resize(width = this.holder.clientWidth, height?: number): void {
    const { scene } = this;
    scene.width = width;
    scene.gutter = Math.round(Math.min(190, Math.max(104, width * 0.16)));
    const wanted = scene.layout.height + AXIS + 6;
    scene.height = height ?? Math.round(Math.min(wanted, Math.max(300, innerHeight * 0.68)));
    this.canvas.style.height = `${scene.height}px`;
    this.canvas.width = Math.round(width * devicePixelRatio);
    this.canvas.height = Math.round(scene.height * devicePixelRatio);
    this.overview.resize(width, scene.gutter, scene.palette);
    this.scrollRows(0);
    this.paint();
  }

  /** Switches printing on or off: paper is white, and has room for all rows up to one page. */
  private print(on: boolean): void {
    document.documentElement.classList.toggle("printing", on);
    this.scene.palette = palette(this.holder, this.context);
    if (on) this.resize(PAPER_WIDTH, Math.min(this.scene.layout.height + AXIS + 6, PAPER_WIDTH));
    else this.resize();
    legend(this.legend, this.model, this.scene.palette);
  }

  private changed(): void {
    this.canvas.dataset.settled = "false";
    if (this.dirty) return;
    this.dirty = true;
    requestAnimationFrame(() => this.paint());
  }

  private paint(): void {
    this.dirty = false;
    const { scene, view, context } = this;
    [scene.start, scene.end] = [view.start, view.end];
    context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    draw(context, scene);
    this.overview.draw(scene.palette);
    this.describeView();
  }

  /** Describes the picture for screen readers and for tests. */
  private describeView(): void {
    const { model, view, scene } = this;
    const from = moment(model.stored.start + view.start, view.span / 100);
    const count = (wanted: string): number => model.rows.filter(({ kind }) => kind === wanted).length;
    const arrow = scene.arrow ? `; an arrow shows ${scene.arrow.id}` : "";
    const settled = !model.isLoading && !view.isGliding;
    // Not on every frame: a screen reader would read nothing else.
    if (settled) this.canvas.setAttribute(
      "aria-label",
      `Timeline of ${count("thread")} threads and ${count("stream")} streams, from ${from} on for ` +
        `${duration(view.span)}${arrow}. Press ? for the keys. The table of the longest calls says the same in words.`,
    );
    const { dataset } = this.canvas;
    dataset.start = String(Math.round(model.stored.start + view.start));
    dataset.end = String(Math.round(model.stored.start + view.end));
    dataset.arrow = scene.arrow ? `${scene.arrow.id} ${scene.arrow.arrow.holder?.row ?? ""} ${scene.arrow.arrow.waiter.row}` : "";
    dataset.settled = String(settled);
  }
}
