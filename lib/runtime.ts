import { join, resolve as resolvePath } from "node:path";
import { checkCount, checkFunction, checkMembers, checkRecord, checkStrings, checkText, expected, invalidOption, isRecord, optional, toJson } from "./checks.js";
import { lifted, settle } from "./errors.js";
import type { ExecutionContract } from "./execution.js";
import { Hidden } from "./hidden.js";
import { hostEnvironment, recordingFolder } from "./host-environment.js";
import type { NativeRuntimeOptions } from "./host.js";
import { binding, type NativeRuntime, type OnRequest } from "./native.js";
import { requestListener } from "./request-callbacks.js";

/** @internal */
export interface RuntimeState {
  native: NativeRuntime;
  resolve: NativeRuntimeOptions["resolve"] | undefined;
  onRequest: OnRequest | null;
}

const runtimes = new Hidden<NativeChatRuntime, RuntimeState>();

/** @internal What `Chat` hands to the core; undefined where the value is no runtime of this class. */
export const nativeRuntime = (value: unknown): RuntimeState | undefined => runtimes.find(value);

/** Drives the agents, in Rust. One runtime may serve several `Chat`s. */
export class NativeChatRuntime {
  /** @throws {@link ChatOptionsError} INVALID_OPTIONS; `path` names the member */
  constructor(options: NativeRuntimeOptions = {}) {
    const { resolve, onPermissionRequest, onElicitationRequest, record, ...passed } = checkRuntimeOptions(options, "");
    const ours = { record: recordingFolder(record), hostEnv: hostEnvironment(), bundledRecordings: join(__dirname, "recordings") };
    const json = toJson({ ...passed, ...ours }, "", invalidOption);
    const { NativeRuntime } = binding();
    const onRequest = requestListener({ onPermissionRequest, onElicitationRequest });
    runtimes.set(this, { native: lifted(() => new NativeRuntime(json)), resolve, onRequest });
  }

  /** Ends the agents: politely, then by force. */
  async close(): Promise<void> {
    await settle(() => runtimes.get(this).native.close());
  }
}

const OPTIONS = [
  "resolve",
  "installations",
  "idleTimeoutMs",
  "stateDir",
  "replayDirs",
  "inheritEnv",
  "startLimitMs",
  "requestLimitMs",
  "idleLimitMs",
  "retryLimitMs",
  "record",
  "onPermissionRequest",
  "onElicitationRequest",
];

/** @internal `prefix` is where the caller's options stand, such as `native`. */
export function checkRuntimeOptions(value: unknown, prefix: string): NativeRuntimeOptions {
  const options = checkRecord(value, prefix === "" ? "options" : prefix);
  const at = (name: string): string => (prefix === "" ? name : `${prefix}.${name}`);
  checkMembers(options, prefix, OPTIONS);

  const milliseconds = (name: string): number | undefined => optional(options[name], (given) => checkCount(given, at(name), 1));
  const texts = (name: string): string[] | undefined => optional(options[name], (given) => checkStrings(given, at(name)));
  const callback = <Name extends keyof NativeRuntimeOptions>(name: Name): NativeRuntimeOptions[Name] =>
    optional(options[name], (given) => checkFunction<NativeRuntimeOptions[Name]>(given, at(name)));
  return {
    resolve: callback("resolve"),
    installations: optional(options.installations, (given) => checkInstallations(given, at("installations"))),
    idleTimeoutMs: milliseconds("idleTimeoutMs"),
    stateDir: optional(options.stateDir, (given) => resolvePath(checkText(given, at("stateDir")))),
    replayDirs: texts("replayDirs")?.map((folder) => resolvePath(folder)),
    inheritEnv: texts("inheritEnv"),
    startLimitMs: milliseconds("startLimitMs"),
    requestLimitMs: milliseconds("requestLimitMs"),
    idleLimitMs: milliseconds("idleLimitMs"),
    retryLimitMs: milliseconds("retryLimitMs"),
    record: optional(options.record, (given) => checkRecording(given, at("record"))),
    onPermissionRequest: callback("onPermissionRequest"),
    onElicitationRequest: callback("onElicitationRequest"),
  };
}

function checkRecording(value: unknown, path: string): NativeRuntimeOptions["record"] {
  if (typeof value === "boolean") return value;
  if (!isRecord(value)) throw invalidOption(path, expected("a boolean or an object", value));
  checkMembers(value, path, ["dir"]);
  return { dir: checkText(value.dir, `${path}.dir`) };
}

function checkInstallations(value: unknown, path: string): NativeRuntimeOptions["installations"] {
  for (const [adapter, installations] of Object.entries(checkRecord(value, path))) {
    for (const [id, entry] of Object.entries(checkRecord(installations, `${path}.${adapter}`))) {
      checkInstallation(entry, `${path}.${adapter}.${id}`);
    }
  }
  return value as NativeRuntimeOptions["installations"];
}

function checkInstallation(value: unknown, path: string): void {
  const installation = checkRecord(value, path);
  checkMembers(installation, path, ["command", "args", "env"]);
  checkText(installation.command, `${path}.command`);
  optional(installation.args, (given) => checkStrings(given, `${path}.args`));
  optional(installation.env, (given) => checkStrings(Object.values(checkRecord(given, `${path}.env`)), `${path}.env`));
}

const RESOLVED = ["credential", "env", "mcpServers", "instructions", "acpLaunch", "command", "args"];

/**
 * @internal Asks the host what the contract stands for, as JSON text; null where the runtime has no `resolve`. What the
 * host throws passes through as it is.
 */
export async function resolveExecution(resolve: NativeRuntimeOptions["resolve"], contract: ExecutionContract): Promise<string | null> {
  if (resolve === undefined) return null;
  const answer = "native.resolve()";
  const resolved = checkRecord(await resolve(contract), answer);
  checkMembers(resolved, answer, RESOLVED);
  return toJson(resolved, answer, invalidOption);
}
