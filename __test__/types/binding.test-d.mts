// The facade's own idea of the addon against the types that the addon's build generates.
import type * as generated from "../../index.js";
import type { NativeBinding, NativeSubscription } from "../../lib/native.js";

declare const addon: typeof generated;
declare const subscription: generated.NativeSubscription;
const binding: NativeBinding = addon;
const batches: NativeSubscription = subscription;

export { batches, binding };
