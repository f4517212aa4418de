// Chromium for the tests, with the network off: whatever a page asks for beside itself is a failure.
import { chromium } from "playwright-core";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../../../../", import.meta.url));
export const holdup = process.env.HOLDUP ?? `${root}target/debug/holdup`;
if (!existsSync(holdup)) throw new Error(`${holdup} is missing: run \`cargo build -p holdup\`, or set HOLDUP`);

/** Starts the browser. Without a sandbox only for root, who has none. */
export function launch() {
  const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
  return chromium.launch({ executablePath, chromiumSandbox: process.getuid?.() !== 0 });
}

/** A tab that collects what goes wrong in it. */
export async function tab(browser, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, offline: true, ...options });
  const page = await context.newPage();
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

/** Opens a report and waits until its timeline shows all there is to show. */
export async function open(page, address) {
  await page.goto(address);
  await settled(page);
}

export const CANVAS = ".frame canvas[role=application]";

export async function settled(page) {
  await page.waitForSelector(`${CANVAS}[data-settled=true]`);
  // What glides has to arrive.
  await page.waitForFunction(async (canvas) => {
    const view = () => { const { start, end } = document.querySelector(canvas).dataset; return `${start} ${end}`; };
    const before = view();
    await new Promise((done) => setTimeout(done, 120));
    return before === view() && document.querySelector(canvas).dataset.settled === "true";
  }, CANVAS);
}

/** What the timeline shows, ns from its start. */
export async function view(page) {
  const data = await page.$eval(CANVAS, (canvas) => ({ ...canvas.dataset }));
  return { start: Number(data.start), end: Number(data.end), arrow: data.arrow };
}
