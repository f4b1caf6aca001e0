/** A seeded source of choices, so that every machine generates the same recording. */
export function createRandom(seed) {
  let state = seed >>> 0;

  function unit() {
    state = (Math.imul(state, 747796405) + 2891336453) >>> 0;
    let mixed = state ^ (state >>> 15);
    mixed = Math.imul(mixed, 277803737);
    mixed ^= mixed >>> 13;
    return (mixed >>> 0) / 4294967296;
  }

  const integer = (low, high) => low + Math.floor(unit() * (high - low + 1));

  return {
    integer,
    chance: (probability) => unit() < probability,
    pick: (list) => list[Math.floor(unit() * list.length)],
    /** Prefers the front of the list, as language prefers its common words. */
    pickSkewed: (list) => list[Math.floor(unit() ** 2.5 * list.length)],
    hex: (length) => Array.from({ length }, () => integer(0, 15).toString(16)).join(""),
  };
}
