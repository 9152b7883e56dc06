"use strict";
// The page of an agent: what changes is asked for again every few seconds; the trade-off can be
// dragged, compared and applied. Names of others are set as text, never as HTML.

const { agent, token, admin } = document.body.dataset;
const here = `/page/${encodeURIComponent(agent)}`, api = `/v1/agents/${encodeURIComponent(agent)}`;
const byId = (id) => document.getElementById(id);
const SIZE = { left: 64, right: 18, top: 16, bottom: 46 };
const REFRESH = 3000, PAUSE = 350; // milliseconds

let front = null; // trade-offs, and what they are believed to give
let chosen = null; // weights that are looked at; null: the present ones
let axis = [0, 1]; // the objectives that are drawn
let timer = 0, asked = 0;

async function ask(path, options = {}) {
  const headers = { "content-type": "application/json", "x-mogro-token": token };
  const answer = await fetch(path, { ...options, headers });
  if (answer.status === 401) { location.href = "/login"; }
  const body = await answer.json();
  if (!answer.ok) { throw new Error(body.message); }
  return body;
}

async function refresh() {
  try {
    const parts = await ask(`${here}/parts`);
    const filter = byId("filter").value;
    for (const [name, html] of Object.entries(parts)) {
      const part = byId(name);
      if (part && part.innerHTML !== html) {
        const scroll = part.querySelector(".scroll")?.scrollTop;
        part.innerHTML = html;
        if (scroll) { part.querySelector(".scroll").scrollTop = scroll; }
      }
    }
    byId("filter").value = filter;
    sortArms();
    filterArms();
    front = await ask(`${here}/front`);
    show();
    byId("live").textContent = `live, ${new Date().toLocaleTimeString()}`;
  } catch (error) {
    byId("live").textContent = `no answer: ${error.message}`;
  }
}

// ---- the trade-off ---------------------------------------------------------------------------

const names = () => front.objectives.map((objective) => objective.name);

function shares(weights) {
  const total = names().reduce((sum, name) => sum + (weights[name] ?? 0), 0);
  return names().map((name) => (weights[name] ?? 0) / (total || 1));
}

function nearest(weights) {
  const wanted = shares(weights);
  const far = (point) => shares(point.weights)
    .reduce((sum, share, m) => sum + (share - wanted[m]) ** 2, 0);
  return front.points.reduce((best, point) => (far(point) < far(best) ? point : best));
}

function middle() {
  return Object.fromEntries(names().map((name) => [name, 1 / names().length]));
}

const selected = () => chosen ?? front.weights ?? middle();

function say(weights) {
  return names().map((name, m) => `${name} ${(100 * shares(weights)[m]).toFixed(0)} %`).join(", ");
}

function show() {
  byId("now").textContent = front.weights
    ? `Now: ${say(front.weights)} of the importance, per unit.`
    : "Now: every decision draws weights of its own. Choose a trade-off to hold on to.";
  if (!byId("sliders").childElementCount) { makeSliders(); makeAxes(); }
  setSliders();
  draw();
  byId("apply").disabled = admin !== "yes" || chosen === null;
  byId("reset").disabled = chosen === null;
}

function makeSliders() {
  if (names().length < 2) { return; } // nothing to trade
  names().forEach((name, m) => {
    const row = document.createElement("div");
    row.className = "slider";
    const label = document.createElement("label");
    label.htmlFor = `weight-${m}`;
    label.textContent = name;
    const input = document.createElement("input");
    Object.assign(input, { type: "range", id: `weight-${m}`, min: 0, max: 100, step: 1 });
    const output = document.createElement("output");
    output.htmlFor = input.id;
    input.addEventListener("input", () => { choose(withShare(m, Number(input.value) / 100)); });
    row.append(label, input, output);
    byId("sliders").append(row);
  });
}

function withShare(m, share) { // the others keep their proportions
  const now = shares(selected()), others = 1 - now[m], many = now.length - 1;
  const scaled = now.map((each, k) => (k === m ? share
    : (1 - share) * (others > 1e-9 ? each / others : 1 / many)));
  return Object.fromEntries(names().map((name, k) => [name, scaled[k]]));
}

function makeAxes() {
  if (names().length < 3) { return; }
  ["Across", "Up"].forEach((text, place) => {
    const label = document.createElement("label"), select = document.createElement("select");
    names().forEach((name, m) => select.add(new Option(name, m, m === place, m === place)));
    label.textContent = `${text} `;
    label.append(select);
    select.addEventListener("change", () => { axis[place] = Number(select.value); draw(); });
    byId("axes").append(label);
  });
}

function setSliders() {
  shares(selected()).forEach((share, m) => {
    const input = byId(`weight-${m}`);
    if (!input) { return; }
    if (input !== document.activeElement) { input.value = Math.round(100 * share); }
    input.parentElement.querySelector("output").textContent = `${(100 * share).toFixed(0)} %`;
  });
}

function choose(weights) {
  chosen = weights;
  show();
  byId("words").textContent = "…";
  clearTimeout(timer);
  timer = setTimeout(compare, PAUSE);
}

async function compare() {
  const number = ++asked;
  try {
    const body = JSON.stringify(chosen);
    const answer = await ask(`${here}/compare`, { method: "POST", body });
    if (number !== asked || chosen === null) { return; }
    byId("comparison").innerHTML = answer.table;
    byId("words").textContent = answer.words;
  } catch (error) {
    byId("words").textContent = error.message;
  }
}

async function apply() {
  byId("apply").disabled = true;
  try {
    const body = JSON.stringify({ weights: chosen });
    await ask(`${api}/config`, { method: "PATCH", body });
    reset();
    byId("words").textContent = "Applied: the next decisions follow it.";
    await refresh();
  } catch (error) {
    byId("words").textContent = error.message;
    byId("apply").disabled = false;
  }
}

function reset() {
  chosen = null;
  asked++;
  byId("comparison").replaceChildren();
  byId("words").textContent = "";
  show();
}

// ---- the picture -----------------------------------------------------------------------------

function make(kind, attributes, text) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", kind);
  for (const [name, value] of Object.entries(attributes)) { element.setAttribute(name, value); }
  if (text !== undefined) { element.textContent = text; }
  return element;
}

function span(values) {
  const low = Math.min(...values), high = Math.max(...values);
  const room = (high - low) * 0.08 || Math.abs(high) * 0.5 || 0.5;
  return [low - room, high + room];
}

function scales() {
  const [x, y] = front.objectives.length > 1 ? axis : [0, 0];
  const across = span(front.points.map((point) => point.values[x]));
  const up = span(front.points.map((point) => point.values[y]));
  const width = SIZE.width - SIZE.left - SIZE.right, height = SIZE.height - SIZE.top - SIZE.bottom;
  return {
    x, y, across, up,
    place: (values) => [
      SIZE.left + (width * (values[x] - across[0])) / (across[1] - across[0]),
      SIZE.height - SIZE.bottom - (height * (values[y] - up[0])) / (up[1] - up[0]),
    ],
  };
}

function axes(svg, scale) {
  const bottom = SIZE.height - SIZE.bottom;
  svg.append(make("path", {
    d: `M${SIZE.left} ${SIZE.top}V${bottom}H${SIZE.width - SIZE.right}`, fill: "none", stroke: "#8795a3",
  }));
  const label = (objective) => `${objective.name} (${objective.direction === "max" ? "more" : "less"} is better)`;
  svg.append(make("text", { x: SIZE.width / 2, y: SIZE.height - 8, "text-anchor": "middle" },
    label(front.objectives[scale.x])));
  svg.append(make("text", {
    transform: `translate(14 ${SIZE.height / 2 - 10}) rotate(-90)`, "text-anchor": "middle",
  }, label(front.objectives[scale.y])));
  for (let k = 0; k <= 4; k++) {
    const a = scale.across[0] + (k / 4) * (scale.across[1] - scale.across[0]);
    const b = scale.up[0] + (k / 4) * (scale.up[1] - scale.up[0]);
    const [x] = scale.place(fill(scale, a, b)), [, y] = scale.place(fill(scale, a, b));
    svg.append(make("text", { x, y: bottom + 18, "text-anchor": "middle" }, a.toPrecision(3)));
    svg.append(make("text", { x: SIZE.left - 8, y: y + 4, "text-anchor": "end" }, b.toPrecision(3)));
  }
}

function fill(scale, a, b) {
  const values = [];
  values[scale.x] = a;
  values[scale.y] = b;
  return values;
}

function draw() {
  const picture = byId("picture");
  if (!front.points.length) {
    picture.textContent = "No decision yet: nothing to draw.";
    return;
  }
  const held = picture.querySelector(".handle") === document.activeElement;
  SIZE.width = Math.max(300, Math.min(640, picture.clientWidth)); // text stays readable
  SIZE.height = Math.round(SIZE.width * 0.66);
  const scale = scales();
  const svg = make("svg", { viewBox: `0 0 ${SIZE.width} ${SIZE.height}`, role: "group",
    "aria-label": "What trade-offs are believed to give" });
  axes(svg, scale);
  if (front.objectives.length === 2) {
    const path = front.points.map((point) => scale.place(point.values).join(" ")).join("L");
    svg.append(make("path", { d: `M${path}`, class: "line" }));
  }
  for (const point of front.points) {
    const [x, y] = scale.place(point.values);
    const dot = make("circle", { cx: x, cy: y, r: 4, class: "dot" });
    dot.append(make("title", {}, say(point.weights)));
    svg.append(dot);
  }
  if (front.current) {
    const [x, y] = scale.place(front.current.values);
    const mark = make("rect", { x: x - 7, y: y - 7, width: 14, height: 14, class: "present" });
    mark.append(make("title", {}, `now: ${say(front.current.weights)}`));
    svg.append(mark);
  }
  const point = nearest(selected()), [x, y] = scale.place(point.values);
  const handle = make("circle", {
    cx: x, cy: y, r: 10, class: "handle", tabindex: 0, role: "slider", "aria-label": "Trade-off",
    "aria-valuemin": 0, "aria-valuemax": front.points.length - 1,
    "aria-valuenow": front.points.indexOf(point), "aria-valuetext": say(point.weights),
  });
  handle.addEventListener("keydown", step);
  svg.append(handle);
  picture.replaceChildren(svg);
  if (held) { handle.focus(); }
}

function drag(event) {
  if (!front?.points.length) { return; }
  const svg = byId("picture").querySelector("svg"), box = svg.getBoundingClientRect();
  const a = ((event.clientX - box.left) / box.width) * SIZE.width;
  const b = ((event.clientY - box.top) / box.height) * SIZE.height;
  const scale = scales();
  const far = (point) => {
    const [x, y] = scale.place(point.values);
    return (x - a) ** 2 + (y - b) ** 2;
  };
  const point = front.points.reduce((best, each) => (far(each) < far(best) ? each : best));
  if (chosen === null || nearest(chosen) !== point) { choose({ ...point.weights }); }
}

function step(event) {
  const last = front.points.length - 1;
  const by = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, Home: -last, End: last }[event.key];
  if (!by) { return; }
  event.preventDefault();
  const place = front.points.indexOf(nearest(selected())) + by;
  const point = front.points[Math.max(0, Math.min(last, place))];
  choose({ ...point.weights });
}

// ---- arms and decisions ----------------------------------------------------------------------

let sorting = null; // a column, and whether from the largest

function filterArms() {
  const wanted = byId("filter").value.toLowerCase();
  for (const row of document.querySelectorAll("#arms_table tbody tr")) {
    row.hidden = !row.cells[0].textContent.toLowerCase().includes(wanted);
  }
}

function sortArms() {
  for (const head of document.querySelectorAll("#arms_table th")) {
    head.tabIndex = 0;
    head.setAttribute("aria-sort", "none");
  }
  if (!sorting) { return; }
  const body = document.querySelector("#arms_table tbody");
  const number = (row) => parseFloat(row.cells[sorting.column].textContent.replaceAll(",", ""));
  const rows = [...body.rows].sort((a, b) => (sorting.column === 0
    ? a.cells[0].textContent.localeCompare(b.cells[0].textContent)
    : (isNaN(number(a)) - isNaN(number(b))) || number(b) - number(a)));
  body.replaceChildren(...(sorting.down ? rows : rows.reverse()));
  document.querySelectorAll("#arms_table th")[sorting.column]
    .setAttribute("aria-sort", sorting.down ? "descending" : "ascending");
}

function sortBy(event) {
  const head = event.target.closest("#arms_table th");
  if (!head || (event.type === "keydown" && !["Enter", " "].includes(event.key))) { return; }
  event.preventDefault();
  sorting = { column: head.cellIndex, down: !(sorting?.column === head.cellIndex && sorting.down) };
  sortArms();
  filterArms();
}

function makeTable(label, heads, rows) {
  const table = document.createElement("table");
  table.setAttribute("aria-label", label);
  const head = table.createTHead().insertRow(), body = table.createTBody();
  for (const name of heads) {
    const cell = head.appendChild(document.createElement("th"));
    cell.scope = "col";
    cell.textContent = name;
  }
  for (const row of rows) {
    const line = body.insertRow();
    for (const text of row) { line.insertCell().textContent = text; }
  }
  return table;
}

const digits = (value) => (typeof value === "number" ? Number(value.toPrecision(4)) : value ?? "");
const list = (values) => Object.entries(values)
  .map(([name, value]) => `${name} ${digits(value)}`).join(", ");

async function lookUp(event) {
  event.preventDefault();
  const query = `id=${encodeURIComponent(byId("id").value)}`;
  try {
    const { decision, rewards, status } = await ask(`${api}/decision?${query}`);
    const fields = [decision.id, decision.arm, list(decision.estimates), list(rewards) || "none yet",
      list(status)];
    const heads = ["decision", "arm", "expected", "rewards", "status"];
    const shown = [makeTable("Decision", heads, [fields])], why = document.createElement("p");
    shown.push(why);
    try {
      const explanation = await ask(`${api}/explanation?${query}`);
      why.textContent = `${decision.arm}: ${explanation.reason}.`;
      const rows = explanation.rivals.map((rival) => [rival.arm, list(rival.leads), digits(rival.total)]);
      shown.push(makeTable("Other arms", ["instead of", "leads, in units", "weighted"], rows));
    } catch (error) {
      why.textContent = error.message;
    }
    byId("decision").replaceChildren(...shown);
  } catch (error) {
    byId("decision").textContent = error.message;
  }
}

byId("picture").addEventListener("pointerdown", (event) => { // the picture in it is made anew
  byId("picture").setPointerCapture(event.pointerId);
  drag(event);
});
byId("picture").addEventListener("pointermove", (event) => { if (event.buttons) { drag(event); } });
byId("apply").addEventListener("click", apply);
byId("reset").addEventListener("click", reset);
byId("filter").addEventListener("input", filterArms);
byId("arms_table").addEventListener("click", sortBy);
byId("arms_table").addEventListener("keydown", sortBy);
byId("lookup").addEventListener("submit", lookUp);
byId("logout")?.addEventListener("click", async () => {
  await ask("/logout", { method: "POST" });
  location.href = "/login";
});
refresh();
setInterval(() => { if (!document.hidden) { refresh(); } }, REFRESH);
