// Makes the page's sections interactive. Each names its script in `data-script`.

import { startAccount } from "./account";
import { startAccounts, startPredictions } from "./changes";
import { startFindings } from "./findings";
import { startTables } from "./tables";
import { startTheme } from "./theme";
import { startTimelines } from "./timeline/pairs";
import { startTimeline } from "./timeline/start";

/** What the line below the bars of a trace says. */
const LEADS = "Point at a part, or use the arrow keys. A click leads to its finding, or to idle time below (T).";

/** If a section's script fails, the others still run. */
const SCRIPTS: Record<string, (section: HTMLElement) => void | Promise<void>> = {
  account: (section) => startAccount(section, LEADS),
  accounts: startAccounts,
  findings: startFindings,
  predictions: startPredictions,
  timeline: startTimeline,
  timelines: startTimelines,
  tables: startTables,
};

document.documentElement.classList.add("scripted");
const top = document.querySelector("header.top");
if (top) startTheme(top);
for (const section of document.querySelectorAll<HTMLElement>("section[data-script]")) {
  const start = SCRIPTS[section.dataset.script ?? ""];
  if (start) void Promise.resolve(start(section)).catch((error: unknown) => console.error(error));
}
