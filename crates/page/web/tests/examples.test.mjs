// The reports of all examples in a browser: from a file, without network.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { CANVAS, example, explained, folder, holdup, launch, open, report, root, settled, tab, view } from "./browser.mjs";

const directory = folder();
let browser;
before(async () => {
  browser = await launch();
});
after(() => browser?.close());

/** Number of the timeline's pixels in exactly the color of lost time: outlines, arrows and their words. */
async function lostPixels(page) {
  return page.evaluate((canvas) => {
    const probe = document.body.appendChild(document.createElement("i"));
    probe.style.color = "var(--lost)";
    const [red, green, blue] = getComputedStyle(probe).color.match(/\d+/g).map(Number);
    probe.remove();
    const data = window.pixels(document.querySelector(canvas));
    let found = 0;
    for (let at = 0; at < data.length; at += 4) {
      if (data[at] === red && data[at + 1] === green && data[at + 2] === blue) found++;
    }
    return found;
  }, CANVAS);
}

for (const name of readdirSync(join(root, "examples")).filter((name) => /\.(holdup|json\.gz)$/.test(name))) {
  test(`${name}: opens from a file, and a click on the largest finding of slow calls shows its stall`, async () => {
    // Tall enough for all rows.
    const { page, wrong, close } = await tab(browser, { viewport: { width: 1280, height: 1700 } });
    await open(page, report(directory, example(name)));
    const known = explained(example(name)).findings.filter((one) => !one.of_account && one.cause !== "unexplained");
    const finding = known.reduce((most, one) => (one.lost_ns > most.lost_ns ? one : most));
    const { id } = finding;
    const text = execFileSync(holdup, ["explain", "--all", example(name)], { encoding: "utf8" });
    const sentence = await page.textContent(`#${id} h3`);
    const spoken = text.slice(text.indexOf(`\n${id} `)).trim().slice(id.length).trim().split(/ {2,}|\n/)[0];
    assert.ok(sentence.startsWith(`${id} ${spoken}`), `${sentence} / ${spoken}`);
    // It may be among those that are folded.
    await page.evaluate(() => document.querySelectorAll("#findings > details").forEach((more) => (more.open = true)));
    const whole = await view(page);

    await page.click(`#${id} .show`);
    await settled(page);
    const seen = await view(page);
    const { start_ns, duration_ns } = finding.examples[0];
    // A long one is shown with the holder's call, which may be all there is.
    assert.ok(seen.end - seen.start < whole.end - whole.start || duration_ns > (whole.end - whole.start) / 10, "zooms in");
    assert.ok(seen.start <= start_ns + duration_ns && seen.end >= start_ns, JSON.stringify({ seen, start_ns }));
    assert.ok(seen.arrow.startsWith(`${id} `), "an arrow is there");
    const pixels = await lostPixels(page);
    assert.equal(await page.evaluate(() => document.activeElement.getAttribute("role")), "application");
    assert.ok((await page.textContent(".details")).includes(id));

    await page.keyboard.press("Escape");
    await settled(page);
    assert.deepEqual(await view(page), { ...seen, arrow: "" }, "Esc takes the arrow away and nothing else");
    assert.ok(pixels > (await lostPixels(page)) + 500, "the arrow was drawn");
    assert.deepEqual(wrong, []);
    await close();
  });
}
