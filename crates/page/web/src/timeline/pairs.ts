// Timelines before and after a change, one above the other: one time scale, zoom and pan move both.

import { followSelected } from "../changes";
import { foldedAtFirst } from "./groups";
import { layOut } from "./layout";
import { Model } from "./model";
import { Timeline } from "./start";
import { View } from "./view";

/** Height of each picture, as a part of the window's. */
const HEIGHT = 0.36;

export function startTimelines(section: HTMLElement): void {
  const views = new Map<HTMLElement, View>();
  let shown: View | undefined;
  followSelected(section, (panel) => {
    const pair = panel.querySelector<HTMLElement>(".pair");
    if (!pair) return;
    const known = views.get(pair);
    const view = known ?? new View(Number(pair.dataset.length));
    views.set(pair, view);
    // Another change is shown at the time that is visible.
    if (shown && shown !== view && !shown.isWhole) view.set(shown.start, shown.end);
    shown = view;
    if (!known) void start(pair, view).catch((error: unknown) => console.error(error));
  });
}

async function start(pair: HTMLElement, view: View): Promise<void> {
  const holders = [...pair.querySelectorAll<HTMLElement>(".timeline")];
  const prefixes = ["before-", pair.dataset.after ?? ""];
  const models = await Promise.all(prefixes.map((prefix) => Model.load(prefix, view.length)));
  const [before] = models;
  const folded = before ? foldedAtFirst(before, layOut(before, () => true, new Set())) : new Set<string>();
  const timelines = models.map((model, at) => {
    const holder = holders[at] as HTMLElement;
    const name = holder.dataset.title ?? "";
    const isLast = at === models.length - 1;
    return new Timeline(holder, model, { view, name, height: HEIGHT, folded, hasZoom: at === 0, legend: isLast ? models : [] });
  });
  for (const timeline of timelines) timeline.others = timelines.filter((other) => other !== timeline);
}
