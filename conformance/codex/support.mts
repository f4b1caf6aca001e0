// Codex in a scene, and what its model says to make it do something.
import type { ExecutionContract, ModelSetting } from "@amalgm/chat-native/execution";
import type { ChatHost } from "@amalgm/chat-native/host";
import { join } from "node:path";
import { agentCommand } from "../install.mjs";
import { startHostProcess, type HostProcess } from "../host-client.mjs";
import { customToolCall, functionCall, type ModelRequest, type OutputItem } from "../server/responses.mjs";
import { converse, openHost, scene, type Conversation, type HostOptions, type Scene } from "../support.mjs";

export const command = await agentCommand("codex");
export const installations = { codex: { default: { command } } };

/** One that calls its tools one by one; newer ones run scripts that call them. */
export const MODEL = "gpt-5.5";

export interface ContractChanges {
  modelId?: string;
  settings?: ModelSetting[];
  auth?: Partial<ExecutionContract["auth"]>;
  permissionMode?: ExecutionContract["permissionMode"];
  toolIds?: string[];
}

export function contract({ project }: Scene, { modelId = MODEL, settings = [], auth, permissionMode = "full_access", toolIds = [] }: ContractChanges = {}): ExecutionContract {
  return {
    agent: { adapterId: "codex", installationId: "default", revisionId: "1" },
    model: { providerId: "openai", modelId, settings },
    auth: { mode: "byok", bindingId: "binding", ...auth },
    tools: { revisionId: null, toolIds },
    cwd: { path: project, workspaceId: null, materializationRevision: null },
    permissionMode,
    computerId: "computer",
  };
}

export const host = (at: Scene, options: HostOptions = {}): Promise<ChatHost> => openHost(at, { installations, ...options });

/** A conversation with Codex in a new scene. */
export async function codex(options: HostOptions = {}, changes: ContractChanges = {}): Promise<Scene & Conversation> {
  const at = await scene();
  return { ...at, ...(await converse(await host(at, options), contract(at, changes))) };
}

export const hostProcess = (at: Scene, changes: ContractChanges = {}, sessionId?: string): Promise<HostProcess> =>
  startHostProcess(at, { contract: contract(at, changes), native: { installations }, ...(sessionId === undefined ? {} : { sessionId }) });

/** The model runs a shell command. */
export const shell = (cmd: string, more: Record<string, unknown> = {}): OutputItem => functionCall("exec_command", { cmd, ...more });

/** The model changes files. */
export const patch = (...lines: string[]): OutputItem => customToolCall("apply_patch", ["*** Begin Patch", ...lines, "*** End Patch", ""].join("\n"));

/** The model calls a tool of an MCP server. */
export const mcp = (server: string, tool: string, args: unknown = {}): OutputItem => functionCall(tool, args, `mcp__${server}`);

/** The MCP server of `mcp-server.mjs`, as a contract selects it. */
export function mcpServer(name: string, env: Array<{ name: string; value: string }> = []) {
  return { name, command: process.execPath, args: [join(import.meta.dirname, "..", "mcp-server.mjs"), name], env };
}

/** What stands in the input of a request under a role. */
export function inputText({ body }: ModelRequest, role: string): string {
  return body.input
    .filter((item) => item.role === role)
    .flatMap((item) => item.content ?? [])
    .map(({ text }) => text ?? "")
    .join("\n");
}

/** What a request tells the model about its tool calls. */
export const toolOutputs = ({ body }: ModelRequest): string =>
  JSON.stringify(body.input.filter(({ type }) => type === "function_call_output" || type === "custom_tool_call_output"));
