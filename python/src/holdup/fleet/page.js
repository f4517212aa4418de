"use strict";
(async () => {
  const holder = document.getElementById("map");
  if (!holder) return;
  const bytes = Uint8Array.from(atob(document.getElementById("cells").textContent.trim()), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  const all = new Uint8Array(await new Response(stream).arrayBuffer());
  const length = new DataView(all.buffer).getUint32(0, true);
  const about = JSON.parse(new TextDecoder().decode(all.subarray(4, 4 + length)));
  const cells = all.subarray(4 + length);
  const { columns, names, hosts, host, duration, least, most } = about;
  const rows = names.length;
  const canvas = document.createElement("canvas");
  holder.append(canvas);
  const said = document.getElementById("said");
  // Lines of the picture at most; of more ranks, each line has the latest of several.
  const LINES = 512, LEFT = 96, BOTTOM = 22;
  let shown = rows, top = 0, row = 0, column = 0;

  const late = (level) => level < 2 ? 0 : least * Math.pow(most / least, (level - 2) / 253);
  const time = (ns) => {
    for (const [unit, size] of [["s", 1e9], ["ms", 1e6], ["µs", 1e3]]) {
      if (Math.abs(ns) >= size) return `${(ns / size).toPrecision(3)} ${unit}`;
    }
    return `${Math.round(ns)} ns`;
  };
  const each = () => Math.ceil(shown / LINES);
  const lines = () => Math.ceil(shown / each());
  const latest = (from, to, x) => {
    let best = from;
    for (let at = from; at < to; at++) if (cells[at * columns + x] > cells[best * columns + x]) best = at;
    return best;
  };
  const color = (name) => {
    const probe = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    const element = document.createElement("span");
    element.style.color = `var(${name})`;
    document.body.append(element);
    probe.fillStyle = getComputedStyle(element).color;
    element.remove();
    probe.fillRect(0, 0, 1, 1);
    return probe.getImageData(0, 0, 1, 1).data;
  };

  function draw() {
    const width = Math.max(holder.clientWidth, 240), ratio = window.devicePixelRatio || 1;
    const line = Math.max(1, Math.min(18, Math.floor(LINES / lines())));
    const height = line * lines();
    canvas.width = width * ratio;
    canvas.height = (height + BOTTOM) * ratio;
    canvas.style.height = `${height + BOTTOM}px`;
    const paint = canvas.getContext("2d");
    const [low, high, ink, band] = ["--surface", "--lost", "--muted", "--band"].map(color);
    const picture = new ImageData(columns, lines());
    for (let y = 0; y < lines(); y++) {
      const from = top + y * each(), to = Math.min(from + each(), rows);
      for (let x = 0; x < columns; x++) {
        const level = cells[latest(from, to, x) * columns + x], part = level < 2 ? 0 : 0.12 + 0.88 * (level - 2) / 253;
        for (let c = 0; c < 3; c++) {
          const base = level === 0 ? band[c] : low[c];
          picture.data[(y * columns + x) * 4 + c] = base + (high[c] - base) * part;
        }
        picture.data[(y * columns + x) * 4 + 3] = 255;
      }
    }
    const small = document.createElement("canvas");
    small.width = columns;
    small.height = lines();
    small.getContext("2d").putImageData(picture, 0, 0);
    paint.scale(ratio, ratio);
    paint.imageSmoothingEnabled = false;
    paint.drawImage(small, LEFT, 0, width - LEFT, height);
    paint.fillStyle = `rgb(${ink[0]},${ink[1]},${ink[2]})`;
    paint.font = "12px system-ui, sans-serif";
    paint.textBaseline = "middle";
    const apart = Math.max(1, Math.ceil(20 / line));
    for (let y = 0; y < lines(); y += apart) {
      const name = names[top + y * each()] || "";
      paint.fillText(name.length > 14 ? `${name.slice(0, 13)}…` : name, 4, Math.max(7, y * line + line / 2));
    }
    for (let part = 0; part <= 4; part++) {
      const text = time(duration * part / 4), wide = paint.measureText(text).width;
      paint.fillText(text, Math.min(LEFT + (width - LEFT) * part / 4, width - wide - 2), height + BOTTOM / 2);
    }
    const cell = (width - LEFT) / columns, y = Math.floor((row - top) / each());
    paint.strokeStyle = `rgb(${ink[0]},${ink[1]},${ink[2]})`;
    paint.lineWidth = 2;
    paint.strokeRect(LEFT + column * cell - 2, y * line - 2, Math.max(cell, 3) + 4, Math.max(line, 3) + 4);
  }

  function say() {
    const from = top + Math.floor((row - top) / each()) * each(), to = Math.min(from + each(), rows);
    const best = latest(from, to, column), level = cells[best * columns + column];
    const who = to - from > 1 ? `${names[from]} to ${names[to - 1]}, the latest is ${names[best]}` : names[best];
    const node = hosts[host[best]];
    const when = `${time(duration * column / columns)} to ${time(duration * (column + 1) / columns)}`;
    const what = level === 0 ? "no collective" : level === 1 ? "not late" : `${time(late(level))} late`;
    said.textContent = `${who}${node ? ` on ${node}` : ""}, ${when}: ${what}`;
  }

  function go(to, x) {
    row = Math.max(0, Math.min(rows - 1, to));
    column = Math.max(0, Math.min(columns - 1, x));
    if (row < top || row >= top + shown) top = Math.max(0, Math.min(rows - shown, row - Math.floor(shown / 2)));
    draw();
    say();
  }

  function zoom(by) {
    shown = Math.max(Math.min(rows, 16), Math.min(rows, Math.round(shown * by)));
    top = Math.max(0, Math.min(rows - shown, row - Math.floor(shown / 2)));
    go(row, column);
  }

  // The next cell at least half as late as the latest of all, in reading order of the rows.
  function next() {
    let high = 0;
    for (const level of cells) if (level > high) high = level;
    const limit = late(high) / 2, start = row * columns + column;
    for (let step = 1; step <= cells.length; step++) {
      const at = (start + step) % cells.length;
      if (cells[at] > 1 && late(cells[at]) >= limit) return go(Math.floor(at / columns), at % columns);
    }
    return undefined;
  }

  holder.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const step = { ArrowUp: [-each(), 0], ArrowDown: [each(), 0], ArrowLeft: [0, -1], ArrowRight: [0, 1],
      PageUp: [-16 * each(), 0], PageDown: [16 * each(), 0], Home: [0, -columns], End: [0, columns] }[event.key];
    if (step) go(row + step[0], column + step[1]);
    else if (event.key === "+" || event.key === "=") zoom(0.5);
    else if (event.key === "-") zoom(2);
    else if (event.key === "n") next();
    else return;
    event.preventDefault();
  });
  const under = (event) => {
    const box = canvas.getBoundingClientRect(), line = (box.height - BOTTOM) / lines();
    const x = Math.floor((event.clientX - box.left - LEFT) / ((box.width - LEFT) / columns));
    return [top + Math.floor((event.clientY - box.top) / line) * each(), x];
  };
  canvas.addEventListener("click", (event) => { go(...under(event)); holder.focus(); });
  canvas.addEventListener("dblclick", () => zoom(0.5));
  document.getElementById("closer").addEventListener("click", () => zoom(0.5));
  document.getElementById("wider").addEventListener("click", () => zoom(2));
  document.getElementById("next").addEventListener("click", next);
  for (const button of document.querySelectorAll("button[data-row]")) {
    button.addEventListener("click", () => {
      shown = Math.min(rows, 32);
      go(Number(button.dataset.row), column);
      holder.scrollIntoView({ block: "nearest" });
      holder.focus();
    });
  }
  window.addEventListener("resize", draw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  go(0, 0);
  document.documentElement.dataset.ready = "true";
})();
