// Finding boxes by name: how many there are, and the way from one to the next.

import type { Lane, Model } from "./model";

/** A box whose name matches. */
export interface Hit {
  lane: Lane;
  start: number;
  end: number;
}

/** Most hits to step through; the count is of all. */
const MOST = 50_000;

export class Search {
  /** Whether a label matches; undefined without a search. */
  matches: ((label: number) => boolean) | undefined;
  /** Number of boxes that match. */
  count = 0;
  private text = "";
  private hits: Promise<Hit[]> | undefined;

  constructor(private readonly model: Model) {}

  set(text: string): void {
    const wanted = text.trim().toLowerCase();
    if (wanted === this.text) return;
    this.text = wanted;
    this.hits = undefined;
    this.count = 0;
    this.matches = undefined;
    if (!wanted) return;
    const known = this.model.stored.labels.map((label) => label.t.toLowerCase().includes(wanted));
    this.model.stored.labels.forEach((label, at) => (this.count += known[at] ? label.n : 0));
    this.matches = (label) => known[label] ?? false;
  }

  /** The hits by time. Boxes that are merged into blocks are no hits, unless they are the longest there. */
  all(): Promise<Hit[]> {
    this.hits ??= this.collect();
    return this.hits;
  }

  private async collect(): Promise<Hit[]> {
    const { model, matches } = this;
    const hits: Hit[] = [];
    if (!matches || this.count === 0) return hits;
    // The streams show the operations of engines.
    const lanes = model.lanes.filter(({ row }) => model.rows[row]?.kind !== "engine");
    for (const lane of lanes) {
      await model.visitFinest(lane, 0, model.length, (boxes, from, to) => {
        for (let at = 0; at < boxes.starts.length && hits.length < MOST; at++) {
          const [start, end] = [boxes.starts[at] as number, boxes.ends[at] as number];
          if (start >= from && start < Math.max(to, from + 1) && matches(boxes.labels[at] as number)) hits.push({ lane, start, end });
        }
      });
    }
    return hits.sort((a, b) => a.start - b.start || a.end - b.end);
  }
}
