// A click on a finding, or on one of its examples, shows it in the timeline.

import { show } from "./links";

export function startFindings(section: HTMLElement): void {
  section.addEventListener("click", (event) => {
    const clicked = event.target as Element;
    const link = clicked.closest<HTMLElement>("a[data-example]");
    const sentence = clicked.closest("h3, .weight")?.closest("article")?.querySelector<HTMLElement>("a[data-example]");
    // A reader who selects text to copy it does not want to go to the timeline.
    const target = link ?? (getSelection()?.toString() ? undefined : sentence);
    const [finding, example] = target?.dataset.example?.split(".") ?? [];
    if (finding === undefined || example === undefined) return;
    event.preventDefault();
    show({ kind: "example", finding, example: Number(example) });
  });
}
