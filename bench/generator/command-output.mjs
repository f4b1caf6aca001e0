import { identifier, sourcePath } from "./prose.mjs";

const LINES = [
  (random) => `test ${identifier(random)}::keeps_${identifier(random)} ... ok`,
  (random) => `   Compiling ${identifier(random).toLowerCase()} v${random.integer(0, 9)}.${random.integer(0, 40)}.${random.integer(0, 9)}`,
  (random) => `${sourcePath(random)}:${random.integer(1, 900)}:    let ${identifier(random)} = "${identifier(random)}"; // ✓`,
  (random) => `-rw-r--r-- 1 user user ${random.integer(200, 90000)} Nov 30 18:${random.integer(10, 59)} ${sourcePath(random)}`,
  (random) => `\t\u001b[33mwarning\u001b[0m: unused variable \`${identifier(random)}\``,
  (random) => `[${random.hex(8)}] ${identifier(random)}(${random.integer(0, 5000)}) -> {"id":"${random.hex(12)}","ok":true}`,
];

export const outputLine = (random) => random.pick(LINES)(random) + "\n";

/** One read of a pipe: 40 to 400 bytes, cut anywhere in a line. */
export function outputDelta(random) {
  const size = random.integer(40, 400);
  let text = "";
  while (Buffer.byteLength(text) < size) text += outputLine(random);
  while (Buffer.byteLength(text) > size) text = text.slice(0, -1);
  return text;
}
