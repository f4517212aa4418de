// Predictions of changes: the accounts and timelines of the selected one are shown, those of all others are hidden.

import { startAccount } from "./account";
import { onShow, show } from "./links";

export function startPredictions(section: HTMLElement): void {
  section.addEventListener("change", () => show({ kind: "change", number: selected() }));
  section.addEventListener("click", (event) => {
    const row = (event.target as Element).closest("tbody tr");
    const choice = row?.querySelector<HTMLInputElement>("input[type=radio]");
    if (!choice || event.target === choice) return;
    choice.focus({ preventScroll: true });
    // A click on the label selects by itself, and once.
    if (!(event.target as Element).closest("label")) choice.click();
  });
}

export function startAccounts(section: HTMLElement): void {
  for (const panel of panelsOf(section)) startAccount(panel, "Point at a part of a bar, or use the arrow keys.");
  followSelected(section, () => {});
}

/** Shows only the panel of the selected change, and calls `act` with it. */
export function followSelected(section: HTMLElement, act: (panel: HTMLElement) => void): void {
  const panels = panelsOf(section);
  const go = (number: number) => {
    for (const panel of panels) panel.hidden = panel.dataset.change !== String(number);
    const panel = panels.find(({ hidden }) => !hidden);
    if (panel) act(panel);
  };
  onShow((target) => {
    if (target.kind === "change") go(target.number);
  });
  go(selected());
}

/** The number of the selected change. The browser may have kept it while the page was loaded again. */
function selected(): number {
  return Number(document.querySelector<HTMLInputElement>("input[name=change]:checked")?.value ?? 0);
}

function panelsOf(section: HTMLElement): HTMLElement[] {
  return [...section.querySelectorAll<HTMLElement>(":scope > .change")];
}
