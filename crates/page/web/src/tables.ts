// Tables sort by a click on a heading, filter by text, and unfold.

import { button, element } from "./dom";
import { followLinks } from "./links";
import { count } from "./units";

/** Rows shown before a table is unfolded. */
const FEW = 10;
/** Rows that are worth folding: more than these. */
const FOLDED = 16;

export function startTables(section: HTMLElement): void {
  for (const holder of section.querySelectorAll<HTMLElement>("div.table")) new SortedTable(holder);
  followLinks(section);
}

class SortedTable {
  private readonly rows: HTMLTableRowElement[];
  private readonly texts: string[];
  private readonly body: HTMLTableSectionElement;
  private readonly headings: HTMLTableCellElement[];
  private readonly more: HTMLButtonElement;
  private filter = "";
  private sortedBy = -1;
  private descending = true;
  private unfolded = false;

  constructor(holder: HTMLElement) {
    const table = holder.querySelector("table") as HTMLTableElement;
    this.body = table.tBodies[0] as HTMLTableSectionElement;
    this.rows = [...this.body.rows];
    this.texts = this.rows.map((row) => (row.textContent ?? "").toLowerCase());
    this.headings = [...table.querySelectorAll<HTMLTableCellElement>("th")];
    this.headings.forEach((heading, column) => this.makeSortable(heading, column));
    this.more = button("", "", () => {
      this.unfolded = !this.unfolded;
      this.update();
    });
    this.more.className = "more";
    if (this.rows.length > FEW) holder.prepend(this.filterBox(table.caption?.textContent ?? "the table"));
    table.after(this.more);
    this.update();
  }

  private makeSortable(heading: HTMLTableCellElement, column: number): void {
    const title = heading.textContent ?? "";
    if (title === "") return;
    const sort = element("button", { type: "button" }, title);
    sort.addEventListener("click", () => {
      const numeric = heading.classList.contains("number");
      this.descending = this.sortedBy === column ? !this.descending : numeric;
      this.sortedBy = column;
      this.sort(column);
    });
    heading.replaceChildren(sort);
  }

  private filterBox(of: string): HTMLElement {
    const box = element("input", { type: "search", placeholder: "Filter", "aria-label": `Filter: ${of}` });
    box.addEventListener("input", () => {
      this.filter = box.value.trim().toLowerCase();
      this.update();
    });
    return element("label", { class: "filter" }, box);
  }

  private sort(column: number): void {
    const sign = this.descending ? -1 : 1;
    const cell = (row: HTMLTableRowElement) => row.cells[column] as HTMLTableCellElement;
    const keys = new Map(this.rows.map((row) => [row, cell(row).dataset.value]));
    const compare = (a: HTMLTableRowElement, b: HTMLTableRowElement) => {
      const [first, second] = [keys.get(a), keys.get(b)];
      if (first !== undefined && second !== undefined) return sign * (Number(first) - Number(second));
      return sign * (cell(a).textContent ?? "").localeCompare(cell(b).textContent ?? "", "en");
    };
    const order = this.rows.map((row, at) => ({ row, text: this.texts[at] as string }));
    order.sort((a, b) => compare(a.row, b.row));
    this.body.replaceChildren(...order.map(({ row }) => row));
    this.rows.splice(0, this.rows.length, ...order.map(({ row }) => row));
    this.texts.splice(0, this.texts.length, ...order.map(({ text }) => text));
    this.headings.forEach((heading, at) => {
      if (at === column) heading.setAttribute("aria-sort", this.descending ? "descending" : "ascending");
      else heading.removeAttribute("aria-sort");
    });
    this.update();
  }

  private update(): void {
    const matches = this.texts.map((text) => text.includes(this.filter));
    const matching = matches.filter(Boolean).length;
    const few = this.unfolded || matching <= FOLDED ? matching : FEW;
    let shown = 0;
    this.rows.forEach((row, at) => {
      row.hidden = !matches[at] || shown === few;
      if (!row.hidden) shown++;
    });
    this.more.hidden = matching <= FOLDED;
    const label = this.unfolded ? `Show the first ${FEW}` : `Show all ${count(matching)}`;
    this.more.textContent = label;
    this.more.title = label;
    this.more.setAttribute("aria-label", label);
  }
}
