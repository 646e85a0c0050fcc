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

// The address holds what is chosen, so that a link shows the same. A browser may refuse that to a page from a disk.
const asked = new URLSearchParams(location.search);
function keep(name, value) {
  asked.set(name, value);
  try { history.replaceState(null, "", `${location.pathname}?${asked}${location.hash}`); } catch { /* stays as it is */ }
}

function curves() {
  let chosen = 0;
  const place = (values, wanted) => (values.includes(Number(wanted)) ? values.indexOf(Number(wanted)) : 1);
  by("target").value = place(RUNS.targets_ms, asked.get("target"));
  by("buffer").value = place(RUNS.buffers_pkts, asked.get("buffer"));
  const joins = [...document.querySelectorAll("[name=case]")].find((one) => one.value === asked.get("case"));
  if (joins) joins.checked = true;
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
      + `${run.beside.drops === 0 ? "nothing is" : `${run.beside.drops} ${run.beside.drops === 1 ? "packet is" : "packets are"}`} dropped.`
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
  by("live").addEventListener("input", () => {
    keep("case", document.querySelector("[name=case]:checked").value);
    keep("target", RUNS.targets_ms[by("target").value]);
    keep("buffer", RUNS.buffers_pkts[by("buffer").value]);
    show();
  });
  addEventListener("resize", show);
  show();
}

// What the files of packets fill, by the name of the kind of run.
const PACKETS = {};

// Load a kind of run once. A script works where a page from a disk may not fetch.
function load(name) {
  return new Promise((done, failed) => {
    if (PACKETS[name]) { done(PACKETS[name]); return; }
    const script = document.createElement("script");
    script.src = `packets-${name}.js`;
    script.onload = () => {
      const packets = PACKETS[name];
      let now = 0;
      packets.came = packets.gap.map((gap) => (now += gap));
      packets.longest = packets.wait.reduce((most, wait) => Math.max(most, wait), 0);
      done(packets);
    };
    script.onerror = failed;
    document.head.append(script);
  });
}

// How many packets had come at an instant (0.1 ms).
function arrived(packets, now) {
  let low = 0;
  let high = packets.came.length;
  while (low < high) { const middle = (low + high) >> 1; if (packets.came[middle] <= now) low = middle + 1; else high = middle; }
  return low;
}

// Packets in the queue at an instant (0.1 ms), the next to leave first.
function waiting(packets, now) {
  const found = [];
  for (let index = arrived(packets, now) - 1; index >= 0 && packets.came[index] > now - packets.longest; index -= 1) {
    if (packets.wait[index] >= 0 && packets.came[index] + packets.wait[index] > now) found.unshift(index);
  }
  return found;
}

function dropped(packets, now) {
  return packets.wait.slice(arrived(packets, now - 5000), arrived(packets, now)).filter((wait) => wait < 0).length;
}

function scrubber() {
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  let packets = null;
  let timer = null;

  const show = () => {
    if (!packets) return;
    const { flows, buffer_pkts: buffer, packet_ms: each, target_ms: target } = packets;
    const now = Number(by("time").value);
    const said = `${(now / 1000).toFixed(2)} s`;
    by("time-said").textContent = said;
    by("time").setAttribute("aria-valuetext", said);
    const queue = waiting(packets, now * 10);
    const owners = queue.map((index) => Number(packets.owner[index]));
    const width = by("queue").clientWidth;
    const gap = 3;
    const rows = Math.ceil(buffer / Math.floor((width - 4) / 12));
    const columns = Math.ceil(buffer / rows);
    const size = Math.min(26, (width - 4) / columns - gap);
    const tall = rows === 1 ? 40 : size;
    const x = (index) => 2 + (index % columns) * (size + gap);
    const y = (index) => 28 + Math.floor(index / columns) * (tall + gap);
    const below = 28 + rows * (tall + gap);
    const height = below + 30 + 34 * flows.length;
    const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img" });
    svg.append(draw("text", { x: 2, y: 14, class: "title" }, `queue: ${queue.length} of ${buffer} places, ${Math.round(queue.length * each)} ms`));
    for (let index = 0; index < buffer; index += 1) {
      const fill = index < queue.length ? flows[owners[index]]?.colour ?? "var(--soft)" : "none";
      svg.append(draw("rect", { x: x(index), y: y(index), width: size, height: tall, rx: 2, fill, class: "place" }));
    }
    if (target !== null) {
      const wanted = target / each;
      const last = Math.min(Math.floor(wanted), buffer - 1);
      const at = x(last) + Math.min(wanted - last, 1) * (size + gap) - gap / 2;
      const leftwards = at > width / 2;
      if (wanted <= buffer) svg.append(draw("path", { d: `M${at} ${y(last) - 6}v${tall + 12}`, class: "level dashed" }));
      svg.append(draw("text", { x: leftwards ? Math.min(at + 4, width - 2) : at - 4, y: below + 14, class: "tick strong", "text-anchor": leftwards ? "end" : "start" },
        `target, ${Math.round(target)} ms${wanted > buffer ? ": more than the buffer holds" : ""}`));
    }
    const lost = dropped(packets, now * 10);
    svg.append(draw("text", { x: width - 2, y: 14, "text-anchor": "end", class: "tick" }, lost ? `${lost} dropped in the last 0.5 s` : ""));
    const sample = Math.max(0, Math.floor((now / 1000 - packets.from_s) / packets.step_s));
    const most = Math.max(...flows.map((flow) => (flow.window_pkts ?? []).reduce((top, one) => Math.max(top, one), 1)));
    const scale = Math.min(size + gap, (width - 4) / most);
    const shares = flows.map((flow, number) => {
      const share = owners.filter((owner) => owner === number).length;
      const window = flow.window_pkts?.[Math.min(sample, flow.window_pkts.length - 1)];
      const told = flow.window_pkts === null ? "" : window === null ? "not there, " : `window ${window}, `;
      const top = below + 44 + 34 * number - 10;
      svg.append(draw("text", { x: 2, y: top, class: "label", fill: flow.colour }, `${flow.label}: ${told}${share} in the queue`));
      svg.append(draw("rect", { x: 2, y: top + 6, width: (window ?? 0) * scale, height: 10, fill: flow.colour }));
      return `${flow.label} ${share}`;
    });
    svg.setAttribute("aria-label", `At ${said} ${queue.length} of ${buffer} places are taken: ${shares.join(", ")}`);
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
    let drawn = before;
    let exact = Number(by("time").value);
    const frame = (instant) => {
      exact += Math.max(0, instant - before) * Number(by("speed").value);
      before = instant;
      // who wants less motion sees a still picture each second
      if (!still.matches || instant - drawn >= 1000) {
        drawn = instant;
        by("time").value = exact;
        show();
      }
      if (exact >= Number(by("time").max)) stop();
      else timer = requestAnimationFrame(frame);
    };
    by("play").textContent = "Pause";
    by("play").setAttribute("aria-pressed", "true");
    timer = requestAnimationFrame(frame);
  };
  const choose = async () => {
    stop();
    packets = null;
    const { value, dataset } = by("watched").selectedOptions[0];
    by("watched-page").hidden = !dataset.page;
    by("watched-page").href = dataset.page ?? "";
    by("queue").textContent = "Loading the packets …";
    try {
      const found = await load(value);
      if (value !== by("watched").value) return;
      packets = found;
    } catch {
      by("queue").textContent = `packets-${value}.js is missing beside this page.`;
      return;
    }
    Object.assign(by("time"), { min: packets.from_s * 1000, max: packets.until_s * 1000 });
    by("time").value = dataset.first * 1000;
    show();
  };
  if (!by("watched").options.length) return;
  by("scrubber").hidden = false;
  if ([...by("watched").options].some((one) => one.value === asked.get("run"))) by("watched").value = asked.get("run");
  by("watched").addEventListener("change", () => { keep("run", by("watched").value); choose(); });
  by("time").addEventListener("input", show);
  by("time").addEventListener("pointerdown", stop);
  by("play").addEventListener("click", () => (timer === null ? play() : stop()));
  addEventListener("resize", show);
  choose();
}

curves();
scrubber();
