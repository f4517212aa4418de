// Links of findings show their places in the timeline; links to findings unfold them. Printed findings are unfolded.

import { followLinks, onShow } from "./links";

export function startFindings(section: HTMLElement): void {
  followLinks(section);
  onShow((target) => {
    if (target.kind === "finding") unfold(section, target.id);
  });
  let folded: HTMLDetailsElement[] = [];
  addEventListener("beforeprint", () => {
    folded = [...section.querySelectorAll<HTMLDetailsElement>(":scope > article > details:not([open]), details.rest, details.rest details")];
    for (const details of folded) details.open = true;
  });
  addEventListener("afterprint", () => {
    for (const details of folded) details.open = false;
  });
}

/** Unfolds a finding and all around it, and goes there. */
function unfold(section: HTMLElement, id: string): void {
  const card = section.querySelector<HTMLElement>(`#${CSS.escape(id)}`);
  if (!card) return;
  for (const other of section.querySelectorAll(".pointed")) other.classList.remove("pointed");
  card.classList.add("pointed");
  const own = card.querySelector("details");
  for (let details = own; details; details = details.parentElement?.closest("details") ?? null) details.open = true;
  card.scrollIntoView({ block: "nearest", behavior: "instant" });
  own?.querySelector("summary")?.focus({ preventScroll: true });
}
