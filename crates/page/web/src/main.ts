// Makes the page's sections interactive. Each names its script in `data-script`.

import { startAccount } from "./account";
import { startFindings } from "./findings";
import { startTables } from "./tables";
import { startTheme } from "./theme";
import { startTimeline } from "./timeline/start";

/** If a section's script fails, the others still run. */
const SCRIPTS: Record<string, (section: HTMLElement) => void | Promise<void>> = {
  account: startAccount,
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
