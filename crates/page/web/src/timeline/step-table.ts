// The account of a step as a table: what it went into, beside the median step.

import { element } from "../dom";
import { duration, percent } from "../units";
import { pairs, type StepStrip } from "./steps";

interface Row {
  name: string;
  ns: number;
  median: number;
  place: string;
  finding?: string | undefined;
}

export function stepTable(strip: StepStrip, step: number): HTMLElement {
  const { steps } = strip;
  const takes = Math.max(steps.takes[step] ?? 0, 1);
  const slow = steps.slow.find(({ at }) => at === step);
  const rows = rowsOf(strip, step);
  // Of a slow step, what it had most more of comes first.
  if (slow) rows.sort((a, b) => b.ns - b.median - (a.ns - a.median));
  const body = element("tbody", {});
  for (const { name, ns, median, place, finding } of rows) {
    const link = finding === undefined ? [] : [element("a", { href: `#${finding}` }, finding), " "];
    body.append(element("tr", {}, element("th", { scope: "row" }, name), number(duration(ns)), number(percent(ns / takes)),
      number(duration(median)), number(signed(ns - median)), element("td", { class: "what" }, ...link, place)));
  }
  const titles = [steps.of, "this step", "of it", "median", "difference", ""];
  const aligned = (at: number) => (at > 0 && at < 5 ? "number" : "");
  const head = element("tr", {}, ...titles.map((title, at) => element("th", { scope: "col", class: aligned(at) }, title)));
  const says = `${strip.name(step)}${slow ? ", slow" : ""}: ${duration(takes)}${strip.difference(step)}`;
  return element("table", { class: "sums step" }, element("caption", {}, says), element("thead", {}, head), body);
}

/** Busy time first, then the causes of the step and of the median, the step's longest first. */
function rowsOf({ steps }: StepStrip, step: number): Row[] {
  const [own, usual] = [new Map(pairs(steps.idle[step])), new Map(pairs(steps.median.idle))];
  const more = steps.slow.find(({ at }) => at === step)?.more ?? [];
  const known = steps.idle.length > 0 ? [...new Set([...own.keys(), ...usual.keys()])] : [];
  const rows: Row[] = known.map((cause) => {
    const told = more.find((part) => part.cause === cause);
    const name = steps.causes[cause]?.[0] ?? "";
    return { name, ns: own.get(cause) ?? 0, median: usual.get(cause) ?? 0, place: told?.place ?? "", finding: told?.finding };
  });
  rows.sort((a, b) => b.ns - a.ns || b.median - a.median);
  if (steps.is_gpu) rows.unshift({ name: "busy", ns: steps.busy[step] ?? 0, median: steps.median.busy, place: "" });
  return rows;
}

function number(text: string): HTMLElement {
  return element("td", { class: "number" }, text);
}

function signed(ns: number): string {
  return ns === 0 ? "0" : `${ns > 0 ? "+" : "−"}${duration(Math.abs(ns))}`;
}
