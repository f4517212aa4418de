// The text below the picture: what a box is, an example of a finding, the sums of a time, or the account of a step.

import { element } from "../dom";
import { followLinks } from "../links";
import type { About } from "./about";
import type { Arrow, Model } from "./model";
import { describe, type Picked } from "./pick";

/** An example of a finding that has an arrow. */
export interface Example {
  finding: string;
  number: number;
  arrow: Arrow;
}

/** The examples of all findings, in order. */
export function examplesOf(model: Model): Example[] {
  return model.stored.findings.flatMap((finding) =>
    finding.examples.flatMap((arrow, number) => (arrow ? [{ finding: finding.id, number, arrow }] : [])),
  );
}

export class Details {
  readonly element = element("div", { class: "details", "aria-live": "polite" });

  constructor(private readonly model: Model) {
    followLinks(this.element);
    this.say();
  }

  /** Shows a title and lines about it; without any, how to begin. */
  say(lines: string[] = []): void {
    const [title, ...rest] = lines;
    if (title === undefined) {
      this.element.replaceChildren(element("span", { class: "quiet" }, "Click a box for what it is; press ? for the keys."));
      return;
    }
    this.element.replaceChildren(element("b", {}, title), ...rest.map((line) => element("span", {}, line)));
  }

  sayBox(picked: Picked): void {
    const { title, lines } = describe(this.model, picked);
    this.say([title, ...lines]);
  }

  /** Adds what the file has about a single call or operation. */
  add({ lines, stack }: About): void {
    for (const line of lines) this.element.append(element("span", {}, line));
    const frames = stack.map((frame) => element("li", {}, frame));
    if (frames.length > 0) this.element.append(element("ol", { class: "stack", "aria-label": "Stack, innermost first" }, ...frames));
  }

  sayExample({ finding, arrow, number }: Example): void {
    const rows = this.model.rows;
    const waiter = rows[arrow.waiter.row]?.name ?? "";
    const holder = arrow.holder && rows[arrow.holder.row]?.name;
    const [takes = "", at = ""] = arrow.text.split(" at ");
    const title = `${finding}: ${waiter} waits ${takes} at ${at}${holder ? `, for ${holder}` : ""}`;
    this.say([title, `Example ${number + 1}; N and P go to the next and the previous one.`]);
    this.element.append(element("a", { href: `#${finding}` }, `Back to ${finding}`));
  }

  sayRowsAreHidden(): void {
    this.element.append(element("span", {}, "Only the rows involved are shown; Esc shows all."));
  }

  /** Shows a table, and what can be done next. */
  show(table: HTMLElement, actions: HTMLElement[]): void {
    this.element.replaceChildren(table, ...actions);
  }
}
