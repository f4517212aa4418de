// The page of a large trace in a browser; `million.mjs` measures a larger one.
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

test("two hundred thousand calls open at once and pan", async (context) => {
  const spool = join(directory, "large");
  const generate = ["run", "--quiet", "--package", "xtask", "--", "generate", "spool", "--events", "304000", "-o", spool];
  execFileSync("cargo", generate, { cwd: root, stdio: "ignore" });
  const address = report(directory, spool);
  const { page, wrong, close } = await tab(browser);
  const { paint, pans, lines } = await measure(page, address);
  for (const line of lines) context.diagnostic(line);
  const size = statSync(new URL(address)).size;
  const facts = await page.textContent(".facts");
  const calls = Number(facts.match(/([\d,]+) calls/)[1].replaceAll(",", ""));
  assert.ok(calls >= 200_000 && size < 4.6e6, `${calls} calls, ${size} bytes`);
  // Other work on the machine may cost a frame or two; a picture that is too slow costs all of them.
  assert.ok(paint < 10_000 && pans.every(({ frames, mean }) => frames > 10 && mean < 50), lines.join("\n"));
  assert.deepEqual(wrong, []);
  await close();
});
