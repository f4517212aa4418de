// What a report of a large trace costs the browser:
//
//   cargo xtask generate kineto --size 1240MB -o million.json
//   holdup explain million.json --format html -o million.html
//   node tests/million.mjs million.html
import { statSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { CANVAS, launch, open, settled, tab, view } from "./browser.mjs";
import { pan } from "./frames.mjs";

const [file] = process.argv.slice(2);
if (!file) throw new Error("usage: node tests/million.mjs REPORT.html");
const browser = await launch();
const { page, wrong } = await tab(browser);
const begun = performance.now();
await open(page, pathToFileURL(file).href);
const whole = performance.now() - begun;
const paint = await page.evaluate(() =>
  performance.getEntriesByType("paint").find(({ name }) => name === "first-contentful-paint")?.startTime);
console.log(`size ${(statSync(file).size / 1e6).toFixed(1)} MB`);
console.log(`first paint after ${paint?.toFixed(0)} ms, timeline complete after ${whole.toFixed(0)} ms`);
await page.focus(CANVAS);
for (const zooms of [0, 4, 4, 4, 4, 4]) {
  for (let zoom = 0; zoom < zooms; zoom++) await page.keyboard.press("+");
  await settled(page);
  const { start, end } = await view(page);
  const { frames, mean, longest, over50, longestTask } = await pan(page, CANVAS);
  console.log(
    `view ${((end - start) / 1e6).toFixed(2)} ms: ${frames} frames, mean ${mean.toFixed(1)} ms, longest ` +
      `${longest.toFixed(1)} ms, ${over50} over 50 ms, longest task ${longestTask.toFixed(0)} ms`,
  );
}
if (wrong.length) throw new Error(wrong.join("\n"));
await browser.close();
