const COMMON = `the of to and a in is it that for on as with be this are by not we can from at so or if an have
which each one when there will then all but its they has use do no more only was must into where same before after what
how first other both would should could because while between until without every since once still already never always
out up over again also than very may now here just like some any most these those our your their them you I
code test file function value error line change call return read write check run build path name type list map key
number string object state queue worker thread process message event result request answer update order batch`
  .split(/\s+/);
const VERBS = `parse read write build load store open close flush merge split render resolve accept reject retry commit
append encode decode compare validate schedule cancel collect reduce replay`.split(/\s+/);
const NOUNS = `Header Body Cursor Journal Batch Session Turn Stream Token Buffer Record Index Cache Lease Checkpoint
Message Prompt Schema Frame Writer Reader Config Path Error Options Handle Registry Snapshot Counter Window`.split(/\s+/);
const LITERAL = ["✓", "café", "世界", "naïve", "→", "“quoted”", "\"key\": null", "C:\\temp", "μs", "🎉"];
const IDENTIFIERS = VERBS.flatMap((verb) => NOUNS.map((noun) => verb + noun));
const ENDS = [". ", ". ", ", ", ": ", "\n", "\n\n", ".\n- ", "; "];

function word(random) {
  if (random.chance(0.06)) return `\`${random.pick(IDENTIFIERS)}\``;
  if (random.chance(0.015)) return random.pick(LITERAL);
  return random.pickSkewed(COMMON);
}

/** What a model streams in one delta: 3 to 12 words. */
export function proseDelta(random) {
  const words = Array.from({ length: random.integer(3, 12) }, () => word(random)).join(" ");
  return words + (random.chance(0.3) ? random.pick(ENDS) : " ");
}

export const identifier = (random) => random.pick(IDENTIFIERS);

export function sourcePath(random) {
  return `src/${random.pick(NOUNS).toLowerCase()}/${random.pick(VERBS)}_${random.pick(NOUNS).toLowerCase()}.rs`;
}
