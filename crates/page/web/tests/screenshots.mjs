// Takes the pictures in docs/: node tests/screenshots.mjs
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { holdup, launch, open, root, settled, tab } from "./browser.mjs";

const PICTURES = [
  { name: "report", trace: "recorded-d2h-stall.holdup", colorScheme: "light", height: 830, scale: 1 },
  { name: "report-timeline", trace: "recorded-d2h-stall.holdup", colorScheme: "light", height: 610, scale: 1.25, example: "H1.0" },
  { name: "report-dark", trace: "recorded-library-first-use.holdup", colorScheme: "dark", height: 730, scale: 1, example: "H1.0", top: true },
];

const PREDICTIONS = [
  { name: "whatif", trace: "recorded-d2h-stall.holdup", colorScheme: "light", height: 1240, timelines: "whatif-timelines" },
];

const EXPERIMENTS = [
  { name: "lab-overlap", arguments: ["overlap", "--on", "sim:c2050"], section: "#timelines .plot" },
];

const directory = mkdtempSync(join(tmpdir(), "holdup-page-"));
const browser = await launch();
for (const { name, trace, colorScheme, height, scale, example, top } of PICTURES) {
  const file = join(directory, `${name}.html`);
  execFileSync(holdup, ["explain", join(root, "examples", trace), "--format", "html", "-o", file]);
  const { page, close } = await tab(browser, { colorScheme, viewport: { width: 1280, height }, deviceScaleFactor: scale });
  await open(page, pathToFileURL(file).href);
  if (example) {
    // It may be among those that are folded.
    const fold = (open) => page.evaluate((open) => document.querySelectorAll("#findings > details").forEach((more) => (more.open = open)), open);
    await fold(true);
    await page.click(`a.show[data-example="${example}"]`);
    await settled(page);
    await fold(false);
    await page.evaluate(() => document.activeElement.blur());
    if (top) await page.evaluate(() => scrollTo(0, 0));
    await page.mouse.move(0, 0);
    await settled(page);
  }
  await page.screenshot({ path: join(root, "docs", `${name}.png`) });
  await close();
}
for (const { name, trace, colorScheme, height, timelines } of PREDICTIONS) {
  const file = join(directory, `${name}.html`);
  execFileSync(holdup, ["whatif", join(root, "examples", trace), "--format", "html", "-o", file]);
  const { page, close } = await tab(browser, { colorScheme, viewport: { width: 1280, height } });
  await page.goto(pathToFileURL(file).href);
  await page.waitForFunction(() => [...document.querySelectorAll(".pair canvas[role=application]")].filter(({ dataset }) => dataset.settled === "true").length === 2);
  await page.screenshot({ path: join(root, "docs", `${name}.png`) });
  await (await page.$(".pair")).screenshot({ path: join(root, "docs", `${timelines}.png`) });
  await close();
}
for (const { name, arguments: experiment, section } of EXPERIMENTS) {
  const file = join(directory, `${name}.html`);
  execFileSync(holdup, ["lab", "run", ...experiment, "--format", "html", "-o", file], { stdio: "ignore" });
  const { page, close } = await tab(browser, { colorScheme: "light", viewport: { width: 1080, height: 900 } });
  await page.goto(pathToFileURL(file).href);
  await (await page.$(section)).screenshot({ path: join(root, "docs", `${name}.png`) });
  await close();
}
await browser.close();
rmSync(directory, { recursive: true });
