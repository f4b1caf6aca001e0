const CONTENT = ["agentText", "agentTextHash", "thoughtText", "commandOutput", "toolCalls"];

/** What a variant lost or invented against what the recording says, as sentences; how it divides the content into updates is its own affair. */
export function contentFaults(label, seen, expected) {
  const measured = CONTENT.filter((measure) => seen[measure] !== undefined);
  return measured
    .filter((measure) => seen[measure] !== expected[measure])
    .map((measure) => `${label}: ${measure} is ${seen[measure]}, the recording has ${expected[measure]}`);
}
