// Brings the page's sections to life. Each names in `data-script` who looks after it.

import { startFindings } from "./findings";
import { startTables } from "./tables";
import { startTheme } from "./theme";
import { startTimeline } from "./timeline/start";

/** A section's script may fail without taking the others along. */
const SCRIPTS: Record<string, (section: HTMLElement) => void | Promise<void>> = {
  findings: startFindings,
  timeline: startTimeline,
  tables: startTables,
};

document.documentElement.classList.add("scripted");
const top = document.querySelector("header.top");
if (top) startTheme(top);
for (const section of document.querySelectorAll<HTMLElement>("section[data-script]")) {
  const start = SCRIPTS[section.dataset.script ?? ""];
  if (start) void Promise.resolve(start(section)).catch((error: unknown) => console.error(error));
}
