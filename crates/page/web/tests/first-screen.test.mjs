// The first screen and the account, and what the timeline says about GPUs, in a browser.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { CANVAS, example, explained, folder, launch, open, report, settled, tab } from "./browser.mjs";

const directory = folder();
let browser;
before(async () => {
  browser = await launch();
});
after(() => browser?.close());

const desktop = { viewport: { width: 1400, height: 900 } };

/** The top and bottom of an element on the page, CSS pixels. */
const extent = (page, selector) =>
  page.$eval(selector, (element) => {
    const { top, bottom } = element.getBoundingClientRect();
    return { top: top + scrollY, bottom: bottom + scrollY };
  });

for (const name of ["recorded-d2h-stall.holdup", "recorded-launch-convoy.holdup", "pytorch-item-hidden-sync.json.gz"]) {
  test(`${name}: the first screen has verdict, bars, findings and timeline`, async () => {
    const { page, wrong, close } = await tab(browser, desktop);
    await open(page, report(directory, example(name)));
    // Where nothing costs the GPU a hundredth of its time, all findings are folded.
    const findings = (await page.$("#findings > article")) ? "#findings > article:nth-of-type(1)" : "#findings summary";
    for (const part of [".of-gpu", "#account .bars", findings, CANVAS]) {
      assert.ok(await page.isVisible(part), part);
      const { top, bottom } = await extent(page, part);
      assert.ok(top >= 0 && bottom <= 900, `${part}: ${top} to ${bottom}`);
    }
    const { top, bottom } = await extent(page, CANVAS);
    assert.ok(bottom - top >= 200, `the timeline has ${bottom - top} pixels`);
    for (const heading of await page.$$("#findings > article > details:not([open])")) {
      assert.ok((await heading.boundingBox()).height < 60, "two lines each");
    }
    const bars = await page.$$eval("#account > .bars > .account", (bars) => bars.length);
    assert.ok(bars >= 2 && bars <= 8, `${bars} bars`);
    assert.deepEqual(wrong, []);
    await close();
  });
}

test("the bars are the account: every part has a name, a time and a share, and they fill the bar", async () => {
  const { page, wrong, close } = await tab(browser, desktop);
  const trace = example("recorded-d2h-stall.holdup");
  await open(page, report(directory, trace));
  const [gpu] = explained(trace).accounts.gpus;
  const parts = await page.$$eval("#account > .bars > .account:first-child .segment", (parts) =>
    parts.map((part) => ({
      name: part.getAttribute("aria-label"), width: parseFloat(part.getAttribute("width")), x: parseFloat(part.getAttribute("x")),
    })));
  assert.match(parts[0].name, /^busy: [\d.,]+ m?s, \d+ % of GPU 0$/);
  assert.match(parts[1].name, new RegExp(`^${gpu.idle[0].cause}: .* of GPU 0`));
  assert.ok(Math.abs(parts[0].width - (100 * gpu.busy_ns) / gpu.span_ns) < 0.01);
  assert.ok(Math.abs(parts.reduce((sum, { width }) => sum + width, 0) - 100) < 0.05);
  parts.slice(1).forEach((part, at) => assert.ok(Math.abs(part.x - parts[at].x - parts[at].width) < 0.01));
  // Readable without color: families differ in their patterns.
  const fills = await page.$$eval("#account .segment > rect", (rects) => [...new Set(rects.map((rect) => getComputedStyle(rect).fill))]);
  assert.ok(fills.filter((fill) => fill.startsWith("url(")).length >= 3, fills.join());
  assert.deepEqual(wrong, []);
  await close();
});

test("the arrow keys go through the bars, which are one stop of the Tab key", async () => {
  const { page, wrong, close } = await tab(browser, desktop);
  await open(page, report(directory, example("recorded-d2h-stall.holdup")));
  const stops = () => page.$$eval("#account .segment[tabindex='0']", (stops) => stops.length);
  assert.equal(await stops(), 1);
  const here = () => page.evaluate(() => document.activeElement.getAttribute("aria-label"));
  await page.focus("#account .segment[tabindex='0']");
  assert.match(await here(), /^busy: .* of GPU 0$/);
  await page.keyboard.press("ArrowRight");
  const idle = await here();
  assert.match(idle, /^start-up: /);
  assert.equal(await page.textContent(".readout"), idle, "the line below says the same");
  await page.keyboard.press("ArrowDown");
  assert.match(await here(), / of thread \d+/);
  await page.keyboard.press("End");
  await page.keyboard.press("ArrowUp");
  assert.match(await here(), / of GPU 0/);
  assert.equal(await stops(), 1);
  await page.keyboard.press("Home");
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelector(".hits").textContent.startsWith("1 of"));
  assert.match(await page.textContent(".details"), /start-up.*GPU 0 · idle for/s, "Enter finds idle time in the timeline");
  assert.deepEqual(wrong, []);
  await close();
});

test("a click on an operation shows its call, delay, grid and stack, with an arrow from the call", async () => {
  const { page, wrong, close } = await tab(browser, desktop);
  await open(page, report(directory, example("recorded-d2h-stall.holdup")));
  await page.fill(".toolbar input", "sin_kernel");
  await page.press(".toolbar input", "Enter");
  await page.waitForFunction(() => document.querySelector(".details").textContent.includes("asked for by"));
  const details = await page.textContent(".details");
  assert.match(details, /asked for by cudaLaunchKernel in thread \d+, which took .* · starts .* after the call began/);
  assert.match(details, /grid \d+ × 1 × 1 · block \d+ × 1 × 1/);
  await settled(page);
  assert.match(await page.getAttribute(CANVAS, "data-arrow"), /^launch \d+ \d+$/);
  // A call whose stack was recorded.
  await page.click("#H1 .show");
  await settled(page);
  await page.keyboard.press("Escape");
  await page.fill(".toolbar input", "cudaMemcpyAsync");
  for (let press = 0; press < 12 && !(await page.$(".details .stack")); press++) {
    await page.press(".toolbar input", "Enter");
    await page.waitForTimeout(150);
  }
  assert.match(await page.textContent(".details .stack"), /d2h_stall\.py:\d+/);
  assert.deepEqual(wrong, []);
  await close();
});

test("a selected time has its sums", async () => {
  const { page, wrong, close } = await tab(browser, desktop);
  const trace = example("recorded-d2h-stall.holdup");
  await open(page, report(directory, trace));
  // The keyboard selects all that is visible: the sums are then those of the whole trace.
  await page.focus(CANVAS);
  await page.keyboard.press("r");
  await page.waitForSelector("table.sums");
  const rows = await page.$$eval("table.sums tr", (rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent)));
  const [busy] = rows.filter(([of, does]) => of === "GPU 0" && does === "busy");
  const [gpu] = explained(trace).accounts.gpus;
  assert.equal(busy[2], `${Math.round(gpu.busy_ns / 1e6).toLocaleString("en")} ms`);
  assert.match(rows.find(([of, does]) => of === "GPU 0" && does === "idle")[4], /start-up \d/);
  const calls = rows.flatMap(([, does]) => (does.match(/^([\d,]+) calls?$/) ?? []).slice(1)).map((number) => Number(number.replaceAll(",", "")));
  assert.ok(calls.reduce((sum, number) => sum + number, 0) > 1_000, calls.join());
  // The mouse selects on the times; Enter zooms to the selected time.
  const box = await (await page.$(CANVAS)).boundingBox();
  await page.mouse.move(box.x + 600, box.y + 8);
  await page.mouse.down();
  await page.mouse.move(box.x + 700, box.y + 10, { steps: 4 });
  await page.mouse.up();
  await page.waitForFunction(() => !document.querySelector("table.sums caption").textContent.includes("from 0.000"));
  const before = await page.getAttribute(CANVAS, "data-start");
  await page.focus(CANVAS);
  await page.keyboard.press("Enter");
  await settled(page);
  assert.notEqual(await page.getAttribute(CANVAS, "data-start"), before);
  await page.keyboard.press("Escape");
  assert.equal(await page.$("table.sums"), null);
  assert.deepEqual(wrong, []);
  await close();
});

test("groups of rows fold, by button", async () => {
  const { page, wrong, close } = await tab(browser, desktop);
  await open(page, report(directory, example("recorded-d2h-stall.holdup")));
  const group = page.getByRole("button", { name: /process \d+/ });
  assert.equal(await group.getAttribute("aria-expanded"), "true");
  await group.click();
  assert.equal(await group.getAttribute("aria-expanded"), "false");
  assert.match(await group.textContent(), /rows$/);
  await group.focus();
  await page.keyboard.press("Enter");
  assert.equal(await group.getAttribute("aria-expanded"), "true");
  assert.deepEqual(wrong, []);
  await close();
});

test("on a telephone nothing is cut at the side", async () => {
  const { page, wrong, close } = await tab(browser, { viewport: { width: 390, height: 844 } });
  await open(page, report(directory, example("recorded-d2h-stall.holdup")));
  assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 390);
  for (const selector of [".causes li > span", ".causes code", "#findings .verdict", ".account .of"]) {
    for (const { right, left, cut } of await page.$$eval(selector, (all) =>
      all.filter((one) => one.getClientRects().length > 0).map((one) => ({ ...one.getBoundingClientRect().toJSON(), cut: one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).overflow === "hidden" })))) {
      assert.ok(left >= 0 && right <= 390 && !cut, `${selector}: ${left} to ${right}`);
    }
  }
  assert.deepEqual(wrong, []);
  await close();
});
