// Chromium for the tests, without network: any request of a page besides the page itself is a failure.
import { chromium } from "playwright-core";
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";

export const root = fileURLToPath(new URL("../../../../", import.meta.url));
export const holdup = process.env.HOLDUP ?? `${root}target/debug/holdup`;
if (!existsSync(holdup)) throw new Error(`${holdup} is missing: run \`cargo build -p holdup\`, or set HOLDUP`);

/** Starts the browser; without a sandbox only for root, for whom it does not work. */
export function launch() {
  const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
  return chromium.launch({ executablePath, chromiumSandbox: process.getuid?.() !== 0 });
}

/** A folder for the output of a file's tests, removed at their end. */
export function folder() {
  const directory = mkdtempSync(join(tmpdir(), "holdup-page-"));
  after(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** Writes the report of a trace into a folder: its address. */
export function report(directory, trace) {
  const file = join(directory, `${Math.random().toString(36).slice(2)}.html`);
  execFileSync(holdup, ["explain", trace, "--format", "html", "-o", file]);
  return pathToFileURL(file).href;
}

/** What is explained of a trace, as JSON. */
export function explained(trace) {
  return JSON.parse(execFileSync(holdup, ["explain", "--all", trace, "--format", "json"], { maxBuffer: 1 << 28 }));
}

export const example = (name) => join(root, "examples", name);

/** A tab that collects its errors. */
export async function tab(browser, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, offline: true, ...options });
  const page = await context.newPage();
  // A copy: reading the timeline's own canvas would change how the browser draws it.
  await page.addInitScript(() => {
    window.pixels = (canvas) => {
      const copy = Object.assign(document.createElement("canvas"), { width: canvas.width, height: canvas.height });
      const context = copy.getContext("2d", { willReadFrequently: true });
      context.drawImage(canvas, 0, 0);
      return context.getImageData(0, 0, copy.width, copy.height).data;
    };
  });
  const wrong = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) wrong.push(`${message.type()}: ${message.text()}`);
  });
  page.on("pageerror", (error) => wrong.push(`error: ${error.message}`));
  page.on("dialog", (dialog) => {
    wrong.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("request", (request) => {
    if (!/^(file|data):/.test(request.url()) && !options.served) wrong.push(`request: ${request.url()}`);
  });
  return { page, wrong, close: () => context.close() };
}

/** Opens a report and waits until its timeline is complete. */
export async function open(page, address) {
  await page.goto(address);
  await settled(page);
}

export const CANVAS = ".frame canvas[role=application]";

/** Waits until the timeline stops moving and is complete. */
export async function settled(page) {
  await page.waitForSelector(`${CANVAS}[data-settled=true]`);
}

/** The visible time when the timeline has stopped moving, ns of the trace. */
export async function view(page) {
  await settled(page);
  const data = await page.$eval(CANVAS, (canvas) => ({ ...canvas.dataset }));
  return { start: Number(data.start), end: Number(data.end), arrow: data.arrow };
}
