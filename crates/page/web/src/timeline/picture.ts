// The picture: its rows, its size and its colors, on screen and on paper, and its description for screen readers.

import { element } from "../dom";
import { onThemeChange } from "../theme";
import { duration, moment } from "../units";
import { draw } from "./draw";
import { foldedAtFirst, Groups } from "./groups";
import { AXIS, headingsOf, layOut } from "./layout";
import { legend } from "./legend";
import type { Model } from "./model";
import { Overview } from "./overview";
import { palette } from "./palette";
import type { Scene } from "./scene";
import type { Beside } from "./start";
import type { StepStrip } from "./steps";
import type { View } from "./view";

/** Width of the printed picture, CSS pixels; it shrinks to the paper. */
const PAPER_WIDTH = 900;

/** Room that the details keep below the picture on the first screen, and the least height of the picture, CSS pixels. */
const DETAILS = 66;
const LEAST = 220;

export class Picture {
  readonly canvas = element("canvas", { tabindex: "0", role: "application", "aria-roledescription": "timeline" });
  readonly legend = element("ul", { class: "legend", "aria-label": "Legend" });
  readonly rows: HTMLElement;
  readonly overview: Overview;
  readonly scene: Scene;
  /** The strip of steps above the rows. */
  strip: StepStrip | undefined;
  private readonly context = this.canvas.getContext("2d", { alpha: false }) as CanvasRenderingContext2D;
  private readonly groups = new Groups((key) => this.toggle(key));
  private readonly folded: Set<string>;
  /** Called when the reader has folded or unfolded a group. */
  onFold: () => void = () => {};
  private onlyRows: Set<number> | undefined;
  private dirty = false;

  constructor(
    private readonly holder: HTMLElement,
    private readonly model: Model,
    private readonly view: View,
    private readonly beside?: Beside,
  ) {
    this.overview = new Overview(model, view);
    this.folded = beside?.folded ?? foldedAtFirst(model, layOut(model, () => true, new Set()));
    this.rows = element("div", { class: "rows" }, this.canvas, this.groups.element);
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
  }

  /** Draws it, now that it is in the page, and whenever the page changes. */
  start(): void {
    onThemeChange(() => this.recolour());
    new ResizeObserver(() => this.resize()).observe(this.holder);
    addEventListener("beforeprint", () => this.print(true));
    addEventListener("afterprint", () => this.print(false));
    this.resize();
    this.recolour();
  }

  /** The part of the canvas's width, right of the gutter, at a place on it. */
  part(x: number): number {
    return (x - this.scene.gutter) / Math.max(this.scene.width - this.scene.gutter, 1);
  }

  get nsPerPixel(): number {
    return this.view.span / Math.max(this.scene.width - this.scene.gutter, 1);
  }

  scrollRows(pixels: number): void {
    const most = Math.max(0, this.scene.layout.height + AXIS - this.scene.height);
    this.scene.scroll = Math.min(Math.max(this.scene.scroll + pixels, 0), most);
    this.changed();
  }

  /** Whether only the rows of an example are shown. */
  get hidesRows(): boolean {
    return this.onlyRows !== undefined;
  }

  /** Scrolls so that rows are visible; hides the rows between them if they are too far apart. */
  reveal(rows: number[]): void {
    if (this.onlyRows && !rows.every((row) => this.onlyRows?.has(row))) this.onlyInvolved(undefined);
    this.unfoldFor(rows);
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

  /** Unfolds the groups of some rows: an arrow needs both of its rows. */
  unfoldFor(rows: number[]): void {
    const folded = rows.flatMap((row) => headingsOf(this.model, row)).filter((key) => this.folded.delete(key));
    if (folded.length > 0) this.layOutAgain();
  }

  /** Shows only some rows, or all. */
  onlyInvolved(rows: Set<number> | undefined): void {
    if (rows === this.onlyRows) return;
    this.onlyRows = rows;
    this.scene.scroll = 0;
    this.layOutAgain();
  }

  changed(): void {
    this.canvas.dataset.settled = "false";
    if (this.dirty) return;
    this.dirty = true;
    requestAnimationFrame(() => this.paint());
  }

  private toggle(key: string): void {
    if (!this.folded.delete(key)) this.folded.add(key);
    this.layOutAgain();
    this.onFold();
  }

  /** Lays the rows out again, after groups were folded or unfolded. */
  layOutAgain(): void {
    const rows = this.onlyRows;
    this.scene.layout = layOut(this.model, (row) => !rows || rows.has(row), rows ? new Set() : this.folded);
    this.groups.update(this.scene.layout.headings);
    this.resize();
  }

  private recolour(): void {
    this.scene.palette = palette(this.holder, this.context);
    this.overview.resize(this.scene.width, this.scene.gutter, this.scene.palette);
    this.explain();
    this.changed();
  }

  private resize(width = this.holder.clientWidth, height?: number): void {
    const { scene } = this;
    // It is hidden.
    if (width === 0) return;
    scene.width = width;
    scene.gutter = Math.round(Math.min(190, Math.max(104, width * 0.16)));
    this.strip?.resize(width, scene.gutter);
    const wanted = scene.layout.height + AXIS + 6;
    // On the first screen, the picture fills what is left; if that is little, most of another screen.
    const left = innerHeight - (this.canvas.getBoundingClientRect().top + scrollY) - DETAILS;
    const usual = left >= LEAST ? left : Math.max(LEAST, innerHeight * 0.68);
    const room = this.beside ? Math.max(LEAST, innerHeight * this.beside.height) : usual;
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
    this.explain();
  }

  /** Explains the colors of this timeline, or of several. */
  private explain(): void {
    legend(this.legend, this.beside?.legend ?? [this.model], this.scene.palette);
  }

  private paint(): void {
    this.dirty = false;
    const { scene, view, context } = this;
    if (scene.width === 0) return;
    [scene.start, scene.end] = [view.start, view.end];
    context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    draw(context, scene);
    this.groups.place(scene.layout.headings, scene.scroll, scene.height);
    this.overview.draw(scene.palette);
    this.strip?.draw(scene.palette);
    this.describe();
  }

  /** Describes the picture for screen readers and for tests. */
  private describe(): void {
    const { model, view, scene } = this;
    const from = moment(model.stored.start + view.start, view.span / 100);
    const many = (wanted: string): number => model.rows.filter(({ kind }) => kind === wanted).length;
    const [first] = scene.arrows;
    const arrow = first ? `; ${scene.arrows.length > 1 ? `${scene.arrows.length} arrows show` : "an arrow shows"} ${first.id}` : "";
    const settled = !model.isLoading && !view.isGliding;
    // Not on every frame: a screen reader would read nothing else.
    if (settled) this.canvas.setAttribute(
      "aria-label",
      `${this.beside ? `${this.beside.name}: timeline` : "Timeline"} of ${many("thread")} threads and ${many("stream")} streams, ` +
        `from ${from} on for ${duration(view.span)}${arrow}. Press ? for the keys. ` +
        (this.beside ? "The accounts above have its sums." : "The table of the longest calls says the same in words."),
    );
    const { dataset } = this.canvas;
    dataset.start = String(Math.round(model.stored.start + view.start));
    dataset.end = String(Math.round(model.stored.start + view.end));
    dataset.arrow = scene.arrows.map(({ id, arrow }) => `${id} ${arrow.holder?.row ?? ""} ${arrow.waiter.row}`).join(", ");
    dataset.settled = String(settled);
  }
}
