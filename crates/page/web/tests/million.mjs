// Measures the cost of a large trace's report in the browser:
//
//   cargo xtask generate kineto --size 1240MB -o million.json
//   holdup explain million.json --format html -o million.html
//   node tests/million.mjs million.html
import { statSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { launch, tab } from "./browser.mjs";
import { measure } from "./frames.mjs";

const [file] = process.argv.slice(2);
if (!file) throw new Error("usage: node tests/million.mjs REPORT.html");
const browser = await launch();
const { page, wrong } = await tab(browser);
console.log(`size ${(statSync(file).size / 1e6).toFixed(1)} MB`);
for (const line of (await measure(page, pathToFileURL(file).href)).lines) console.log(line);
if (wrong.length) throw new Error(wrong.join("\n"));
await browser.close();
