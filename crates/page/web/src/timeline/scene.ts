// The visible part of the timeline, and the position of a time in it.

import type { Layout } from "./layout";
import type { Arrow, Model, Spot } from "./model";
import type { Palette } from "./palette";

/** A selected time, ns. Of a step only the ends are drawn: it fills the picture. */
export interface Range {
  from: number;
  to: number;
  isStep?: boolean;
}

/** The visible part. */
export interface Scene {
  model: Model;
  layout: Layout;
  palette: Palette;
  width: number;
  height: number;
  gutter: number;
  /** How far rows are scrolled, CSS pixels. */
  scroll: number;
  start: number;
  end: number;
  /** The time at the pointer, ns. */
  pointer?: number | undefined;
  selected?: Spot & { kind: string; depth: number } | undefined;
  /** Each goes from what was waited for to what waited. */
  arrows: { arrow: Arrow; id: string }[];
  /** The selected time, ns. */
  range?: Range | undefined;
  /** Whether a label matches the search; undefined without a search. */
  searched?: ((label: number) => boolean) | undefined;
}

export const FONT = '12px system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif';
export const BOLD = FONT.replace("12px", "600 12px");

/** CSS pixels from the left for a time. */
export function across(scene: Scene, time: number): number {
  return scene.gutter + ((time - scene.start) / (scene.end - scene.start)) * (scene.width - scene.gutter);
}
