/**
 * What a public object keeps to itself. A private member would be part of the declared class and make it nominal; the
 * public classes are structural, so that hosts can stand in for them in their own tests.
 */
export class Hidden<Owner extends object, State> {
  readonly #states = new WeakMap<Owner, State>();

  set(owner: Owner, state: State): void {
    this.#states.set(owner, state);
  }

  get(owner: Owner): State {
    const state = this.#states.get(owner);
    if (state === undefined) throw new TypeError("a method was called on an object that this package did not make");
    return state;
  }

  /** Undefined where the value is no object of the class. */
  find(owner: unknown): State | undefined {
    return this.#states.get(owner as Owner);
  }
}
