/** The text before and after, as far as a unified hunk tells. */
export function textsOfHunk(hunk) {
  const before = [];
  const after = [];
  for (const line of hunk.split("\n")) {
    if (line.startsWith("@@")) continue;
    const text = line.slice(1);
    if (line.startsWith("-")) before.push(text);
    else if (line.startsWith("+")) after.push(text);
    else if (line.startsWith(" ")) {
      before.push(text);
      after.push(text);
    }
  }
  return { oldText: before.join("\n"), newText: after.join("\n") };
}
