// The sums of a selected time: the work and the idle time of each GPU, and the calls of each thread.

import { element } from "../dom";
import { count, duration, moment, percent } from "../units";
import type { Lane, Model } from "./model";

interface Sum {
  name: string;
  ns: number;
  count: number;
}

/** What rows did in a time. */
export interface RowSums {
  row: number;
  kind: Lane["kind"];
  /** Most time first. */
  sums: Sum[];
}

/** Threads that are listed, and causes or calls of each row. */
const THREADS = 8;
const EACH = 4;

/** The sums of the rows of GPUs and threads between two times. Boxes that extend beyond are cut. */
export async function sumUp(model: Model, from: number, to: number): Promise<RowSums[]> {
  const lanes = model.lanes.filter(({ kind, depth }) => depth === 0 && (kind === "busy" || kind === "idle" || kind === "call"));
  const found = await Promise.all(
    lanes.map(async (lane) => {
      const sums = new Map<string, Sum>();
      await model.visitFinest(lane, from, to, (boxes, first, last) => {
        for (let at = 0; at < boxes.starts.length; at++) {
          const [start, end] = [boxes.starts[at] as number, boxes.ends[at] as number];
          if (start >= last) break;
          const inside = Math.min(end, last) - Math.max(start, first);
          if (inside < 0 || (inside === 0 && end > start)) continue;
          const several = boxes.counts?.[at] ?? 1;
          const part = inside / Math.max(end - start, 1);
          const name = nameOf(model, lane, boxes.labels[at] as number);
          const sum = sums.get(name) ?? { name, ns: 0, count: 0 };
          sum.ns += several > 1 ? (boxes.amounts[at] as number) * part : inside;
          sum.count += several > 1 ? Math.round(several * part) : 1;
          sums.set(name, sum);
        }
      });
      const sorted = [...sums.values()].sort((a, b) => b.ns - a.ns);
      return { row: lane.row, kind: lane.kind, sums: sorted };
    }),
  );
  return found.filter(({ sums }) => sums.length > 0);
}

/** A cause without its place, a call without what it copied. */
function nameOf(model: Model, lane: Lane, label: number): string {
  const text = model.label(label).t;
  if (lane.kind === "idle") return text.split(" · ")[0] as string;
  return lane.kind === "call" ? (text.split(" ")[0] as string) : text;
}

/** The sums as a table. */
export function sumsTable(model: Model, from: number, to: number, all: RowSums[], merged: boolean): HTMLElement {
  const takes = to - from;
  const about = merged ? "about " : "";
  const body = element("tbody", {});
  const line = (row: number, does: string, ns: number, what: string) => {
    const name = model.rows[row]?.name ?? "";
    body.append(element("tr", {}, element("th", { scope: "row" }, name), element("td", {}, does),
      element("td", { class: "number" }, `${about}${duration(Math.round(ns))}`),
      element("td", { class: "number" }, percent(ns / takes)), element("td", { class: "what" }, what)));
  };
  const total = ({ sums }: RowSums) => sums.reduce((sum, { ns }) => sum + ns, 0);
  const listed = (sums: Sum[], text: (sum: Sum) => string) =>
    sums.slice(0, EACH).map(text).join(", ") + (sums.length > EACH ? `, and ${sums.length - EACH} more` : "");
  for (const of of all.filter(({ kind }) => kind !== "call").sort((a, b) => a.row - b.row || (a.kind < b.kind ? -1 : 1))) {
    line(of.row, of.kind, total(of), listed(of.sums, ({ name, ns }) => `${name} ${percent(ns / takes)}`));
  }
  const threads = all.filter(({ kind }) => kind === "call").sort((a, b) => total(b) - total(a));
  for (const of of threads.slice(0, THREADS)) {
    const calls = of.sums.reduce((sum, { count }) => sum + count, 0);
    const one = ({ name, ns, count: times }: Sum) => `${count(times)} × ${name} ${duration(Math.round(ns))}`;
    line(of.row, `${count(calls)} ${calls === 1 ? "call" : "calls"}`, total(of), listed(of.sums, one));
  }
  const begins = moment(model.stored.start + from, Math.max(takes / 100, 1));
  const caption = element("caption", {}, `${duration(Math.round(takes))} selected, from ${begins} on`);
  if (threads.length > THREADS) caption.append(` · ${threads.length - THREADS} more threads with less time in calls`);
  return element("table", { class: "sums" }, caption, body);
}
