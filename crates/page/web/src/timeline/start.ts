// The timeline: its parts, and the actions of clicks and keys.

import { button, element } from "../dom";
import { onShow, type Target } from "../links";
import { duration } from "../units";
import { aboutOf, arrowsOf } from "./about";
import { Details, type Example, examplesOf } from "./details";
import { Finder, length } from "./finder";
import { helpDialog } from "./help";
import { listen, type Controlled } from "./input";
import { AXIS } from "./layout";
import { Model, type Spot } from "./model";
import { boxesIn, describe, pick, type Picked } from "./pick";
import { Picture } from "./picture";
import type { Scene } from "./scene";
import type { Hit } from "./search";
import { stepTable } from "./step-table";
import { StepStrip } from "./steps";
import { sumsTable, sumUp } from "./sums";
import { View } from "./view";

/** How a timeline is shown that is one of several. */
export interface Beside {
  /** The view that all of them have. */
  view: View;
  name: string;
  /** Most height of the picture, as a part of the window's. */
  height: number;
  /** The keys of the groups of rows that are folded in all of them. */
  folded: Set<string>;
  /** Whether it has the buttons that zoom all of them. */
  hasZoom: boolean;
  /** The timelines whose colors its legend explains; without any it has no legend. */
  legend: Model[];
}

export async function startTimeline(section: HTMLElement): Promise<void> {
  const holder = section.querySelector<HTMLElement>(".timeline");
  if (!holder) return;
  const model = await Model.load();
  new Timeline(holder, model);
}

/** Room around a step that is shown, as a part of its time. */
const AROUND_STEP = 0.04;

export class Timeline implements Controlled {
  readonly view: View;
  readonly canvas: HTMLCanvasElement;
  private readonly picture: Picture;
  private readonly scene: Scene;
  private readonly details: Details;
  private readonly finder: Finder;
  private readonly strip: StepStrip | undefined;
  private readonly tip = element("div", { class: "tip", hidden: "" });
  private readonly help = helpDialog();
  private readonly toolbar = element("div", { class: "toolbar", role: "toolbar", "aria-label": "Timeline" });
  private readonly hint = element("div", { class: "hint", hidden: "" }, "Click the timeline to zoom with the wheel, or hold Ctrl");
  private readonly examples: Example[];
  private current = -1;
  private picked: Picked | undefined;
  private hinted = 0;
  /** The other timelines of the same view: they have the same rows. */
  others: Timeline[] = [];

  constructor(
    private readonly holder: HTMLElement,
    readonly model: Model,
    private readonly beside?: Beside,
  ) {
    this.view = beside?.view ?? new View(model.length);
    this.picture = new Picture(holder, model, this.view, beside);
    this.view.onChange(() => this.picture.changed());
    this.picture.onFold = () => {
      for (const other of this.others) other.picture.layOutAgain();
    };
    this.canvas = this.picture.canvas;
    this.scene = this.picture.scene;
    this.details = new Details(model);
    this.examples = examplesOf(model);
    this.finder = this.makeFinder();
    const { steps } = model.stored;
    this.strip = this.picture.strip = steps && new StepStrip(steps, this, () => this.picture.changed());
    this.fillToolbar();
    const frame = element("div", { class: "frame" }, this.picture.overview.canvas, ...(this.strip ? [this.strip.canvas] : []),
      this.picture.rows, this.tip, this.hint);
    const legend = beside?.legend.length === 0 ? [] : [this.picture.legend];
    holder.replaceChildren(this.toolbar, frame, this.details.element, ...legend, this.help);
    onShow((target) => this.show(target));
    listen(this);
    this.picture.start();
  }

  // Actions of input.

  part(x: number): number {
    return this.picture.part(x);
  }

  isOnAxis(y: number): boolean {
    return y < AXIS;
  }

  scrollRows(pixels: number): void {
    for (const timeline of [this, ...this.others]) timeline.picture.scrollRows(pixels);
  }

  hover(x: number, y: number): void {
    const found = pick(this.scene, x, y);
    this.point(x >= this.scene.gutter ? this.view.start + this.part(x) * this.view.span : undefined);
    this.canvas.style.cursor = found ? "pointer" : this.isOnAxis(y) ? "col-resize" : "grab";
    const { title, lines } = found ? describe(this.model, found) : { title: "", lines: [] };
    this.showTip(title, lines, x, this.picture.rows.offsetTop + y);
  }

  /** Marks a time in this timeline and in those of the same view. */
  private point(time: number | undefined): void {
    for (const timeline of [this, ...this.others]) {
      timeline.scene.pointer = time;
      timeline.picture.changed();
    }
  }

  hoverStep(step: number | undefined, x: number): void {
    const { strip } = this;
    const [title = "", ...rest] = strip && step !== undefined ? strip.says(step).split("; ") : [];
    this.showTip(title, rest, x, strip ? strip.canvas.offsetTop + 26 : 0);
  }

  /** Shows a tip beside a place of the frame; hides it if it says nothing. */
  private showTip(title: string, lines: string[], x: number, y: number): void {
    this.tip.hidden = title === "";
    if (this.tip.hidden) return;
    this.tip.replaceChildren(element("b", {}, title), ...lines.map((line) => element("span", {}, line)));
    const left = Math.min(Math.max(x + 14, 0), this.scene.width - this.tip.offsetWidth - 4);
    this.tip.style.left = `${Math.max(left, 4)}px`;
    this.tip.style.top = `${y + 18}px`;
  }

  leave(): void {
    this.point(undefined);
    this.tip.hidden = true;
  }

  click(x: number, y: number): void {
    this.select(pick(this.scene, x, y));
  }

  zoomTo(x: number, y: number): void {
    const found = pick(this.scene, x, y);
    const at = this.view.start + this.part(x) * this.view.span;
    const { range } = this.scene;
    if (!found && range && at >= range.from && at <= range.to) this.zoomToSelected();
    else if (found) this.view.glideAround(found.start, found.end);
  }

  zoomToSelected(): void {
    if (this.scene.range) this.view.set(this.scene.range.from, this.scene.range.to);
    else if (this.picked) this.view.glideAround(this.picked.start, this.picked.end);
  }

  letGo(): void {
    this.current = -1;
    this.finder.clear();
    this.clearRange();
    this.tip.hidden = true;
    this.picture.onlyInvolved(undefined);
    this.select(undefined);
  }

  openHelp(): void {
    this.help.showModal();
  }

  find(): void {
    this.finder.focus();
  }

  selectTime(from: number, to: number, done: boolean): void {
    const within = (time: number) => Math.min(Math.max(time, 0), this.model.length);
    const range = { from: within(Math.min(from, to)), to: within(Math.max(from, to)) };
    if (range.to <= range.from) return;
    this.selectRange(range);
    if (done) void this.saySums(range.from, range.to);
  }

  selectVisible(): void {
    this.selectTime(this.view.start, this.view.end, true);
  }

  step(forward: boolean): void {
    const { picked, scene, view } = this;
    const steps = ["call", "op"];
    const lanes = scene.layout.rows.flatMap(({ lanes }) => lanes.map(({ lane }) => lane));
    const lane = picked?.lane ?? lanes.find(({ kind }) => steps.includes(kind));
    if (!lane) return;
    const perPixel = this.picture.nsPerPixel;
    const reach = view.span * 2;
    const around = picked ?? { start: view.start, end: view.start };
    const found = forward
      ? boxesIn(this.model, lane, around.end, around.end + reach, perPixel).find(({ start }) => start >= around.end)
      : boxesIn(this.model, lane, around.start - reach, around.start, perPixel).filter(({ end }) => end <= around.start).pop();
    if (!found) return;
    this.select(found);
    if (found.start < view.start || found.end > view.end) this.showMiddle(found, view.span);
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

  /** Zooms to a step and shows its account. */
  pickStep(step: number): void {
    const { strip } = this;
    if (!strip) return;
    const from = strip.steps.starts[step] ?? 0;
    const to = from + (strip.steps.takes[step] ?? 0);
    this.selectRange({ from, to, isStep: true });
    strip.mark(step);
    this.tip.hidden = true;
    this.view.glideAround(from, to, AROUND_STEP);
    const slow = strip.nextSlow(step, 1);
    const go = (label: string, title: string, to: number | undefined) =>
      to === undefined || to === step || !(to in strip.steps.starts) ? [] : [button(label, title, () => this.pickStep(to))];
    this.details.show(stepTable(strip, step), [
      ...go("‹ Step", "The step before", step - 1),
      ...go("Step ›", "The next step", step + 1),
      ...go("Next slow step", "The next slow step", slow),
      button("Sums of its time", "The sums of all rows in its time", () => this.selectTime(from, to, true)),
      button("Clear", "Clear the selected step (Esc)", () => this.letGo()),
    ]);
  }

  // Display.

  private show(target: Target): void {
    switch (target.kind) {
      case "finding":
      case "change":
        return;
      case "example":
        this.showExampleOf(target.finding, target.example);
        break;
      case "name":
        void this.finder.findLongest(target.text);
        break;
      case "time":
        void this.showTime(target.start, target.end);
        break;
      case "box":
        this.scene.arrows = [];
        this.picture.reveal([target.row]);
        this.view.glideAround(target.start, target.end);
        void this.selectSpot(target);
        break;
    }
    this.holder.closest("section")?.scrollIntoView({ block: "start", behavior: "instant" });
    this.canvas.focus({ preventScroll: true });
  }

  private showExampleOf(finding: string, number: number): void {
    const example = this.examples.find((example) => example.finding === finding && example.number === number);
    if (example) this.showExample(example);
    else this.details.say([`This example of ${finding} lies outside the time that the timeline shows.`]);
  }

  private showExample(example: Example): void {
    const { arrow, finding } = example;
    this.current = this.examples.indexOf(example);
    this.scene.arrows = [{ arrow, id: finding }];
    this.scene.selected = undefined;
    this.clearRange();
    this.picked = undefined;
    const holder = arrow.holder;
    const near = holder && holder.end - holder.start < 20 * Math.max(arrow.waiter.end - arrow.waiter.start, 1);
    const start = near ? Math.min(arrow.waiter.start, holder.start) : arrow.waiter.start;
    const end = near ? Math.max(arrow.waiter.end, holder.end) : arrow.waiter.end;
    this.view.glideAround(start, end);
    this.picture.reveal(holder ? [arrow.waiter.row, holder.row] : [arrow.waiter.row]);
    this.details.sayExample(example);
    if (this.picture.hidesRows) this.details.sayRowsAreHidden();
  }

  /** Shows a step, or what a GPU was idle for in a time, or else the time with its sums. */
  private async showTime(start: number, end: number): Promise<void> {
    const step = this.strip?.between(start, end);
    if (step !== undefined) {
      this.pickStep(step);
      return;
    }
    this.view.glideAround(start, end);
    const idle = await this.idleIn(start, end);
    if (!idle) {
      this.selectTime(start, end, true);
      return;
    }
    this.select(idle);
    this.revealArrows(idle.row);
  }

  /** Shows a row together with those from which arrows lead to it. */
  private revealArrows(row: number): void {
    this.picture.reveal([row, ...this.scene.arrows.flatMap(({ arrow }) => (arrow.holder ? [arrow.holder.row] : []))]);
    if (this.picture.hidesRows) this.details.sayRowsAreHidden();
  }

  /** The idle time of a GPU that has most of a time. */
  private async idleIn(start: number, end: number): Promise<Picked | undefined> {
    let [most, found]: [number, Picked | undefined] = [(end - start) / 2, undefined];
    for (const lane of this.model.lanes.filter(({ kind }) => kind === "idle")) {
      await this.model.visitFinest(lane, start, end, () => {});
      for (const box of boxesIn(this.model, lane, start, end, 0)) {
        const shared = Math.min(box.end, end) - Math.max(box.start, start);
        if (box.count === 1 && shared > most) [most, found] = [shared, box];
      }
    }
    return found;
  }

  private showHit(hit: Hit, zooms: boolean): void {
    const { view } = this;
    const isOutside = hit.end < view.start || hit.start > view.end || (hit.start < view.start && length(hit) < view.span);
    // As much time around it as it needs to be seen.
    if (zooms) this.showMiddle(hit, Math.min(length(hit) * 20, view.span));
    else if (isOutside) this.showMiddle(hit, view.span);
    const boxes = boxesIn(this.model, hit.lane, hit.start, hit.end + 1, 0);
    this.picture.reveal([hit.lane.row]);
    this.select(boxes.find(({ start, end }) => start === hit.start && end === hit.end));
    if (zooms) this.revealArrows(hit.lane.row);
  }

  private showMiddle({ start, end }: { start: number; end: number }, span: number): void {
    const middle = (start + end) / 2;
    this.view.set(middle - span / 2, middle + span / 2);
  }

  private select(picked: Picked | undefined): void {
    this.picked = picked;
    this.scene.selected = picked && { ...picked, kind: picked.lane.kind, depth: picked.lane.depth };
    this.scene.arrows = picked ? arrowsOf(this.model, picked) : [];
    if (picked) {
      this.clearRange();
      this.details.sayBox(picked);
      void this.sayDetails(picked);
    } else if (!this.scene.range) {
      this.details.say();
    }
    this.picture.unfoldFor(this.scene.arrows.flatMap(({ arrow }) => (arrow.holder ? [arrow.holder.row] : [])));
    this.picture.changed();
  }

  /** Selects a time in place of a box. */
  private selectRange(range: NonNullable<Scene["range"]>): void {
    this.picked = this.scene.selected = undefined;
    this.scene.arrows = [];
    this.clearRange();
    this.scene.range = range;
    this.picture.changed();
  }

  private clearRange(): void {
    this.scene.range = undefined;
    this.strip?.mark(-1);
  }

  /** Selects the box at that place, when its lane is decoded. */
  private async selectSpot(spot: Spot): Promise<void> {
    const lane = this.model.lanes.find(({ row, kind, depth }) => row === spot.row && kind === "call" && depth === 0);
    if (!lane) return;
    await this.model.next(lane, spot.start - 1, () => true);
    const found = boxesIn(this.model, lane, spot.start, Math.max(spot.end, spot.start + 1), 0);
    this.select(found.find(({ start }) => start === spot.start));
  }

  /** Adds what the file has about a single call or operation, and the arrow to or from the other end. */
  private async sayDetails(picked: Picked): Promise<void> {
    const about = await aboutOf(this.model, picked);
    if (this.picked !== picked || !about) return;
    this.details.add(about);
    if (about.arrow) {
      if (this.scene.arrows.length === 0) this.scene.arrows = [{ id: "launch", arrow: about.arrow }];
      this.picture.unfoldFor([about.row]);
    }
    this.picture.changed();
  }

  private async saySums(from: number, to: number): Promise<void> {
    const sums = await sumUp(this.model, from, to);
    const { range } = this.scene;
    if (range?.from !== from || range.to !== to) return;
    const merged = this.model.lanes.some(({ levels }) => (levels.at(-1)?.width ?? 0) > 0);
    this.details.show(sumsTable(this.model, from, to, sums, merged), [
      button("Zoom to it", "Zoom to the selected time (Enter)", () => this.zoomToSelected()),
      button("Clear", "Clear the selected time (Esc)", () => this.letGo()),
    ]);
  }

  private makeFinder(): Finder {
    return new Finder(this.model, this.toolbar, {
      from: () => this.picked?.start ?? this.view.start,
      marked: (matches) => {
        this.scene.searched = matches;
        this.picture.changed();
      },
      showHit: (hit, zooms) => this.showHit(hit, zooms),
      missed: (text) => this.details.say([`Nothing is called ${text}.`]),
      letGo: () => {
        this.letGo();
        this.canvas.focus();
      },
    });
  }

  private fillToolbar(): void {
    const { view } = this;
    const stalls = this.examples.length > 0 ? [
      button("‹", "Previous example (P)", () => this.nextExample(-1)),
      button("Next stall ›", "Next example (N)", () => this.nextExample(1)),
    ] : [];
    const zoom = [
      button("−", "Zoom out (−)", () => view.zoom(1.6)),
      button("+", "Zoom in (+)", () => view.zoom(1 / 1.6)),
      button("Fit", "Show everything (Home)", () => view.fit()),
    ];
    const { beside } = this;
    this.toolbar.append(
      ...(beside ? [element("h4", {}, `${beside.name}: ${duration(this.model.stored.length)}`)] : []),
      element("span", { class: "group" }, ...stalls),
      element("span", { class: "group" }, ...(beside?.hasZoom === false ? [] : zoom)),
      this.finder.element,
      button("?", "Keys (?)", () => this.openHelp()),
    );
  }
}
