// The live figures of the page that explains LEDBAT. RUNS comes from explained-data.js.
"use strict";

const SVG = "http://www.w3.org/2000/svg";
const by = (id) => document.getElementById(id);

function draw(name, attributes = {}, text = "") {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.textContent = text;
  return element;
}

function path(values, x, y) {
  let d = "";
  let pen = "M";
  values.forEach((value, index) => {
    if (value === null) { pen = "M"; return; }
    d += `${pen}${x(index).toFixed(1)} ${y(value).toFixed(1)}`;
    pen = "L";
  });
  return d;
}

// Draw one panel: values over the time of the run.
function panel(svg, box, title, top, lines, levels, chosen) {
  const { left, width, y0, height } = box;
  const x = (index) => left + (index * RUNS.step_s / RUNS.duration_s) * width;
  const y = (value) => y0 + height - (Math.min(value, top) / top) * height;
  svg.append(draw("text", { x: 0, y: y0 - 8, class: "title" }, title));
  const step = [1, 2, 5, 10, 20, 50, 100, 200].find((one) => top / one <= 5) ?? 500;
  for (let value = 0; value <= top; value += step) {
    svg.append(draw("path", { d: `M${left} ${y(value)}h${width}`, class: "grid" }));
    svg.append(draw("text", { x: left - 6, y: y(value) + 4, class: "tick", "text-anchor": "end" }, value));
  }
  for (const line of lines) svg.append(draw("path", { d: path(line.values, x, y), stroke: line.colour, class: "line" }));
  for (const level of levels) {
    if (level.value > top) continue;
    svg.append(draw("path", { d: `M${left} ${y(level.value)}h${width}`, class: `level ${level.dashed ? "dashed" : ""}` }));
    svg.append(draw("text", { x: left + width - 4, y: y(level.value) - 5, "text-anchor": "end", class: "tick strong" }, level.name));
  }
  let last = -Infinity;
  for (const line of lines.filter((one) => one.label)) {
    const from = line.values.findIndex((value) => value !== null);
    const at = Math.max(left + 6, x(from) + 6);
    const row = at < last + 120 ? 1 : 0;
    svg.append(draw("text", { x: at, y: y0 + 14 + 15 * row, fill: line.colour, class: "label" }, line.label));
    last = at;
  }
  svg.append(draw("path", { d: `M${x(chosen)} ${y0}v${height}`, class: "cursor" }));
}

const percent = (share) => `${share >= 0.095 ? Math.round(100 * share) : (100 * share).toPrecision(1)} %`;

function curves() {
  let chosen = 0;
  const show = () => {
    const kind = document.querySelector("[name=case]:checked").value;
    const target = RUNS.targets_ms[by("target").value];
    const buffer = RUNS.buffers_pkts[by("buffer").value];
    const holds = buffer * RUNS.packet_ms;
    const run = RUNS.runs[`${kind}/${target}/${buffer}`];
    by("target-said").textContent = `${target} ms`;
    by("buffer-said").textContent = `${buffer} packets, ${holds} ms`;
    by("target").setAttribute("aria-valuetext", `${target} ms`);
    by("buffer").setAttribute("aria-valuetext", `${buffer} packets, which take ${holds} ms`);
    const other = kind === "tcp" ? "TCP" : "the late-comer";
    by("said").textContent = `Alone, LEDBAT keeps a queue of ${Math.round(run.alone.queue_ms)} ms and uses ${percent(run.alone.used)} `
      + `of the link. Beside ${other} it gets ${percent(run.beside.share)} of it, the queue is ${Math.round(run.beside.queue_ms)} ms, and `
      + `${run.beside.drops === 0 ? "nothing is" : `${run.beside.drops} packets are`} dropped.`
      + (target > holds ? " The buffer is smaller than the target." : "");
    const width = by("curves").clientWidth;
    const left = 38;
    const height = 130;
    const svg = draw("svg", { viewBox: `0 0 ${width} 560`, width, height: 560, role: "img", "aria-label": by("said").textContent });
    const inner = { left, width: width - left - 4, height };
    panel(svg, { ...inner, y0: 24 }, "window [packets]", 80, run.flows.map((flow) => ({ values: flow.window_pkts, ...flow })), [], chosen);
    panel(svg, { ...inner, y0: 204 }, "queue [ms]", 370, [{ values: run.queue_ms, colour: "var(--soft)" }],
      [{ value: target, name: "target", dashed: true }, { value: holds, name: "buffer" }], chosen);
    const watching = run.flows.filter((flow) => flow.base_ms);
    panel(svg, { ...inner, y0: 384 }, "base delay as LEDBAT senders know it [ms]", 170, watching.map((flow) => ({ ...flow, values: flow.base_ms })),
      [{ value: RUNS.rtt_ms / 2, name: "the path", dashed: true }], chosen);
    for (let second = 0; second <= RUNS.duration_s; second += 10) {
      const x = left + (second / RUNS.duration_s) * inner.width;
      svg.append(draw("text", { x, y: 532, class: "tick", "text-anchor": second ? (second === RUNS.duration_s ? "end" : "middle") : "start" },
        second === RUNS.duration_s ? `${second} s` : second));
    }
    const at = (values) => (values[chosen] === null || values[chosen] === undefined ? "–" : values[chosen]);
    svg.append(draw("text", { x: left, y: 554, class: "tick strong" }, `At ${(chosen * RUNS.step_s).toFixed(1)} s: `
      + run.flows.map((flow) => `${flow.label} window ${at(flow.window_pkts)}`).join(", ") + `, queue ${at(run.queue_ms)} ms`));
    svg.addEventListener("pointermove", (event) => {
      const part = (event.offsetX - left) / inner.width;
      chosen = Math.min(run.queue_ms.length - 1, Math.max(0, Math.round((part * RUNS.duration_s) / RUNS.step_s)));
      requestAnimationFrame(show);
    }, { once: true });
    by("curves").replaceChildren(svg);
  };
  by("live").hidden = false;
  by("live").addEventListener("input", show);
  addEventListener("resize", show);
  show();
}

function scrubber() {
  const unpack = (packets) => {
    const came = [];
    packets.gap.reduce((time, gap) => { came.push(time + gap); return time + gap; }, 0);
    return { ...packets, came };
  };
  const kinds = Object.fromEntries(Object.entries(RUNS.packets).map(([kind, packets]) => [kind, unpack(packets)]));
  let timer = null;

  // Packets in the queue at an instant (in units of 0.1 ms), next to leave first. None waits longer than a second.
  const waiting = (packets, now) => {
    let low = 0;
    let high = packets.came.length;
    while (low < high) { const middle = (low + high) >> 1; if (packets.came[middle] <= now) low = middle + 1; else high = middle; }
    const found = [];
    for (let index = low - 1; index >= 0 && packets.came[index] > now - 10000; index -= 1) {
      if (packets.wait[index] >= 0 && packets.came[index] + packets.wait[index] > now) found.unshift(index);
    }
    return found;
  };
  const dropped = (packets, now) => {
    let count = 0;
    for (let index = 0; index < packets.came.length && packets.came[index] <= now; index += 1) {
      count += packets.wait[index] < 0 && packets.came[index] > now - 5000;
    }
    return count;
  };

  const show = () => {
    const packets = kinds[by("watched").value];
    const run = RUNS.runs[packets.run];
    const [, target, buffer] = packets.run.split("/").map(Number);
    const now = Number(by("time").value);
    by("time-said").textContent = `${(now / 1000).toFixed(2)} s`;
    const queue = waiting(packets, now * 10);
    const width = by("queue").clientWidth;
    const gap = 3;
    const size = Math.min(26, (width - 8) / buffer - gap);
    const svg = draw("svg", { viewBox: `0 0 ${width} ${150 + 34 * run.flows.length}`, width, role: "img" });
    const place = (index) => 2 + index * (size + gap);
    svg.append(draw("text", { x: 2, y: 14, class: "title" }, `queue: ${queue.length} of ${buffer} places, ${Math.round(queue.length * RUNS.packet_ms)} ms`));
    for (let index = 0; index < buffer; index += 1) {
      const owner = queue[index] === undefined ? null : run.flows[packets.owner[queue[index]]];
      svg.append(draw("rect", { x: place(index), y: 28, width: size, height: 40, rx: 2, fill: owner?.colour ?? "none", class: "place" }));
    }
    const wanted = place(target / RUNS.packet_ms) - gap / 2;
    svg.append(draw("path", { d: `M${wanted} 22v54`, class: "level dashed" }));
    svg.append(draw("text", { x: wanted + 4, y: 90, class: "tick strong" }, `target, ${target} ms`));
    const lost = dropped(packets, now * 10);
    svg.append(draw("text", { x: width - 2, y: 14, "text-anchor": "end", class: "tick" }, lost ? `${lost} dropped in the last 0.5 s` : ""));
    const sample = Math.min(run.queue_ms.length - 1, Math.floor(now / 1000 / RUNS.step_s));
    run.flows.forEach((flow, number) => {
      const y = 122 + 34 * number;
      const window = flow.window_pkts[sample] ?? 0;
      const share = queue.filter((index) => packets.owner[index] === number).length;
      svg.append(draw("text", { x: 2, y, class: "label", fill: flow.colour }, `${flow.label}: window ${window}, ${share} in the queue`));
      svg.append(draw("rect", { x: 2, y: y + 6, width: Math.min(width - 4, window * (size + gap)), height: 10, fill: flow.colour }));
    });
    svg.setAttribute("aria-label", `At ${(now / 1000).toFixed(2)} s ${queue.length} of ${buffer} places are taken`);
    by("queue").replaceChildren(svg);
  };

  const stop = () => {
    cancelAnimationFrame(timer);
    timer = null;
    by("play").textContent = "Play";
    by("play").setAttribute("aria-pressed", "false");
  };
  const play = () => {
    let before = performance.now();
    let exact = Number(by("time").value);
    const frame = (instant) => {
      exact += (instant - before) * Number(by("speed").value);
      before = instant;
      by("time").value = exact;
      show();
      if (exact >= Number(by("time").max)) stop();
      else timer = requestAnimationFrame(frame);
    };
    by("play").textContent = "Pause";
    by("play").setAttribute("aria-pressed", "true");
    timer = requestAnimationFrame(frame);
  };
  by("scrubber").hidden = false;
  by("scrubber").addEventListener("input", show);
  by("time").addEventListener("pointerdown", stop);
  by("play").addEventListener("click", () => (timer === null ? play() : stop()));
  addEventListener("resize", show);
  show();
}

curves();
scrubber();
