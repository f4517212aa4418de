// Finding boxes by name: the field, the number of hits, and the way from one to the next.

import { button, element } from "../dom";
import { count } from "../units";
import type { Model } from "./model";
import { type Hit, Search } from "./search";

/** What finding asks of the timeline. */
export interface Found {
  /** The time from which on the next hit is looked for, ns. */
  from(): number;
  /** The labels that match have changed. */
  marked(matches: ((label: number) => boolean) | undefined): void;
  showHit(hit: Hit, zooms: boolean): void;
  /** Nothing has that name. */
  missed(text: string): void;
  letGo(): void;
}

export class Finder {
  readonly element = element("span", { class: "group find" });
  private readonly input = element("input", { type: "search", placeholder: "Find by name", "aria-label": "Find boxes by name" });
  private readonly hits = element("output", { class: "hits", "aria-live": "polite" });
  private readonly search: Search;
  /** The hit that was shown last, and the number of the request that is being answered. */
  private hit: Hit | undefined;
  private asked = 0;

  constructor(
    model: Model,
    private readonly toolbar: HTMLElement,
    private readonly owner: Found,
  ) {
    this.search = new Search(model);
    this.input.addEventListener("input", () => this.look());
    this.input.addEventListener("keydown", (event) => {
      if (event.key === "Enter") void this.next(event.shiftKey ? -1 : 1);
      if (event.key === "Escape") owner.letGo();
    });
    this.element.append(this.input, this.hits,
      button("‹", "The hit before (Shift + Enter)", () => void this.next(-1)),
      button("›", "The next hit (Enter)", () => void this.next(1)));
  }

  focus(): void {
    this.input.focus();
  }

  clear(): void {
    this.input.value = "";
    this.look();
  }

  /** Looks for a cause and goes to the longest idle time of a GPU that has it; where there is none, to the longest hit. */
  async findLongest(text: string): Promise<void> {
    this.input.value = text;
    this.look();
    const hits = await this.all();
    if (hits.length === 0) return;
    const isIdle = ({ lane }: Hit) => lane.kind === "idle";
    const wanted = hits.some(isIdle) ? isIdle : () => true;
    const longest = hits.filter(wanted).reduce((best, hit) => (length(hit) > length(best) ? hit : best), hits.find(wanted) as Hit);
    this.show(hits, hits.indexOf(longest), true);
  }

  private look(): void {
    const { search, owner } = this;
    search.set(this.input.value);
    this.hit = undefined;
    const { count: all, matches } = search;
    this.hits.textContent = matches ? `${count(all)} ${all === 1 ? "hit" : "hits"}` : "";
    this.toolbar.classList.toggle("searching", matches !== undefined);
    owner.marked(matches);
  }

  /** Goes to the next hit, or to the one before; the zoom stays. */
  private async next(by: 1 | -1): Promise<void> {
    const hits = await this.all();
    if (hits.length === 0) return;
    const known = this.hit ? hits.indexOf(this.hit) : -1;
    const from = this.owner.from();
    const first = by > 0 ? hits.findIndex(({ start }) => start >= from) : hits.findLastIndex(({ start }) => start < from);
    const next = known >= 0 ? known + by : first >= 0 ? first : by > 0 ? 0 : hits.length - 1;
    this.show(hits, (next + hits.length) % hits.length, false);
  }

  /** The hits of the search; none if it has changed meanwhile. */
  private async all(): Promise<Hit[]> {
    if (!this.search.matches) return [];
    const asked = ++this.asked;
    const hits = await this.search.all();
    if (asked !== this.asked) return [];
    if (hits.length === 0) this.owner.missed(this.input.value);
    return hits;
  }

  private show(hits: Hit[], at: number, zooms: boolean): void {
    const hit = hits[at] as Hit;
    this.hit = hit;
    const all = this.search.count;
    const merged = all > hits.length ? `, ${count(all)} with those that are merged` : "";
    this.hits.textContent = `${count(at + 1)} of ${count(hits.length)}${merged}`;
    this.owner.showHit(hit, zooms);
  }
}

export function length({ start, end }: { start: number; end: number }): number {
  return end - start;
}
