// Measures how soon a report is visible, and how long the frames of a pan take.
import { CANVAS, open, settled, view } from "./browser.mjs";

/** Opens a report and drags its timeline, from a view of all of it to one of a two hundredth or less; returns lines of results. */
export async function measure(page, address) {
  const begun = performance.now();
  await open(page, address);
  const whole = performance.now() - begun;
  const paint = await page.evaluate(() =>
    performance.getEntriesByType("paint").find(({ name }) => name === "first-contentful-paint")?.startTime);
  const lines = [`first paint after ${paint?.toFixed(0)} ms, timeline complete after ${whole.toFixed(0)} ms`];
  const pans = [];
  await page.focus(CANVAS);
  for (const zooms of [0, 4, 4, 4, 4, 4]) {
    for (let zoom = 0; zoom < zooms; zoom++) await page.keyboard.press("+");
    await settled(page);
    const { start, end } = await view(page);
    const result = await pan(page, CANVAS);
    const { frames, mean, longest, over50, longestTask } = result;
    pans.push(result);
    lines.push(
      `view ${((end - start) / 1e6).toFixed(2)} ms: ${frames} frames, mean ${mean.toFixed(1)} ms, longest ` +
        `${longest.toFixed(1)} ms, ${over50} over 50 ms, longest task ${longestTask.toFixed(0)} ms`,
    );
  }
  return { paint, pans, lines };
}

/** Drags over the canvas for `steps` steps; returns the longest and the mean frame, ms, and whether work blocked it. */
export async function pan(page, canvas, steps = 90) {
  const box = await (await page.$(canvas)).boundingBox();
  await page.evaluate(() => {
    window.frames_ = [];
    window.tasks_ = [];
    window.watching_ = new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) window.tasks_.push(entry.duration);
    });
    window.watching_.observe({ entryTypes: ["longtask"] });
    let before = performance.now();
    const frame = (now) => {
      window.frames_.push(now - before);
      before = now;
      window.loop_ = requestAnimationFrame(frame);
    };
    window.loop_ = requestAnimationFrame(frame);
  });
  const y = box.y + Math.min(box.height / 2, 150);
  const from = box.x + box.width * 0.9;
  await page.mouse.move(from, y);
  await page.mouse.down();
  for (let step = 0; step < steps; step++) await page.mouse.move(from - step * ((box.width * 0.6) / steps), y);
  await page.mouse.up();
  return page.evaluate(() => {
    cancelAnimationFrame(window.loop_);
    window.watching_.disconnect();
    const frames = window.frames_.slice(2);
    return {
      frames: frames.length,
      mean: frames.reduce((sum, frame) => sum + frame, 0) / frames.length,
      longest: Math.max(...frames),
      over50: frames.filter((frame) => frame > 50).length,
      longestTask: Math.max(0, ...window.tasks_),
    };
  });
}
