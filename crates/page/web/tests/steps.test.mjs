// The strip of steps above the timeline, in a browser.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { CANVAS, example, explained, folder, launch, open, report, settled, tab, view } from "./browser.mjs";
import { writeSteps } from "./steps.mjs";

const directory = folder();
let browser;
before(async () => {
  browser = await launch();
});
after(() => browser?.close());

const STRIP = "canvas.steps";

/** What a screen reader says of the strip. */
const said = (page) => page.$eval(STRIP, (strip) => ["aria-label", "aria-valuenow", "aria-valuemax", "aria-valuetext"].map((name) => strip.getAttribute(name)));

test("the keyboard goes from step to step, and Enter shows what a slow one had more of", async () => {
  const { page, wrong, close } = await tab(browser, { viewport: { width: 1400, height: 900 } });
  const trace = writeSteps(join(directory, "steps.json"));
  await open(page, report(directory, trace));
  const { steps } = explained(trace);
  const { bottom } = await page.$eval(CANVAS, (canvas) => canvas.getBoundingClientRect().toJSON());
  assert.ok(bottom <= 900, "the timeline is on the first screen");
  await page.focus(STRIP);
  assert.equal(await page.getAttribute(STRIP, "role"), "slider");
  let [label, now, all, text] = await said(page);
  assert.deepEqual([label, now, all], ["40 steps (ProfilerStep). Enter shows a step.", "1", "40"]);
  assert.match(text, /^ProfilerStep#0, step 1 of 40: 10\.0 ms, .* GPU 0: busy 40 %/);
  await page.keyboard.press("ArrowRight");
  assert.match((await said(page))[3], /^ProfilerStep#1, /);
  await page.keyboard.press("PageDown");
  [, now, , text] = await said(page);
  assert.equal(now, "13");
  assert.match(text, /^ProfilerStep#12, step 13 of 40: slow, 40\.0 ms, 30\.0 ms more than the median, .* host-code 82 %|83 %/);
  assert.equal(await page.textContent(".tip b"), text.split("; ")[0], "the tip says the same");

  await page.keyboard.press("Enter");
  const [slow] = steps.slow;
  const { start, end } = await view(page);
  assert.ok(start <= slow.start_ns && end >= slow.start_ns + slow.duration_ns && end - start < slow.duration_ns * 1.2, "zooms to the step");
  const rows = await page.$$eval("table.sums tbody tr", (rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent)));
  assert.match(await page.textContent("table.sums caption"), /^ProfilerStep#12, step 13 of 40, slow: 40\.0 ms, 30\.0 ms more than the median$/);
  assert.deepEqual(rows[0], ["host-code", "33.0 ms", rows[0][2], "3.00 ms", "+30.0 ms", `${slow.more[0].finding} loader.py:31 next_batch`]);
  assert.deepEqual(rows.find(([of]) => of === "busy").slice(0, 2), ["busy", "4.00 ms"]);
  await page.click("table.sums a");
  assert.equal(await page.evaluate(() => document.activeElement.closest("article").id), slow.more[0].finding, "a link leads to the finding");
  await page.focus(STRIP);
  await page.keyboard.press("Escape");
  assert.equal(await page.$("table.sums"), null);
  assert.deepEqual(wrong, []);
  await close();
});

test("a click shows a step, its neighbours and its sums", async () => {
  const { page, wrong, close } = await tab(browser, { viewport: { width: 1400, height: 900 } });
  await open(page, report(directory, writeSteps(join(directory, "clicked.json"))));
  const box = await (await page.$(STRIP)).boundingBox();
  await page.mouse.click(box.x + box.width - 12, box.y + 30);
  await settled(page);
  assert.match(await page.textContent("table.sums caption"), /^ProfilerStep#39, step 40 of 40: 10\.0 ms/);
  await page.click("text=‹ Step");
  assert.match(await page.textContent("table.sums caption"), /^ProfilerStep#38, /);
  await page.click("text=Next slow step");
  assert.match(await page.textContent("table.sums caption"), /^ProfilerStep#12, .*slow/);
  await page.click("text=Sums of its time");
  await page.waitForFunction(() => document.querySelector("table.sums caption").textContent.includes("40.0 ms selected"));
  assert.match(await page.textContent("table.sums"), /GPU 0idle36\.0 ms/);
  assert.deepEqual(wrong, []);
  await close();
});

test("slow steps are marked without color, and thousands of steps fit", async () => {
  const { page, wrong, close } = await tab(browser, { viewport: { width: 1400, height: 900 } });
  const trace = writeSteps(join(directory, "many.json"), { count: 5_000, isSlow: (step) => step % 1_000 === 500 });
  await open(page, report(directory, trace));
  // The marks are above the cells, where nothing else is.
  const marks = await page.$eval(STRIP, (strip) => {
    const data = window.pixels(strip);
    const at = (x) => [...data.slice(4 * (3 * strip.width + x), 4 * (3 * strip.width + x) + 3)].join();
    const ground = at(strip.width - 3);
    let found = 0;
    for (let x = Math.ceil(strip.width * 0.14); x < strip.width; x++) if (at(x) !== ground && at(x - 1) === ground) found++;
    return found;
  });
  assert.equal(marks, 5);
  await page.focus(STRIP);
  await page.keyboard.press("End");
  await page.keyboard.press("PageUp");
  assert.match((await said(page))[3], /^ProfilerStep#4500, step 4,501 of 5,000: slow/);
  await page.keyboard.press("Enter");
  await settled(page);
  assert.match(await page.textContent("table.sums caption"), /slow: 40\.0 ms/);
  // The table of slow steps leads there, too.
  await page.click(".table:has(caption:text('Slow steps')) tbody tr:last-child a[data-time]");
  await settled(page);
  assert.match(await page.textContent("table.sums caption"), /^ProfilerStep#\d+, step .* slow: 40\.0 ms/);
  assert.deepEqual(wrong, []);
  await close();
});

test("steps that only kernels show have no names", async () => {
  const { page, wrong, close } = await tab(browser);
  await open(page, report(directory, example("recorded-norm-hidden-sync.holdup")));
  await page.focus(STRIP);
  const [label, , , text] = await said(page);
  assert.match(label, /^199 steps \(from one .* to the next\)/);
  assert.match(text, /^step 1 of 199: /);
  await close();
  assert.deepEqual(wrong, []);
});

test("on a telephone a step can be picked, and nothing is cut at the side", async () => {
  const { page, wrong, close } = await tab(browser, { viewport: { width: 390, height: 844 } });
  await open(page, report(directory, writeSteps(join(directory, "narrow.json"))));
  await page.focus(STRIP);
  await page.keyboard.press("PageDown");
  await page.keyboard.press("Enter");
  await settled(page);
  assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 390);
  const { right } = await page.$eval("table.sums", (table) => table.getBoundingClientRect().toJSON());
  assert.ok(right <= 390, `the table ends at ${right}`);
  assert.deepEqual(wrong, []);
  await close();
});

test("hostile names of steps run nothing", async () => {
  const name = (step) => `step ${step} </script><img src=x onerror="window.ran = 1"><svg onload=window.ran=2>\u202e'"`;
  const { page, wrong, close } = await tab(browser);
  await open(page, report(directory, writeSteps(join(directory, "hostile-steps.json"), { name })));
  await page.focus(STRIP);
  await page.keyboard.press("PageDown");
  await page.keyboard.press("Enter");
  await settled(page);
  assert.match(await page.textContent("table.sums caption"), /^step 12 <\/script><img src=x onerror=/);
  assert.equal(await page.evaluate(() => window.ran), undefined);
  assert.equal(await page.$("img, [onerror], [onload]"), null);
  assert.deepEqual(wrong, []);
  await close();
});
