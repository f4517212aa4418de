// The pages of experiments in a browser: from a file, without network.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { folder, holdup, launch, tab } from "./browser.mjs";

const directory = folder();
let browser;
before(async () => {
  browser = await launch();
});
after(() => browser?.close());

/** The page of an experiment on a model, as a file's address, and the same results as JSON. */
function run(...experiment) {
  const file = join(directory, `${experiment[0]}.html`);
  execFileSync(holdup, ["lab", "run", ...experiment, "--format", "html", "-o", file, "--force"]);
  const results = JSON.parse(execFileSync(holdup, ["lab", "run", ...experiment, "--format", "json"]));
  return [pathToFileURL(file).href, results];
}

/** The most frequent shade of a picture's pixels, and the darkest and brightest with at least a hundred pixels, 0 to 255. */
async function shades(page, selector) {
  const picture = await (await page.$(selector)).screenshot();
  return page.evaluate(async (picture) => {
    const image = Object.assign(new Image(), { src: `data:image/png;base64,${picture}` });
    await image.decode();
    const canvas = Object.assign(document.createElement("canvas"), { width: image.width, height: image.height });
    canvas.getContext("2d").drawImage(image, 0, 0);
    const data = window.pixels(canvas);
    const count = new Array(256).fill(0);
    for (let at = 0; at < data.length; at += 4) count[Math.round((data[at] + data[at + 1] + data[at + 2]) / 3)]++;
    const seen = count.flatMap((pixels, shade) => (pixels >= 100 ? [shade] : []));
    return { most: count.indexOf(Math.max(...count)), darkest: seen[0], brightest: seen.at(-1) };
  }, picture.toString("base64"));
}

for (const [name, pictures, ...options] of [
  ["overlap", ["#plot", "#timelines"], "--on", "sim:c2050"],
  ["stagger", ["#plot", "#timelines"], "--on", "sim:h200"],
  ["architectures", ["#plot", "#plot"], "--on", "sim:h200", "--set", "iterations=2"],
  ["interference", ["#plot"], "--on", "sim:h200x8", "--set", "time=5ms", "--set", "bytes=8MiB"],
]) {
  test(`${name}: verdict, plot and rows, in light and dark`, async () => {
    const [address, results] = run(name, ...options);
    for (const colorScheme of ["light", "dark"]) {
      const { page, wrong, close } = await tab(browser, { colorScheme });
      await page.goto(address);
      const verdict = await page.$$eval("#verdict li", (lines) => lines.map((line) => line.textContent));
      assert.equal(verdict.join(" "), results.verdict);
      assert.equal((await page.$$("#rows tbody tr")).length, results.rows.length);
      assert.equal((await page.$$("figure.plot svg")).length, pictures.length);
      for (const picture of new Set(pictures)) {
        const { most, darkest, brightest } = await shades(page, `${picture} svg`);
        const readable = colorScheme === "light" ? most > 230 && darkest < 120 : most < 60 && brightest > 140;
        assert.ok(readable, `${picture}: ${JSON.stringify({ colorScheme, most, darkest, brightest })}`);
      }
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(wide <= 0, `${wide} pixels too wide`);
      assert.deepEqual(wrong, []);
      await close();
    }
  });
}

test("rows sort by what was measured, and filter", async () => {
  const [address, { rows }] = run("stagger", "--on", "sim:p100");
  const { page, wrong, close } = await tab(browser);
  await page.goto(address);
  const cells = "#rows tbody tr:not([hidden]) td:nth-child(6)";
  const times = () => page.$$eval(cells, (cells) => cells.map((cell) => Number(Number(cell.dataset.value).toPrecision(6))));
  const expected = rows.map((row) => row.ms);
  await page.click("#rows th:nth-child(6) button");
  assert.deepEqual(await times(), expected.toSorted((a, b) => b - a));
  await page.click("#rows th:nth-child(6) button");
  assert.deepEqual(await times(), expected.toSorted((a, b) => a - b));
  await page.fill("#rows .filter input", "pinned");
  assert.equal((await times()).length, rows.filter((row) => row.memory === "pinned").length);
  assert.deepEqual(wrong, []);
  await close();
});
