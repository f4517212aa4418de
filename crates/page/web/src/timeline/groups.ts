// The headings of groups, as buttons over the gutter: they fold and unfold rows by click and by key.

import { element } from "../dom";
import { AXIS, type Heading, type Layout } from "./layout";
import type { Model } from "./model";

/** Teams of at least this many threads are folded at first, in a program of more rows than this. */
const LARGE_TEAM = 4;
const MANY_ROWS = 8;

/** The headings that are folded at first. */
export function foldedAtFirst(model: Model, all: Layout): Set<string> {
  if (model.rows.length <= MANY_ROWS) return new Set();
  const large = all.headings.filter(({ isTeam, rows }) => isTeam && rows.length >= LARGE_TEAM);
  return new Set(large.map(({ key }) => key));
}

export class Groups {
  readonly element = element("div", { class: "groups", role: "group", "aria-label": "Groups of rows" });
  private readonly buttons = new Map<string, HTMLButtonElement>();

  constructor(private readonly toggle: (key: string) => void) {}

  /** Makes a button for each heading, and keeps those that exist: one of them may have the focus. */
  update(headings: Heading[]): void {
    const wanted = new Set(headings.map(({ key }) => key));
    for (const [key, button] of this.buttons) {
      if (wanted.has(key)) continue;
      button.remove();
      this.buttons.delete(key);
    }
    headings.forEach((heading, at) => {
      const { key, text, rows, folded, isTeam } = heading;
      let button = this.buttons.get(key);
      if (!button) {
        button = element("button", { type: "button", class: isTeam ? "team" : "of-rows" });
        button.addEventListener("click", () => this.toggle(key));
        this.buttons.set(key, button);
      }
      // A button that moves in the document would lose the focus.
      const there = this.element.children[at] ?? null;
      if (there !== button) this.element.insertBefore(button, there);
      const many = rows.length > 1 ? ` · ${rows.length} rows` : "";
      button.textContent = `${folded ? "▸" : "▾"} ${isTeam ? `${text} · ${rows.length} threads` : text}${folded && !isTeam ? many : ""}`;
      button.title = `${folded ? "Show" : "Fold"} ${text}`;
      button.setAttribute("aria-expanded", String(!folded));
    });
  }

  /** Moves the buttons to their headings. */
  place(headings: Heading[], scroll: number, height: number): void {
    for (const { key, top } of headings) {
      const button = this.buttons.get(key);
      if (!button) continue;
      const at = AXIS + top - scroll;
      button.style.top = `${at - AXIS + 2}px`;
      button.style.visibility = at > AXIS - 12 && at < height - 8 ? "visible" : "hidden";
    }
  }
}
