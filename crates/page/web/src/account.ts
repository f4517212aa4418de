// The bars of the account: one stop of the Tab key, in which the arrow keys go from part to part.

import { followLinks, show } from "./links";

/** Starts the bars of an element; the line below them says `quiet` while no part is pointed at. */
export function startAccount(section: HTMLElement, quiet: string): void {
  const readout = section.querySelector<HTMLElement>(".readout");
  const say = (text: string | null | undefined) => {
    if (readout) readout.textContent = text || quiet;
  };
  followLinks(section);
  let current = section.querySelector<SVGElement>(".segment");
  if (!current) return;
  current.tabIndex = 0;
  say("");

  const visible = (bar: Element) => bar.getClientRects().length > 0;
  const bars = () => [...section.querySelectorAll(".account")].filter(visible).map((bar) => [...bar.querySelectorAll<SVGElement>(".segment")]);
  const focus = (next: SVGElement | undefined) => {
    if (!next) return;
    if (current) current.tabIndex = -1;
    current = next;
    current.tabIndex = 0;
    current.focus();
  };
  const find = (part: Element) => {
    const text = part.closest<HTMLElement>("[data-find]")?.dataset.find;
    if (text) show({ kind: "name", text });
  };
  /** Goes to the finding of a part; where it has none, to the idle time. */
  const act = (part: Element) => {
    const id = part.closest<HTMLElement>("[data-finding]")?.dataset.finding;
    if (id) show({ kind: "finding", id });
    else find(part);
  };

  section.addEventListener("keydown", (event) => {
    const segment = (event.target as Element).closest<SVGElement>(".segment");
    if (!segment || event.ctrlKey || event.metaKey || event.altKey) return;
    const all = bars();
    const bar = all.findIndex((segments) => segments.includes(segment));
    const at = all[bar]?.indexOf(segment) ?? 0;
    const nearest = (other: SVGElement[] | undefined) => {
      const middle = (of: Element) => of.getBoundingClientRect().left + of.getBoundingClientRect().width / 2;
      const away = (of: Element) => Math.abs(middle(of) - middle(segment));
      return other?.reduce((best, next) => (away(next) < away(best) ? next : best), other[0] as SVGElement);
    };
    const next: Record<string, () => SVGElement | undefined> = {
      ArrowRight: () => all[bar]?.[at + 1],
      ArrowLeft: () => all[bar]?.[at - 1],
      ArrowDown: () => nearest(all[bar + 1]),
      ArrowUp: () => nearest(all[bar - 1]),
      Home: () => all[bar]?.[0],
      End: () => all[bar]?.at(-1),
    };
    const move = next[event.key];
    if (move) focus(move());
    else if (event.key === "Enter" || event.key === " ") act(segment);
    else if (event.key.toLowerCase() === "t") find(segment);
    else return;
    event.preventDefault();
  });
  section.addEventListener("click", (event) => {
    const segment = (event.target as Element).closest<SVGElement>(".segment");
    if (segment) focus(segment);
    act(event.target as Element);
  });
  section.addEventListener("focusin", (event) => say((event.target as Element).getAttribute("aria-label")));
  section.addEventListener("focusout", () => say(""));
  section.addEventListener("pointerover", (event) => {
    const segment = (event.target as Element).closest(".segment");
    say(segment?.getAttribute("aria-label") ?? (document.activeElement?.closest(".segment")?.getAttribute("aria-label")));
  });
}
