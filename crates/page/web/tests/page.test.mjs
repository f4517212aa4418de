// The page in a browser: from a file, without network.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { statSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { CANVAS, example, folder, holdup, launch, open, report, settled, tab, view } from "./browser.mjs";
import { writeHostile } from "./hostile.mjs";

const directory = folder();
let browser;
before(async () => {
  browser = await launch();
});
after(() => browser?.close());

test("the arrow of a recorded wait goes from the thread that copies to the one that launches", async () => {
  const { page, wrong, close } = await tab(browser);
  await open(page, report(directory, example("recorded-d2h-stall.holdup")));
  await page.click("#H1 summary");
  await page.click('a[data-example="H1.1"]');
  await settled(page);
  const [, holder, waiter] = (await view(page)).arrow.split(" ");
  assert.notEqual(holder, "");
  assert.notEqual(holder, waiter);
  assert.deepEqual(wrong, []);
  await close();
});

test("the keyboard reaches everything", async () => {
  const { page, wrong, close } = await tab(browser);
  await open(page, report(directory, example("recorded-d2h-stall.holdup")));
  const reached = new Set();
  for (let press = 0; press < 120; press++) {
    await page.keyboard.press("Tab");
    const at = await page.evaluate(() => {
      const { dataset, tagName } = document.activeElement;
      return dataset.example ?? (tagName === "CANVAS" ? "timeline" : tagName);
    });
    reached.add(at);
    if (at === "timeline") break;
  }
  const findings = await page.$$eval("#findings > article > a[data-example]", (links) => links.map((link) => link.dataset.example));
  assert.ok(findings.length > 0);
  for (const wanted of [...findings, "timeline"]) assert.ok(reached.has(wanted), `Tab reaches ${wanted}`);

  const whole = await view(page);
  await page.keyboard.press("+");
  await page.keyboard.press("+");
  await settled(page);
  const zoomed = await view(page);
  assert.ok(zoomed.end - zoomed.start < 0.5 * (whole.end - whole.start), "+ zooms in");
  await page.keyboard.press("ArrowRight");
  await settled(page);
  assert.ok((await view(page)).start > zoomed.start, "the right arrow pans");
  await page.keyboard.press("-");
  await settled(page);
  const wider = await view(page);
  assert.ok(wider.end - wider.start > zoomed.end - zoomed.start, "- zooms out");
  await page.keyboard.press("Home");
  await settled(page);
  assert.deepEqual(await view(page), whole, "Home shows everything");
  await page.keyboard.press("n");
  await settled(page);
  assert.ok((await view(page)).arrow.startsWith("H1 "), "N goes to the first example");
  await page.keyboard.press("Escape");
  assert.equal((await view(page)).arrow, "", "Esc clears the arrow");
  await page.keyboard.press(".");
  assert.match(await page.textContent(".details"), /takes/, ". selects a box and says what it is");
  await page.keyboard.press("?");
  assert.ok(await page.isVisible("dialog.keys"), "? shows the keys");
  await page.keyboard.press("Escape");
  assert.ok(!(await page.isVisible("dialog.keys")));
  assert.deepEqual(wrong, []);
  await close();
});

test("the mouse zooms, pans and says what is under it", async () => {
  const { page, wrong, close } = await tab(browser);
  await open(page, report(directory, example("recorded-d2h-stall.holdup")));
  const whole = await view(page);
  await page.$eval("#timeline", (section) => section.scrollIntoView());
  const box = await (await page.$(CANVAS)).boundingBox();
  const middle = [box.x + box.width * 0.6, box.y + 150];
  await page.mouse.move(...middle);
  await page.mouse.wheel(0, -200);
  await page.waitForTimeout(100);
  assert.deepEqual(await view(page), whole, "a wheel on its way down the page does not zoom");
  await page.$eval("#timeline", (section) => section.scrollIntoView());
  await page.mouse.click(...middle);
  await page.mouse.wheel(0, -400);
  await page.waitForFunction(([canvas, start]) => Number(document.querySelector(canvas).dataset.start) !== start, [CANVAS, whole.start]);
  await settled(page);
  const zoomed = await view(page);
  assert.ok(zoomed.end - zoomed.start < whole.end - whole.start, "the wheel zooms");
  await page.mouse.move(...middle);
  await page.mouse.down();
  await page.mouse.move(middle[0] - 120, middle[1], { steps: 4 });
  await page.mouse.up();
  assert.ok((await view(page)).start > zoomed.start, "dragging pans");
  await page.mouse.move(middle[0], middle[1] + 1);
  await page.waitForSelector(".tip:not([hidden])");
  assert.match(await page.textContent(".tip"), /^cuda\w+.* · at \d/);
  assert.deepEqual(wrong, []);
  await close();
});

test("finding by name counts the boxes and goes from one to the next without a zoom", async () => {
  const { page, wrong, close } = await tab(browser);
  await open(page, report(directory, example("recorded-d2h-stall.holdup")));
  const whole = await view(page);
  await page.fill(".toolbar input", "sin_kernel");
  const [, all] = (await page.textContent(".hits")).match(/^([\d,]+) hits$/);
  await page.press(".toolbar input", "Enter");
  await page.waitForFunction(() => document.querySelector(".details").textContent.includes("sin_kernel"));
  assert.equal(await page.textContent(".hits"), `1 of ${all}`);
  await page.press(".toolbar input", "Enter");
  await page.waitForFunction((wanted) => document.querySelector(".hits").textContent === wanted, `2 of ${all}`);
  await page.press(".toolbar input", "Shift+Enter");
  await page.waitForFunction((wanted) => document.querySelector(".hits").textContent === wanted, `1 of ${all}`);
  await settled(page);
  const { start, end } = await view(page);
  assert.deepEqual([start, end], [whole.start, whole.end], "the zoom stays");
  assert.deepEqual(wrong, []);
  await close();
});

test("light and dark, by the system and by choice", async () => {
  const address = report(directory, example("pytorch-staggered-copies.json.gz"));
  const shades = {};
  const shade = (page) =>
    page.evaluate(async (canvas) => {
      // The timeline is drawn in the next frame.
      await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)));
      const light = (colour) => colour.reduce((sum, part) => sum + part, 0) / 3;
      const body = getComputedStyle(document.body).backgroundColor.match(/\d+/g).slice(0, 3).map(Number);
      return [light(body), light([...window.pixels(document.querySelector(canvas)).slice(0, 3)])];
    }, CANVAS);
  for (const colorScheme of ["light", "dark"]) {
    const { page, wrong, close } = await tab(browser, { colorScheme });
    await open(page, address);
    shades[colorScheme] = await shade(page);
    await page.click(".theme");
    if (colorScheme === "light") await page.click(".theme");
    shades[`${colorScheme}, switched`] = await shade(page);
    assert.deepEqual(wrong, []);
    await close();
  }
  for (const part of [0, 1]) {
    assert.ok(shades.light[part] > 200 && shades.dark[part] < 60, JSON.stringify(shades));
    assert.ok(shades["light, switched"][part] < 60 && shades["dark, switched"][part] > 200, JSON.stringify(shades));
  }
});

test("tables sort, filter and lead to the timeline", async () => {
  const { page, wrong, close } = await tab(browser);
  await open(page, report(directory, example("recorded-d2h-stall.holdup")));
  const column = (number) =>
    page.$$eval(`.table:nth-of-type(1) tbody tr:not([hidden]) td:nth-child(${number})`, (cells) => cells.map((cell) => cell.dataset.value ?? cell.textContent));
  const sorted = (values) => values.map(Number).every((value, at, all) => at === 0 || all[at - 1] >= value);
  assert.ok(sorted(await column(2)), "the longest first");
  await page.click(".table:nth-of-type(1) th:nth-child(1) button");
  assert.ok(sorted(await column(1)), "sorts by start");
  assert.equal(await page.getAttribute(".table:nth-of-type(1) th:nth-child(1)", "aria-sort"), "descending");
  await page.fill(".table:nth-of-type(1) .filter input", "LaunchKernel");
  assert.ok((await column(4)).every((name) => name === "cudaLaunchKernel"));
  await page.fill(".table:nth-of-type(1) .filter input", "");
  await page.click(".table:nth-of-type(1) .more");
  assert.equal((await column(1)).length, 250);
  await page.click(".table:nth-of-type(1) tbody tr:first-child a");
  await settled(page);
  assert.match(await page.textContent(".details"), /takes/);
  assert.deepEqual(wrong, []);
  await close();
});

test("it prints: findings, timeline and tables, without buttons", async () => {
  const { page, wrong, close } = await tab(browser, { colorScheme: "dark" });
  await open(page, report(directory, example("recorded-d2h-stall.holdup")));
  const pdf = await page.pdf({ format: "A4" });
  assert.ok(pdf.length > 50_000, `${pdf.length} bytes`);
  await page.emulateMedia({ media: "print" });
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  assert.ok(await page.isVisible("#H1 .fixes"), "findings are unfolded on paper");
  for (const gone of [".toolbar", ".theme", ".filter"]) assert.ok(!(await page.isVisible(gone)), gone);
  for (const there of ["#H1", CANVAS, "table"]) assert.ok(await page.isVisible(there), there);
  assert.deepEqual(wrong, []);
  await close();
});

test("without scripts there are the findings and the tables", async () => {
  const { page, close } = await tab(browser, { javaScriptEnabled: false });
  await page.goto(report(directory, example("recorded-d2h-stall.holdup")));
  assert.ok(await page.isVisible("#H1 h3"));
  assert.ok(await page.isVisible("text=The timeline needs JavaScript"));
  assert.ok((await page.$$("tbody tr")).length > 100);
  await close();
});

test("hostile names run nothing and break nothing", async () => {
  for (const trace of writeHostile(join(directory, "hostile.json"))) {
    const { page, wrong, close } = await tab(browser);
    const address = report(directory, trace);
    assert.ok(statSync(new URL(address)).size < 5e6, "a megabyte of name is not in the page");
    await open(page, address);
    const name = await page.textContent("#findings h3");
    assert.ok(name.includes("lost") || name.includes("waited"), name);
    for (const finding of (await page.$$("#findings > article")).slice(0, 5)) {
      await (await finding.$("h3")).click();
      await (await finding.$(".show")).click();
      await settled(page);
    }
    for (const part of (await page.$$("#account > .bars .segment")).slice(0, 12)) {
      await part.dispatchEvent("pointerover");
      assert.equal(await page.textContent(".readout"), await part.getAttribute("aria-label"));
    }
    await page.focus(CANVAS);
    await page.keyboard.press("r");
    await page.waitForSelector("table.sums");
    // Every box and every row, under the pointer.
    const box = await (await page.$(CANVAS)).boundingBox();
    await page.keyboard.press("Home");
    for (let y = 30; y < box.height; y += 9) await page.mouse.move(box.x + box.width * 0.7, box.y + y);
    await page.fill(".toolbar input", "script");
    await page.press(".toolbar input", "Enter");
    await settled(page);
    const found = await page.evaluate(() => ({
      ran: window.ran,
      scripts: document.querySelectorAll("script:not([type])").length,
      foreign: document.querySelectorAll("img, iframe, style:not(head style), svg:not(.bar, .segments, .segment, .patterns), [onerror], [onload]").length,
      hidden: getComputedStyle(document.body).display,
      wide: document.documentElement.scrollWidth - innerWidth,
    }));
    assert.deepEqual(found, { ran: undefined, scripts: 1, foreign: 0, hidden: "block", wide: Math.min(found.wide, 0) });
    assert.deepEqual(wrong, []);
    await close();
  }
});

test("holdup view serves the page on this machine until it is ended", async () => {
  const server = spawn(holdup, ["view", example("recorded-d2h-stall.holdup")], { stdio: ["ignore", "pipe", "inherit"] });
  try {
    const line = await new Promise((resolve) => server.stdout.once("data", (data) => resolve(String(data))));
    const [address] = line.split(" ");
    assert.match(address, /^http:\/\/127\.0\.0\.1:\d+\/[0-9a-f]{32}\/$/);
    const { page, wrong, close } = await tab(browser, { offline: false, served: true });
    const asked = [];
    page.on("request", (request) => asked.push(request.url()));
    await open(page, address);
    await page.click("#H1 .show");
    await settled(page);
    assert.deepEqual(asked.filter((url) => !url.startsWith("data:")), [address]);
    assert.deepEqual(wrong, []);
    await close();
  } finally {
    server.kill("SIGINT");
    await new Promise((resolve) => server.once("exit", resolve));
  }
});
