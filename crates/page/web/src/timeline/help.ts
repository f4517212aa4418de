// What the keys and the mouse do.

import { button, element } from "../dom";

const KEYS: [string, string][] = [
  ["← →, A D", "pan (with Shift: a little)"],
  ["+ −, W S", "zoom in, out"],
  ["↑ ↓", "scroll the rows"],
  ["Home, 0", "show everything"],
  ["R", "the sums of the visible time"],
  ["N, P", "next, previous example of the findings"],
  [". ,", "select the next, previous box of the row"],
  ["Enter", "zoom to the selected box or time"],
  ["/", "find by name; Enter: the next one, Shift + Enter: the one before"],
  ["Esc", "clear selection and arrow"],
  ["in the steps", "← →: the step before, after; Page Up, Page Down: the slow ones; Enter: show it"],
  ["?", "these keys"],
  ["drag", "pan; on the times above, or with Shift: select a time and see its sums"],
  ["wheel", "zoom, once the timeline was clicked; before, with Ctrl"],
  ["Shift + wheel", "pan"],
  ["double click", "zoom to a box"],
];

export function helpDialog(): HTMLDialogElement {
  const list = element("dl", {});
  for (const [keys, does] of KEYS) list.append(element("dt", {}, keys), element("dd", {}, does));
  const dialog = element("dialog", { class: "keys", "aria-label": "Keys of the timeline" }, element("h3", {}, "Keys"), list);
  dialog.append(button("Close", "Close", () => dialog.close()));
  return dialog;
}
