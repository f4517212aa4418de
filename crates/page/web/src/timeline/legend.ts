// The meaning of the colors and patterns in the timeline.

import { element } from "../dom";
import type { Model } from "./model";
import { LOOK_NAMES, LOOKS, type Palette } from "./palette";

export function legend(list: HTMLElement, models: Model[], palette: Palette): void {
  const labels = models.flatMap(({ stored }) => stored.labels);
  const present = new Set(labels.filter(({ n }) => n > 0).map(({ l }) => l));
  list.replaceChildren(
    ...LOOKS.filter((look) => present.has(look)).map((look) => {
      const swatch = element("canvas", { "aria-hidden": "true" });
      swatch.width = 20 * devicePixelRatio;
      swatch.height = 12 * devicePixelRatio;
      const context = swatch.getContext("2d") as CanvasRenderingContext2D;
      context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
      for (const style of [palette.fills[look], palette.patterns[look]]) {
        if (!style) continue;
        context.fillStyle = style;
        context.fillRect(0, 0, 20, 12);
      }
      return element("li", {}, swatch, LOOK_NAMES[look]);
    }),
  );
}
