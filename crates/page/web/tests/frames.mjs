// How long the frames of a pan take.

/** Drags over the canvas for so many steps; the longest and the mean frame, ms, and whether work blocked it. */
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
