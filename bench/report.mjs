const AIMS = { wallMs: 5, mainThreadBusyMs: 10 };

const ROWS = [
  ["wall time", "wallMs"],
  ["total CPU", "cpuMs"],
  ["main thread busy", "mainThreadBusyMs"],
  ["main thread CPU", "mainThreadCpuMs"],
];

const number = (value, digits = 0) => value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
const time = (milliseconds, updates) => (milliseconds === null ? "-" : `${number(milliseconds)} ms (${number((milliseconds * 1000) / updates, 1)} µs)`);
const factor = (ratio) => (ratio === null || ratio === undefined ? "-" : `${number(ratio, 1)}x`);
const aim = (measure, ratio) => (AIMS[measure] && ratio ? `  aim ${AIMS[measure]}x: ${ratio >= AIMS[measure] ? "reached" : "missed"}` : "");

function table(variants, summaries, ratio) {
  const cells = (label, cell) => [label, ...variants.map(({ id }) => cell(summaries[id]))];
  const rows = [
    ["", ...variants.map(({ label }) => label), ...(ratio ? ["ratio"] : [])],
    cells("updates iterated", ({ updates }) => number(updates)),
  ];
  for (const [label, measure] of ROWS) {
    const row = cells(label, (summary) => time(summary[measure], summary.updates));
    rows.push(ratio ? [...row, factor(ratio[measure]) + aim(measure, ratio[measure])] : row);
  }
  const bytes = cells("journal per update", (summary) => `${number(summary.journalBytesPerUpdate)} bytes`);
  rows.push(ratio ? [...bytes, factor(ratio.journalBytesPerUpdate)] : bytes);
  return rows;
}

function aligned(rows) {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const last = widths.length - 1;
  return rows.map((row) => row.map((cell, column) => (column === 0 || column === last ? cell.padEnd(widths[column]) : cell.padStart(widths[column]))).join("   ").trimEnd());
}

export function report({ workloads, variants, rounds }) {
  const lines = [];
  for (const { name, recording, summaries, ratio } of workloads) {
    const of = `${number(recording.expected.updates)} content updates, recording of ${number(recording.bytes / 1e6)} MB, median of ${rounds}`;
    lines.push("", `${name}: ${of} (in brackets: for each update)`, ...aligned(table(variants, summaries, ratio)).map((line) => `  ${line}`));
  }
  lines.push("", "The ratio says how many times as much the JavaScript core takes as this package.");
  return lines.join("\n");
}
