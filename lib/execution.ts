import type { McpServer, SetSessionConfigOptionRequest } from "./sdk.js";
import { checkRecord, invalidContract, toJson } from "./checks.js";
import { lifted } from "./errors.js";
import { binding } from "./native.js";

export { ExecutionError } from "./errors.js";
export type { McpServer };

/** One ACP config option choice: `{ configId, value }` or `{ configId, type: "boolean", value }`. */
export type ModelSetting = DistributiveOmit<SetSessionConfigOptionRequest, "sessionId">;
type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;

export type AuthMode = "platform" | "subscription" | "byok";
export type PermissionMode = "ask" | "full_access";
export type AdapterId = "claude_code" | "codex" | "cursor" | "opencode" | "pi" | "acp" | "replay";

/** All that decides how a turn runs. Chosen whole: what an agent cannot apply is refused, never left out. */
export interface ExecutionContract {
  agent: { adapterId: string; installationId: string; revisionId: string };
  model: { providerId: string; modelId: string; settings: ModelSetting[] };
  auth: { mode: AuthMode; bindingId: string };
  tools: { revisionId: string | null; toolIds: string[] };
  /** `path` is absolute. */
  cwd: { path: string; workspaceId: string | null; materializationRevision: string | null };
  permissionMode: PermissionMode;
  computerId: string;
}

/**
 * A prepared contract. `revision` is a hash of the contract in canonical JSON: equal contracts have equal revisions, on
 * every host. Further members of a caller's object are ignored.
 */
export interface ExecutionHandle {
  id: string;
  revision: string;
}

/**
 * - `INVALID_EXECUTION_CONTRACT`: a field is missing or malformed; `path` names it.
 * - `EXECUTION_NOT_PREPARED`: the handle's id was never prepared on this host.
 * - `EXECUTION_REVISION_MISMATCH`: the id was prepared again with another contract.
 * - `UNSUPPORTED_EXECUTION_INPUT`: the agent cannot apply a part of the contract; `path` names it.
 */
export type ExecutionErrorCode =
  | "INVALID_EXECUTION_CONTRACT"
  | "EXECUTION_NOT_PREPARED"
  | "EXECUTION_REVISION_MISMATCH"
  | "UNSUPPORTED_EXECUTION_INPUT";

/** @internal */
export function contractJson(contract: unknown): string {
  return toJson(checkRecord(contract, "contract", invalidContract), "", invalidContract);
}

/**
 * Checks a contract, and gives it with its members in a fixed order.
 *
 * @throws {@link ExecutionError} INVALID_EXECUTION_CONTRACT with the `path` of the first field that is missing,
 * malformed or unknown (no selected input may disappear)
 */
export function normalizeExecutionContract(value: unknown): ExecutionContract {
  const json = contractJson(value);
  const native = binding();
  return JSON.parse(lifted(() => native.normalizeExecutionContract(json))) as ExecutionContract;
}

/**
 * The revision that a handle of this contract carries.
 *
 * @throws {@link ExecutionError} INVALID_EXECUTION_CONTRACT, as {@link normalizeExecutionContract}
 */
export function executionRevision(contract: ExecutionContract): string {
  const json = contractJson(contract);
  const native = binding();
  return lifted(() => native.executionRevision(json));
}
