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
  assert.match(parts[0].name, /^busy and not held back: [\d.,]+ m?s, \d+ % of GPU 0$/);
  const work = parts.slice(0, 1 + gpu.held_back.length);
  assert.match(parts[work.length].name, new RegExp(`^${gpu.idle[0].cause}: .* of GPU 0`));
  assert.ok(Math.abs(work.reduce((sum, { width }) => sum + width, 0) - (100 * gpu.busy_ns) / gpu.span_ns) < 0.01);
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
  assert.match(await here(), /^busy and not held back: .* of GPU 0$/);
  await page.keyboard.press("ArrowRight");
  assert.match(await here(), /^held back by driver-lock: .* of GPU 0 · finding H1$/);
  await page.keyboard.press("ArrowRight");
  const idle = await here();
  assert.match(idle, /^not-recorded: /);
  assert.equal(await page.textContent(".readout"), idle, "the line below says the same");
  await page.keyboard.press("ArrowDown");
  assert.match(await here(), / of thread \d+/);
  await page.keyboard.press("End");
  await page.keyboard.press("ArrowUp");
  assert.match(await here(), / of GPU 0/);
  assert.equal(await stops(), 1);
  await page.keyboard.press("Home");
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => /^[\d,]+ of /.test(document.querySelector(".hits").textContent));
  assert.match(await page.textContent(".details"), /not-recorded.*GPU 0 · idle for/s, "Enter finds idle time in the timeline");
  assert.deepEqual(wrong, []);
  await close();
});

test("a part of a bar leads to its finding, which is unfolded, and T to the idle time", async () => {
  const { page, wrong, close } = await tab(browser, desktop);
  const trace = example("pytorch-d2h-stall.json.gz");
  await open(page, report(directory, trace));
  const [gpu] = explained(trace).accounts.gpus;
  const { cause, finding } = gpu.idle.find((part) => part.cause === "own-work");
  const here = () => page.evaluate(() => document.activeElement.closest("article")?.id);
  const part = `#account .bars .segment[data-find="${cause}"]`;
  assert.equal(await page.getAttribute(part, "role"), "link");
  assert.match(await page.getAttribute(part, "aria-label"), new RegExp(`^${cause}: .* · finding ${finding}$`));
  await page.click(part);
  assert.equal(await here(), finding);
  assert.ok(await page.isVisible(`#${finding} dl`), "it is unfolded");
  await page.focus("#account .segment[tabindex='0']");
  await page.keyboard.press("t");
  await page.waitForFunction((cause) => document.querySelector(".details").textContent.startsWith(cause), cause);
  // A finding of the account alone shows the GPU's idle time.
  await page.click(`#${finding} .show`);
  await page.waitForFunction((cause) => document.querySelector(".details").textContent.startsWith(cause), cause);
  assert.match(await page.textContent(".details"), /GPU 0 · idle for/);
  // The keyboard does the same; threads' parts lead to findings, too.
  const thread = page.locator("#account .account").nth(1).locator(".segment[data-finding]").first();
  await thread.click();
  const wanted = await thread.getAttribute("data-finding");
  assert.equal(await here(), wanted);
  await page.focus("#account .segment[tabindex='0']");
  await page.evaluate(() => document.querySelectorAll("#findings details").forEach((details) => (details.open = false)));
  await page.keyboard.press("Enter");
  assert.equal(await here(), wanted);
  assert.ok(await page.isVisible(`#${wanted} dl`));
  assert.deepEqual(wrong, []);
  await close();
});

test("busy time in which the GPU was held back is told apart without color", async () => {
  const { page, wrong, close } = await tab(browser, desktop);
  const trace = example("recorded-d2h-stall.holdup");
  await open(page, report(directory, trace));
  const [gpu] = explained(trace).accounts.gpus;
  const [held] = gpu.held_back;
  const bar = "#account > .bars > .account:first-child .segment";
  const part = await page.$eval(`${bar}.held`, (part) => ({
    says: part.getAttribute("aria-label"), width: parseFloat(part.getAttribute("width")), finding: part.dataset.finding,
    rects: [...part.querySelectorAll("rect")].map((rect) => ({ high: rect.getAttribute("height"), fill: getComputedStyle(rect).fill })),
  }));
  assert.match(part.says, new RegExp(`^held back by ${held.cause}: [\\d.,]+ m?s, \\d+ % of GPU 0 · finding ${held.finding}$`));
  assert.ok(Math.abs(part.width - (100 * held.ns) / gpu.span_ns) < 0.01);
  assert.equal(part.finding, held.finding);
  const [work, cause] = part.rects;
  assert.ok(!work.fill.startsWith("url(") && cause.fill.startsWith("url(") && Number(cause.high) < Number(work.high), "work, with a pattern on a part of it");
  assert.match(await page.getAttribute(bar, "aria-label"), /^busy and not held back: /);
  // The table has it, too, with a link to the finding.
  const row = page.locator(".table", { hasText: "Where the time of GPUs and threads went" }).locator("tr", { hasText: "GPU 0, held back" }).first();
  assert.match(await row.textContent(), new RegExp(`${held.cause}.*${held.finding}`));
  await row.locator("a").click();
  assert.equal(await page.evaluate(() => document.activeElement.closest("article")?.id), held.finding);
  assert.deepEqual(wrong, []);
  await close();
});

test("what the operations of streams waited for is a table", async () => {
  const { page, wrong, close } = await tab(browser, desktop);
  const trace = example("pytorch-staggered-copies.json.gz");
  await open(page, report(directory, trace));
  const table = page.locator(".table", { hasText: "What operations waited for once they were ready" });
  const { streams } = explained(trace).accounts;
  const parts = streams.flatMap((stream) => stream.waiting);
  assert.equal(await table.locator("tbody tr").count(), parts.length);
  const late = streams.find((stream) => stream.waiting.some(({ cause }) => cause === "copy-engine-busy"));
  assert.match(await table.locator("tr", { hasText: "copy-engine-busy" }).first().textContent(), new RegExp(`^GPU 0 stream ${late.stream}`));
  assert.deepEqual(wrong, []);
  await close();
});

test("a chain of several threads is drawn as arrows, from the root to the GPU", async () => {
  const { page, wrong, close } = await tab(browser, { viewport: { width: 1400, height: 1200 } });
  await open(page, report(directory, example("pytorch-staggered-copies.json.gz")));
  await page.focus('#account .bars .segment[data-find="pageable-order"]');
  await page.keyboard.press("t");
  await page.waitForFunction(() => document.querySelector(".details").textContent.includes("which waits for"));
  await settled(page);
  const arrows = (await page.getAttribute(CANVAS, "data-arrow")).split(", ").map((arrow) => arrow.split(" ").slice(1));
  assert.ok(arrows.length >= 2, arrows.join(" and "));
  assert.equal(arrows[0][1], "0", "the last arrow ends at the GPU's row");
  arrows.slice(1).forEach(([, waiter], at) => assert.equal(waiter, arrows[at][0], "each thread waits for the next one"));
  assert.match(await page.textContent(".details"), /waits for python3 \(\d+\), which waits for python3 \(\d+\)/);
  assert.match(await page.getAttribute(CANVAS, "aria-label"), /arrows show idle/);
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

test("threads of one name fold, by key, and unfold for a hit", async () => {
  const { page, wrong, close } = await tab(browser, { viewport: { width: 1400, height: 1600 } });
  await open(page, report(directory, example("pytorch-staggered-copies.json.gz")));
  const team = page.getByRole("button", { name: /python3 · 5 threads/ });
  const below = () => page.getByRole("button", { name: /▾ GPU 0/ }).evaluate((heading) => parseFloat(heading.style.top));
  const put = async (expanded) => {
    if ((await team.getAttribute("aria-expanded")) !== String(expanded)) await page.keyboard.press("Enter");
    assert.equal(await team.getAttribute("aria-expanded"), String(expanded));
  };
  await team.focus();
  await put(true);
  const unfolded = await below();
  await put(false);
  assert.ok((await below()) < unfolded - 50, "strips take less room than rows");
  assert.ok(await team.evaluate((button) => button === document.activeElement), "the heading keeps the focus");
  await page.fill(".toolbar input", "cudaMemcpyAsync");
  await page.press(".toolbar input", "Enter");
  await page.waitForFunction(() => document.querySelector(".hits").textContent.startsWith("1 of"));
  assert.equal(await team.getAttribute("aria-expanded"), "true");
  assert.deepEqual(wrong, []);
  await close();
});

test("on a telephone nothing is cut at the side", async () => {
  const { page, wrong, close } = await tab(browser, { viewport: { width: 390, height: 844 } });
  await open(page, report(directory, example("recorded-d2h-stall.holdup")));
  assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 390);
  for (const selector of [".of-gpu", ".causes li", "#findings .verdict", ".account .of"]) {
    for (const { right, left, cut } of await page.$$eval(selector, (all) =>
      all.filter((one) => one.getClientRects().length > 0).map((one) => ({ ...one.getBoundingClientRect().toJSON(), cut: one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).overflow === "hidden" })))) {
      assert.ok(left >= 0 && right <= 390 && !cut, `${selector}: ${left} to ${right}`);
    }
  }
  assert.deepEqual(wrong, []);
  await close();
});
