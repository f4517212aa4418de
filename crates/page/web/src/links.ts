// Requests between the parts of the page: what the timeline should show, or which finding to unfold.

export type Target =
  | { kind: "example"; finding: string; example: number }
  | { kind: "box"; row: number; start: number; end: number }
  | { kind: "time"; start: number; end: number }
  | { kind: "name"; text: string }
  | { kind: "finding"; id: string }
  | { kind: "change"; number: number };

const NAME = "holdup-show";

export function show(target: Target): void {
  document.dispatchEvent(new CustomEvent<Target>(NAME, { detail: target }));
}

export function onShow(act: (target: Target) => void): void {
  document.addEventListener(NAME, (event) => act((event as CustomEvent<Target>).detail));
}

/** Makes the links of an element requests: to an example, a box or a time in the timeline, or to a finding. */
export function followLinks(element: HTMLElement): void {
  element.addEventListener("click", (event) => {
    const link = (event.target as Element).closest<HTMLElement>("a");
    const target = link && targetOf(link);
    if (!target) return;
    event.preventDefault();
    show(target);
  });
}

function targetOf(link: HTMLElement): Target | undefined {
  const { example, box, time } = link.dataset;
  const [finding = "", number] = example?.split(".") ?? [];
  if (number !== undefined) return { kind: "example", finding, example: Number(number) };
  const places = (box ?? time ?? "").split(" ").map(Number);
  if (box !== undefined) {
    const [row = 0, start = 0, end = 0] = places;
    return { kind: "box", row, start, end };
  }
  if (time !== undefined) {
    const [start = 0, end = 0] = places;
    return { kind: "time", start, end };
  }
  const [, id] = link.getAttribute("href")?.match(/^#(H\d+)$/) ?? [];
  return id === undefined ? undefined : { kind: "finding", id };
}
