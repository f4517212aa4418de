// The page of predictions in a browser: from a file, without network.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { example, folder, holdup, launch, tab } from "./browser.mjs";

const directory = folder();
let browser;
before(async () => {
  browser = await launch();
});
after(() => browser?.close());

/** Writes the page of predictions, and returns its address and the same predictions as JSON. */
function predict(trace, ...asked) {
  const file = join(directory, `${Math.random().toString(36).slice(2)}.html`);
  execFileSync(holdup, ["whatif", trace, ...asked, "--format", "html", "-o", file]);
  const { fixes, replay } = JSON.parse(execFileSync(holdup, ["whatif", trace, ...asked, "--format", "json"]));
  return { address: pathToFileURL(file).href, fixes, replay };
}

const STALL = example("recorded-d2h-stall.holdup");
/** What gains, what gains with another change, and what loses. */
const MIXED = ["--fix", "own-stream", "--fix", "pinned-reused", "--fix", "pinned-reused,own-stream", "--fix", "warm-up", "--faster", "copies=0.5x"];
const SHOWN = "#timelines .change:not([hidden])";
const CANVASES = `${SHOWN} .frame canvas[role=application]`;

/** Waits until both timelines are drawn, and returns what each shows, ns. */
async function settled(page) {
  await page.waitForFunction((canvases) => {
    const all = [...document.querySelectorAll(canvases)];
    return all.length === 2 && all.every(({ dataset }) => dataset.settled === "true");
  }, CANVASES);
  return page.$$eval(CANVASES, (all) => all.map(({ dataset }) => [Number(dataset.start), Number(dataset.end)]));
}

const heading = (page, section) => page.textContent(`#${section} .change:not([hidden]) h3`);

test("each prediction has a bar to its gain and a line over its range, on one axis; losses are marked", async () => {
  const { address, fixes } = predict(STALL, ...MIXED);
  const { page, wrong, close } = await tab(browser);
  await page.goto(address);
  const rows = await page.$$eval(".predictions tbody tr", (rows) =>
    rows.map((row) => {
      const side = (element) => [element.getBoundingClientRect().left, element.getBoundingClientRect().right];
      const [zero, reach] = row.querySelectorAll(".interval line");
      return {
        name: row.querySelector("b").textContent, gain: row.querySelector(".gain").textContent, says: row.textContent,
        bar: side(row.querySelector(".interval rect")), zero: side(zero)[0], reach: side(reach),
        color: getComputedStyle(row.querySelector(".interval rect")).fill,
      };
    }));
  assert.deepEqual(rows.map(({ name }) => name), fixes.map(({ id }) => id.replaceAll(",", " + ")));
  // Pixels per gain, from the longest range.
  const at = fixes.indexOf(fixes.reduce((best, fix) => (fix.gain.high - fix.gain.low > best.gain.high - best.gain.low ? fix : best)));
  const scale = (rows[at].reach[1] - rows[at].reach[0]) / (fixes[at].gain.high - fixes[at].gain.low);
  const near = (x, share, zero, what) => assert.ok(Math.abs(x - zero - share * scale) < 2, `${what}: ${x - zero}, not ${share * scale}`);
  fixes.forEach(({ gain, safety }, row) => {
    const { bar, zero, reach, says, name } = rows[row];
    assert.ok(Math.abs(zero - rows[0].zero) < 1, "one zero");
    near(bar[gain.share < 0 ? 0 : 1], gain.share, zero, `${name}: gain`);
    near(reach[0], gain.low, zero, `${name}: low`);
    near(reach[1], gain.high, zero, `${name}: high`);
    assert.ok(says.includes(safety), `${name}: ${safety}`);
    assert.equal(says.includes("loss"), gain.share < -0.005, name);
  });
  assert.ok(fixes.some(({ gain }) => gain.share < -0.5) && fixes.some(({ gain }) => gain.share > 0.2));
  const [loss, won] = [-1, 1].map((sign) => rows[fixes.findIndex(({ gain }) => Math.sign(gain.share) === sign)].color);
  assert.notEqual(loss, won);
  // The best one is selected.
  const best = fixes.reduce((best, fix) => (fix.gain.share > best.gain.share ? fix : best)).id.replaceAll(",", " + ");
  assert.equal(await heading(page, "accounts"), `Before and after ${best}`);
  assert.deepEqual(wrong, []);
  await close();
});

test("the keyboard and the mouse select another prediction", async () => {
  const { address, fixes, replay } = predict(STALL);
  const { page, wrong, close } = await tab(browser);
  await page.goto(address);
  await settled(page);
  for (const section of ["accounts", "timelines"]) assert.equal(await heading(page, section), `Before and after ${fixes[0].id}`);
  for (let press = 0; press < 20 && !(await page.evaluate(() => document.activeElement.matches("input[name=change]"))); press++) {
    await page.keyboard.press("Tab");
  }
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  for (const section of ["accounts", "timelines"]) assert.equal(await heading(page, section), `Before and after ${fixes[2].id}`);
  assert.equal(await page.$$eval("#accounts .change:not([hidden])", (all) => all.length), 1);
  await settled(page);
  const seconds = (ns) => `${Math.round(ns / 1e6).toLocaleString("en")} ms`;
  const titles = await page.$$eval(`${SHOWN} .toolbar h4`, (all) => all.map(({ textContent }) => textContent));
  assert.deepEqual(titles, [`Before: ${seconds(replay.wall.replayed_ns)}`, `After: ${seconds(fixes[2].predicted_ns)}`]);
  // The bars of what is shown are reached by Tab, and say what they are.
  await page.focus('#accounts .change:not([hidden]) .segment[tabindex="0"]');
  await page.keyboard.press("ArrowDown");
  assert.match(await page.textContent("#accounts .change:not([hidden]) .readout"), /of GPU 0/);
  // A click anywhere in a row.
  await page.click(".predictions tbody tr:first-child .range");
  assert.equal(await heading(page, "timelines"), `Before and after ${fixes[0].id}`);
  // One without a timeline: it is none of the best, and loses nothing.
  const without = fixes.findLastIndex(({ gain }) => gain.share > -0.005);
  await page.click(`.predictions tbody tr:nth-child(${without + 1}) label`);
  assert.match(await page.textContent(SHOWN), new RegExp(`No timeline: .*holdup whatif --format html --fix ${fixes[without].id}`));
  assert.equal((await page.$$(CANVASES)).length, 0);
  assert.deepEqual(wrong, []);
  await close();
});

test("both timelines have one scale: zoom, pan and folding in one move the other, and stay for another prediction", async () => {
  const { address } = predict(STALL);
  const { page, wrong, close } = await tab(browser);
  await page.goto(address);
  const [whole, same] = await settled(page);
  assert.deepEqual(whole, same);
  const canvases = await page.$$(CANVASES);
  const lefts = await Promise.all(canvases.map(async (canvas) => (await canvas.boundingBox()).width));
  assert.equal(lefts[0], lefts[1]);
  await canvases[1].focus();
  for (const key of ["+", "+", "ArrowRight"]) await page.keyboard.press(key);
  const [above, below] = await settled(page);
  assert.deepEqual(above, below);
  assert.ok(above[1] - above[0] < 0.6 * (whole[1] - whole[0]) && above[0] > whole[0]);
  await page.click(`${SHOWN} .after .groups button >> nth=0`);
  const folded = await page.$$eval(`${SHOWN} .groups button:first-child`, (all) => all.map((button) => button.getAttribute("aria-expanded")));
  assert.deepEqual(folded, ["false", "false"]);
  await page.check('input[name=change][value="1"]');
  assert.deepEqual(await settled(page), [above, below]);
  await page.click(`${SHOWN} .before .toolbar button[title^="Show everything"]`);
  assert.deepEqual(await settled(page), [whole, whole]);
  // The time under the pointer is marked in both.
  const differ = async () => page.$$eval(CANVASES, (all) => all.map((canvas) => window.pixels(canvas).reduce((sum, part, at) => (sum + part * (at % 251)) % 1e9, 0)));
  const quiet = await differ();
  const box = await (await page.$(CANVASES)).boundingBox();
  await page.mouse.move(box.x + box.width * 0.5, box.y + 40);
  await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
  const marked = await differ();
  assert.ok(quiet.every((sum, at) => sum !== marked[at]), "both canvases change");
  assert.deepEqual(wrong, []);
  await close();
});

test("the shorter program ends where it ends", async () => {
  const { address, fixes, replay } = predict(example("recorded-library-first-use.holdup"), "--faster", "call:*=20x");
  const { page, wrong, close } = await tab(browser);
  await page.goto(address);
  await settled(page);
  const part = fixes[0].predicted_ns / replay.wall.replayed_ns;
  assert.ok(part < 0.5);
  // Colors of the rows before and after the end: beyond it there are no rows.
  const filled = await page.$$eval(CANVASES, (all, part) => all.map((canvas) => {
    const pixels = window.pixels(canvas);
    const gutter = Math.round(Math.min(190, Math.max(104, canvas.clientWidth * 0.16)));
    const column = (at) => {
      const x = Math.round((gutter + at * (canvas.clientWidth - gutter)) * devicePixelRatio);
      const seen = new Set();
      for (let y = 30; y < canvas.height; y++) seen.add(pixels.slice(4 * (y * canvas.width + x), 4 * (y * canvas.width + x) + 3).join());
      return seen.size;
    };
    return [column(part / 2), column((1 + part) / 2 + 0.013)];
  }), part);
  assert.ok(filled[0].every((colors) => colors > 1) && filled[1][0] > 1, JSON.stringify(filled));
  assert.equal(filled[1][1], 1, JSON.stringify(filled));
  assert.deepEqual(wrong, []);
  await close();
});

test("the account before is that of explain", async () => {
  const { address } = predict(STALL);
  const { page, wrong, close } = await tab(browser);
  await page.goto(address);
  const { accounts } = JSON.parse(execFileSync(holdup, ["explain", STALL, "--format", "json"], { maxBuffer: 1 << 28 }));
  const cards = await page.$$eval("#accounts .change:not([hidden]) .card", (cards) => cards.map((card) =>
    [card.getAttribute("aria-label"), Object.fromEntries([...card.querySelectorAll("tbody tr")].map((row) => [row.cells[0].textContent, row.cells[1].textContent]))]));
  const shown = Object.fromEntries(cards);
  const ns = (text) => {
    const [, number, unit] = text?.match(/^([\d,.]+) (ns|µs|ms|s)$/) ?? [];
    return Number(number?.replaceAll(",", "")) * { ns: 1, "µs": 1e3, ms: 1e6, s: 1e9 }[unit];
  };
  const alike = (text, expected, what) => assert.ok(Math.abs(ns(text) - expected) <= 0.01 * expected, `${what}: ${text}, not ${expected}`);
  const [gpu] = accounts.gpus;
  alike(shown["GPU 0"].all, gpu.span_ns, "GPU 0");
  alike(shown["GPU 0"].copies, gpu.busy.copies_ns, "copies");
  for (const thread of accounts.threads.filter(({ calls }) => calls > 0)) {
    const own = shown[`thread ${thread.tid}`];
    alike(own.all, thread.span_ns, `thread ${thread.tid}`);
    alike(own[thread.parts[0].cause], thread.parts[0].ns, thread.parts[0].cause);
  }
  assert.deepEqual(wrong, []);
  await close();
});

test("light and dark are readable, and nothing is cut on a telephone", async () => {
  const { address } = predict(STALL, ...MIXED);
  // It has an account of several threads together.
  const { address: team } = predict(example("pytorch-staggered-copies.json.gz"));
  for (const width of [1280, 390]) {
    const { page, close } = await tab(browser, { viewport: { width, height: 844 } });
    await page.goto(team);
    const spans = await page.$$eval("#accounts .change:not([hidden]) .card .span", (all) =>
      all.filter((one) => one.getClientRects().length > 0).map((one) => [one.textContent, one.scrollWidth <= one.clientWidth]));
    assert.ok(spans.some(([text]) => text.endsWith(" in all")), JSON.stringify(spans));
    assert.ok(spans.every(([, fits]) => fits), JSON.stringify(spans));
    await close();
  }
  for (const colorScheme of ["light", "dark"]) {
    for (const width of [1280, 390]) {
      const { page, wrong, close } = await tab(browser, { colorScheme, viewport: { width, height: 844 } });
      await page.goto(address);
      await settled(page);
      assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= width);
      const cut = await page.$$eval(".predictions td, .predictions b, .predictions small, .interval, .card, .card h4, .card td.number, .card .account, .pair .toolbar > *", (all) =>
        all.filter((one) => one.getClientRects().length > 0).map((one) => [one.className, one.getBoundingClientRect()]).filter(([, { left, right }]) => left < 0 || right > innerWidth).map(([name]) => name));
      assert.deepEqual(cut, []);
      const wide = await page.$$eval("#accounts .change:not([hidden]) .card", (cards) => cards.filter((card) => card.scrollWidth > card.clientWidth + 1).length);
      assert.equal(wide, 0, `${width}: cards that are wider than their place`);
      // Text stands out from what is behind it.
      const contrast = await page.$$eval(".gain, .mark, .better, .worse, .predictions small", (all) => {
        const light = (color) => {
          const [r, g, b] = color.match(/[\d.]+/g).slice(0, 3).map((part) => (part / 255 <= 0.03928 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4));
          return 0.2126 * r + 0.7152 * g + 0.0722 * b;
        };
        const behind = (one) => {
          for (let at = one; at; at = at.parentElement) {
            const color = getComputedStyle(at).backgroundColor;
            if (!/, 0\)$/.test(color)) return color;
          }
          return "rgb(255, 255, 255)";
        };
        return all.map((one) => {
          const [a, b] = [light(getComputedStyle(one).color), light(behind(one))].sort((a, b) => b - a);
          return (a + 0.05) / (b + 0.05);
        });
      });
      assert.ok(contrast.length > 8 && Math.min(...contrast) >= 4.5, `${colorScheme}: contrast ${Math.min(...contrast)}`);
      assert.deepEqual(wrong, []);
      await close();
    }
  }
});

test("without JavaScript all accounts are there, and hostile names stay text", async () => {
  const hostile = join(directory, "<img src=x onerror=alert(1)>.holdup");
  copyFileSync(STALL, hostile);
  const { address, fixes } = predict(hostile);
  for (const javaScriptEnabled of [true, false]) {
    const { page, wrong, close } = await tab(browser, { javaScriptEnabled });
    await page.goto(address);
    assert.match(await page.locator("h1").textContent(), /<img src=x onerror=alert\(1\)>\.holdup/);
    assert.equal(await page.locator("img").count(), 0);
    const visible = await page.locator("#accounts .change:visible").count();
    assert.equal(visible, javaScriptEnabled ? 1 : fixes.length);
    assert.deepEqual(wrong, []);
    await close();
  }
});
