/** JSON text of a message, whatever it is: what JSON cannot hold is told as a text, so that it is counted and not thrown. */
export function messageText(message: unknown): string {
  try {
    const text = JSON.stringify(message, wellFormed) as string | undefined;
    if (text !== undefined) return text;
  } catch {
    // A cycle, a BigInt, or a `toJSON` that throws.
  }
  return JSON.stringify(Object.prototype.toString.call(message));
}

// Half a surrogate pair has no UTF-8.
const wellFormed = (_: string, value: unknown): unknown => (typeof value === "string" ? value.toWellFormed() : value);
