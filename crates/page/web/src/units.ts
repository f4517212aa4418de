// Numbers with their units, in the format of holdup's reports (crates/report/src/units.rs).

const grouped = (number: number) => Math.round(number).toString().replace(/\B(?=(\d{3})+$)/g, ",");

function three(value: number): string {
  if (Math.round(value * 100) < 1000) return value.toFixed(2);
  if (Math.round(value * 10) < 1000) return value.toFixed(1);
  return grouped(value);
}

/** `814 ns`, `12.4 µs`, `53.8 ms`, `1,163 ms`, `12.3 s` */
export function duration(ns: number): string {
  if (ns < 1_000) return `${grouped(ns)} ns`;
  if (ns < 999_500) return `${three(ns / 1e3)} µs`;
  if (ns < 9_999_500_000) return `${three(ns / 1e6)} ms`;
  return `${three(ns / 1e9)} s`;
}

/** `64 MiB`, `1.50 KiB`, `4 B` */
export function size(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  const units = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
  const power = Math.min(Math.floor(Math.log2(bytes) / 10), units.length);
  const value = bytes / 2 ** (10 * power);
  return `${Number.isInteger(value) ? grouped(value) : three(value)} ${units[power - 1]}`;
}

/** A share of 1: `36 %`, `0.4 %`, `<0.1 %`; `100 %` and `0 %` only if it is exactly that. */
export function percent(share: number): string {
  const hundredths = share * 100;
  if (hundredths <= 0) return "0 %";
  if (hundredths < 0.1) return "<0.1 %";
  if (hundredths < 0.95) return `${hundredths.toFixed(1)} %`;
  if (hundredths >= 99.5 && hundredths < 100) return `${Math.min(hundredths, 99.9).toFixed(1)} %`;
  return `${hundredths.toFixed(0)} %`;
}

export function count(number: number): string {
  return grouped(number);
}

/** `1.024 s`, with as many decimals as `step` needs. */
export function moment(ns: number, step: number): string {
  const decimals = Math.min(9, Math.max(0, Math.ceil(-Math.log10(step / 1e9) - 1e-9)));
  return `${(ns / 1e9).toFixed(decimals)} s`;
}
