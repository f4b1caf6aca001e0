export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

const MEASURES = ["wallMs", "cpuMs", "mainThreadBusyMs", "mainThreadCpuMs", "journalBytesPerUpdate"];

/** The median of each measure over the rounds; null where a round could not measure it. */
export function summarize(rounds) {
  const samples = rounds.map((round) => ({ ...round, journalBytesPerUpdate: round.journalBytes / round.seen.updates }));
  const summary = { updates: samples[0].seen.updates };
  for (const measure of MEASURES) {
    const values = samples.map((sample) => sample[measure]);
    summary[measure] = values.includes(null) ? null : median(values);
  }
  return summary;
}

/** How many times as much `baseline` takes as `candidate`. */
export function ratios(baseline, candidate) {
  const ratio = (measure) => (baseline[measure] === null || candidate[measure] === null ? null : baseline[measure] / candidate[measure]);
  return Object.fromEntries(MEASURES.map((measure) => [measure, ratio(measure)]));
}
