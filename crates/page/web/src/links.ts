// Requests between the parts of the page: what the timeline should show.

export type Target =
  | { kind: "example"; finding: string; example: number }
  | { kind: "box"; row: number; start: number; end: number }
  | { kind: "name"; text: string };

const NAME = "holdup-show";

export function show(target: Target): void {
  document.dispatchEvent(new CustomEvent<Target>(NAME, { detail: target }));
}

export function onShow(act: (target: Target) => void): void {
  document.addEventListener(NAME, (event) => act((event as CustomEvent<Target>).detail));
}
