// A click on an example of a finding shows it in the timeline. Printed findings are unfolded.

import { show } from "./links";

export function startFindings(section: HTMLElement): void {
  section.addEventListener("click", (event) => {
    const link = (event.target as Element).closest<HTMLElement>("a[data-example]");
    const [finding, example] = link?.dataset.example?.split(".") ?? [];
    if (finding === undefined || example === undefined) return;
    event.preventDefault();
    show({ kind: "example", finding, example: Number(example) });
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
