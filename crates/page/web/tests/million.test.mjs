// The page of a million calls in a browser.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { statSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { folder, launch, report, root, tab } from "./browser.mjs";
import { measure } from "./frames.mjs";

const directory = folder();
let browser;
before(async () => {
  browser = await launch();
});
after(() => browser?.close());

test("a million calls open at once and pan", async (context) => {
  const spool = join(directory, "million");
  execFileSync("cargo", ["run", "--quiet", "--package", "xtask", "--", "generate", "spool", "--events", "1520000", "-o", spool], { cwd: root, stdio: "ignore" });
  const begun = performance.now();
  const address = report(directory, spool);
  const written = performance.now() - begun;
  const { page, wrong, close } = await tab(browser);
  const { paint, pans, lines } = await measure(page, address);
  const size = statSync(new URL(address)).size;
  const facts = await page.textContent(".facts");
  const calls = Number(facts.match(/([\d,]+) calls/)[1].replaceAll(",", ""));
  const said = `${calls} calls: written in ${(written / 1e3).toFixed(1)} s, ${(size / 1e6).toFixed(1)} MB`;
  for (const line of [said, ...lines]) context.diagnostic(line);
  assert.ok(calls >= 1_000_000 && size < 25e6, said);
  // Other work on the machine may cost a frame or two; a picture that is too slow costs all of them.
  assert.ok(paint < 10_000 && pans.every(({ frames, mean }) => frames > 10 && mean < 50), lines.join("\n"));
  assert.deepEqual(wrong, []);
  await close();
});
