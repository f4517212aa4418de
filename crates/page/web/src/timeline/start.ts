// The timeline: its parts, and the actions of clicks and keys.

import { button, element } from "../dom";
import { onShow, type Target } from "../links";
import { onThemeChange } from "../theme";
import { count, duration, moment } from "../units";
import { aboutOf, arrowsOf } from "./about";
import { draw } from "./draw";
import { foldedAtFirst, Groups } from "./groups";
import { helpDialog } from "./help";
import { listen, type Controlled } from "./input";
import { AXIS, headingsOf, layOut } from "./layout";
import { legend } from "./legend";
import { type Arrow, Model, type Spot } from "./model";
import { Overview } from "./overview";
import { palette } from "./palette";
import { boxesIn, describe, pick, type Picked } from "./pick";
import type { Scene } from "./scene";
import { type Hit, Search } from "./search";
import { sumsTable, sumUp } from "./sums";
import { View } from "./view";

export async function startTimeline(section: HTMLElement): Promise<void> {
  const holder = section.querySelector<HTMLElement>(".timeline");
  if (!holder) return;
  const model = await Model.load();
  new Timeline(holder, model);
}

/** Width of the printed picture, CSS pixels; it shrinks to the paper. */
const PAPER_WIDTH = 900;

/** Room that the details keep below the picture on the first screen, and the least height of the picture, CSS pixels. */
const DETAILS = 66;
const LEAST = 220;

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
  private readonly hits = element("output", { class: "hits", "aria-live": "polite" });
  private readonly help = helpDialog();
  private readonly toolbar = element("div", { class: "toolbar", role: "toolbar", "aria-label": "Timeline" });
  private readonly hint = element("div", { class: "hint", hidden: "" }, "Click the timeline to zoom with the wheel, or hold Ctrl");
  private readonly legend = element("ul", { class: "legend", "aria-label": "Legend" });
  private readonly examples: Example[];
  private readonly scene: Scene;
  private readonly found: Search;
  private readonly groups = new Groups((key) => this.toggle(key));
  private readonly folded: Set<string>;
  /** The hit that was shown last, and the number of the request that is being answered. */
  private hit: Hit | undefined;
  private asked = 0;
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
    this.found = new Search(model);
    this.folded = foldedAtFirst(model, layOut(model, () => true, new Set()));
    this.fillToolbar();
    const rows = element("div", { class: "rows" }, this.canvas, this.groups.element);
    const frame = element("div", { class: "frame" }, this.overview.canvas, rows, this.tip, this.hint);
    holder.replaceChildren(this.toolbar, frame, this.details, this.legend, this.help);
    this.scene = {
      model,
      layout: layOut(model, () => true, this.folded),
      palette: palette(holder, this.context),
      width: 0,
      height: 0,
      gutter: 0,
      scroll: 0,
      start: 0,
      end: model.length,
      arrows: [],
    };
    this.groups.update(this.scene.layout.headings);
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
    this.tip.style.top = `${(this.canvas.parentElement?.offsetTop ?? 0) + y + 18}px`;
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
    this.search.value = "";
    this.searchFor("");
    this.scene.range = undefined;
    this.onlyInvolved(undefined);
    this.select(undefined);
  }

  openHelp(): void {
    this.help.showModal();
  }

  find(): void {
    this.search.focus();
  }

  selectTime(from: number, to: number, done: boolean): void {
    const within = (time: number) => Math.min(Math.max(time, 0), this.model.length);
    const range = { from: within(Math.min(from, to)), to: within(Math.max(from, to)) };
    if (range.to <= range.from) return;
    this.picked = this.scene.selected = undefined;
    this.scene.arrows = [];
    this.scene.range = range;
    this.changed();
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
    } else if (target.kind === "name") {
      this.search.value = target.text;
      this.searchFor(target.text);
      void this.findLongest();
    } else {
      this.scene.arrows = [];
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
    this.scene.arrows = [{ arrow, id: finding }];
    this.scene.selected = this.scene.range = undefined;
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
    const folded = rows.flatMap((row) => headingsOf(this.model, row)).filter((key) => this.folded.delete(key));
    if (folded.length > 0) this.layOutAgain();
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
    this.scene.scroll = 0;
    this.layOutAgain();
  }

  private toggle(key: string): void {
    if (!this.folded.delete(key)) this.folded.add(key);
    this.layOutAgain();
  }

  private layOutAgain(): void {
    const rows = this.onlyRows;
    this.scene.layout = layOut(this.model, (row) => !rows || rows.has(row), rows ? new Set() : this.folded);
    this.groups.update(this.scene.layout.headings);
    this.resize();
  }

  private select(picked: Picked | undefined): void {
    this.picked = picked;
    this.scene.selected = picked && { ...picked, kind: picked.lane.kind, depth: picked.lane.depth };
    this.scene.arrows = picked ? arrowsOf(this.model, picked) : [];
    if (picked) {
      this.scene.range = undefined;
      const { title, lines } = describe(this.model, picked);
      this.say([title, ...lines]);
      void this.sayDetails(picked);
    } else if (!this.scene.range) {
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

  /** Adds what the file has about a single call or operation, and the arrow to or from the other end. */
  private async sayDetails(picked: Picked): Promise<void> {
    const about = await aboutOf(this.model, picked);
    if (this.picked !== picked || !about) return;
    for (const line of about.lines) this.details.append(element("span", {}, line));
    const frames = about.stack.map((frame) => element("li", {}, frame));
    if (frames.length > 0) this.details.append(element("ol", { class: "stack", "aria-label": "Stack, innermost first" }, ...frames));
    if (about.arrow) {
      if (this.scene.arrows.length === 0) this.scene.arrows = [{ id: "launch", arrow: about.arrow }];
      this.unfoldFor(about.row);
    }
    this.changed();
  }

  /** An arrow needs both rows: unfolds the groups of the other one. */
  private unfoldFor(row: number): void {
    const folded = headingsOf(this.model, row).filter((key) => this.folded.delete(key));
    if (folded.length > 0) this.layOutAgain();
  }

  private async saySums(from: number, to: number): Promise<void> {
    const sums = await sumUp(this.model, from, to);
    const { range } = this.scene;
    if (range?.from !== from || range.to !== to) return;
    const merged = this.model.lanes.some(({ levels }) => (levels.at(-1)?.width ?? 0) > 0);
    this.details.replaceChildren(
      sumsTable(this.model, from, to, sums, merged),
      button("Zoom to it", "Zoom to the selected time (Enter)", () => this.zoomToSelected()),
      button("Clear", "Clear the selected time (Esc)", () => this.letGo()),
    );
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
      if (event.key === "Enter") void this.findNext(event.shiftKey ? -1 : 1);
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
      element("span", { class: "group find" }, this.search, this.hits,
        button("‹", "The hit before (Shift + Enter)", () => void this.findNext(-1)),
        button("›", "The next hit (Enter)", () => void this.findNext(1))),
      button("?", "Keys (?)", () => this.openHelp()),
    );
  }

  private searchFor(text: string): void {
    this.found.set(text);
    this.scene.searched = this.found.matches;
    this.hit = undefined;
    const { count: all } = this.found;
    this.hits.textContent = this.found.matches ? `${count(all)} ${all === 1 ? "hit" : "hits"}` : "";
    this.toolbar.classList.toggle("searching", this.found.matches !== undefined);
    this.changed();
  }

  /** Goes to the next hit, or to the one before; the zoom stays. */
  private async findNext(by: 1 | -1): Promise<void> {
    const hits = await this.hitsOf();
    if (hits.length === 0) return;
    const known = this.hit ? hits.indexOf(this.hit) : -1;
    const from = this.picked?.start ?? this.view.start;
    const first = by > 0 ? hits.findIndex(({ start }) => start >= from) : hits.findLastIndex(({ start }) => start < from);
    const next = known >= 0 ? known + by : first >= 0 ? first : by > 0 ? 0 : hits.length - 1;
    await this.showHit(hits, (next + hits.length) % hits.length);
  }

  /** Goes to the longest hit, and shows as much time around it as it needs to be seen. */
  private async findLongest(): Promise<void> {
    const hits = await this.hitsOf();
    if (hits.length === 0) return;
    const longest = hits.reduce((best, hit, at) => (length(hit) > length(hits[best] as Hit) ? at : best), 0);
    const hit = hits[longest] as Hit;
    const span = Math.min(length(hit) * 20, this.view.span);
    const middle = (hit.start + hit.end) / 2;
    this.view.set(middle - span / 2, middle + span / 2);
    await this.showHit(hits, longest);
  }

  /** The hits of the search; none if it has changed meanwhile. */
  private async hitsOf(): Promise<Hit[]> {
    if (!this.found.matches) return [];
    const asked = ++this.asked;
    const hits = await this.found.all();
    if (asked !== this.asked) return [];
    if (hits.length === 0) this.say([`Nothing is called ${this.search.value}.`]);
    return hits;
  }

  private async showHit(hits: Hit[], at: number): Promise<void> {
    const hit = hits[at] as Hit;
    this.hit = hit;
    const merged = this.found.count > hits.length ? `, ${count(this.found.count)} with those that are merged` : "";
    this.hits.textContent = `${count(at + 1)} of ${count(hits.length)}${merged}`;
    const { view } = this;
    if (hit.end < view.start || hit.start > view.end || (hit.start < view.start && length(hit) < view.span)) {
      const middle = (hit.start + hit.end) / 2;
      view.set(middle - view.span / 2, middle + view.span / 2);
    }
    this.reveal([hit.lane.row]);
    const boxes = boxesIn(this.model, hit.lane, hit.start, hit.end + 1, 0);
    this.select(boxes.find(({ start, end }) => start === hit.start && end === hit.end));
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
    // On the first screen, the picture fills what is left; if that is little, most of another screen.
    const left = innerHeight - (this.canvas.getBoundingClientRect().top + scrollY) - DETAILS;
    const room = left >= LEAST ? left : Math.max(LEAST, innerHeight * 0.68);
    scene.height = height ?? Math.round(Math.min(wanted, room));
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
    this.groups.place(scene.layout.headings, scene.scroll, scene.height);
    this.overview.draw(scene.palette);
    this.describeView();
  }

  /** Describes the picture for screen readers and for tests. */
  private describeView(): void {
    const { model, view, scene } = this;
    const from = moment(model.stored.start + view.start, view.span / 100);
    const many = (wanted: string): number => model.rows.filter(({ kind }) => kind === wanted).length;
    const [first] = scene.arrows;
    const arrow = first ? `; an arrow shows ${first.id}` : "";
    const settled = !model.isLoading && !view.isGliding;
    // Not on every frame: a screen reader would read nothing else.
    if (settled) this.canvas.setAttribute(
      "aria-label",
      `Timeline of ${many("thread")} threads and ${many("stream")} streams, from ${from} on for ` +
        `${duration(view.span)}${arrow}. Press ? for the keys. The table of the longest calls says the same in words.`,
    );
    const { dataset } = this.canvas;
    dataset.start = String(Math.round(model.stored.start + view.start));
    dataset.end = String(Math.round(model.stored.start + view.end));
    dataset.arrow = first ? `${first.id} ${first.arrow.holder?.row ?? ""} ${first.arrow.waiter.row}` : "";
    dataset.settled = String(settled);
  }
}

function length({ start, end }: Hit): number {
  return end - start;
}
