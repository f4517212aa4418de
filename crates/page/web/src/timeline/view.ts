// The visible part of the timeline, and its movement.

/** The narrowest view, ns: more zoom would show nothing new. */
const NARROWEST = 50;
/** The narrowest view as a part of the whole: below it, floating-point times are too coarse to differ. */
const FINEST = 2 ** -40;
const GLIDE_MS = 260;

export class View {
  start = 0;
  end: number;
  private glide = 0;
  private readonly narrowest: number;
  private readonly watchers: (() => void)[] = [];

  constructor(readonly length: number) {
    this.end = length;
    this.narrowest = Math.min(Math.max(NARROWEST, length * FINEST), length);
  }

  /** Calls `act` whenever the view has changed. */
  onChange(act: () => void): void {
    this.watchers.push(act);
  }

  /** Whether everything is visible. */
  get isWhole(): boolean {
    return this.span >= this.length;
  }

  /** Whether the view is moving. */
  get isGliding(): boolean {
    return this.glide !== 0;
  }

  get span(): number {
    return this.end - this.start;
  }

  /** Shows from `start` to `end`, limited to the timeline. */
  set(start: number, end: number): void {
    this.stop();
    this.put(start, end);
  }

  /** Moves by a part of the visible time. */
  pan(part: number): void {
    this.set(this.start + part * this.span, this.end + part * this.span);
  }

  /** Shows `factor` times as much time; the time at `part` of the width keeps its position. */
  zoom(factor: number, part = 0.5): void {
    const span = Math.min(Math.max(this.span * factor, this.narrowest), this.length);
    const fixed = this.start + part * this.span;
    this.set(fixed - part * span, fixed + (1 - part) * span);
  }

  fit(): void {
    this.glideTo(0, this.length);
  }

  /** Shows an interval with some room around it: a part of its length. */
  glideAround(start: number, end: number, part = 0.35): void {
    const room = Math.max(end - start, this.narrowest) * part;
    this.glideTo(start - room, end + room);
  }

  private glideTo(start: number, end: number): void {
    this.stop();
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) {
      this.put(start, end);
      return;
    }
    const [fromStart, fromSpan] = [this.start, this.span];
    const span = Math.min(Math.max(end - start, 1), this.length);
    const begun = performance.now();
    const step = (now: number) => {
      const part = Math.min(1, Math.max(0, now - begun) / GLIDE_MS);
      const eased = 1 - (1 - part) ** 3;
      // Spans change by factors, so that zooming over six orders of magnitude looks even.
      const current = fromSpan * (span / fromSpan) ** eased;
      const moved = Math.abs(fromSpan - span) < 1e-9 ? eased : (fromSpan - current) / (fromSpan - span);
      const at = fromStart + (start - fromStart) * moved;
      if (part < 1) {
        this.put(at, at + current);
        this.glide = requestAnimationFrame(step);
      } else {
        this.glide = 0;
        this.put(start, end);
      }
    };
    this.glide = requestAnimationFrame(step);
    this.changed();
  }

  private changed(): void {
    for (const act of this.watchers) act();
  }

  private stop(): void {
    cancelAnimationFrame(this.glide);
    this.glide = 0;
  }

  private put(start: number, end: number): void {
    const span = Math.min(Math.max(end - start, this.narrowest), this.length);
    this.start = Math.min(Math.max(start, 0), this.length - span);
    this.end = this.start + span;
    this.changed();
  }
}
