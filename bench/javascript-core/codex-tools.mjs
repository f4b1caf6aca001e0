import { textsOfHunk } from "./hunks.mjs";

const textContent = (text) => ({ type: "content", content: { type: "text", text } });

const SHELL = /^\/bin\/(?:ba|z)?sh -lc '([\s\S]*)'$/;
const ACTION_KINDS = { read: "read", listFiles: "search", search: "search" };

const commandExecution = {
  begin(item) {
    const command = SHELL.exec(item.command)?.[1] ?? item.command;
    const actions = item.commandActions ?? [];
    const kind = actions.length === 1 ? ACTION_KINDS[actions[0].type] ?? "execute" : "execute";
    return { name: "Bash", title: command, kind, rawInput: { command, cwd: item.cwd } };
  },
  end(item) {
    const output = item.aggregatedOutput ?? "";
    return { content: [textContent(output)], rawOutput: { exitCode: item.exitCode, output } };
  },
};

function diffOf({ path, kind, diff }) {
  if (kind.type === "add") return { type: "diff", path, oldText: null, newText: diff };
  if (kind.type === "delete") return { type: "diff", path, oldText: diff, newText: "" };
  return { type: "diff", path: kind.move_path ?? path, ...textsOfHunk(diff) };
}

const fileChange = {
  begin({ changes }) {
    const types = changes.map(({ kind }) => kind.type);
    const kind = types.every((type) => type === "delete") ? "delete" : "edit";
    const name = types.every((type) => type === "add") ? "Write" : "Edit";
    const paths = changes.map(({ path }) => path);
    return { name, title: `${name} ${paths.join(", ")}`, kind, rawInput: { changes }, locations: paths.map((path) => ({ path })) };
  },
  end: (item) => ({ content: item.changes.map(diffOf) }),
};

function mcpContent(block) {
  if (["text", "image", "audio", "resource", "resource_link"].includes(block.type)) return { type: "content", content: block };
  return textContent(JSON.stringify(block));
}

const mcpToolCall = {
  begin: (item) => ({ name: `mcp__${item.server}__${item.tool}`, title: `${item.server}: ${item.tool}`, kind: "other", rawInput: item.arguments }),
  end(item) {
    if (item.error) return { content: [textContent(item.error.message)], rawOutput: item.error };
    return { content: (item.result?.content ?? []).map(mcpContent), rawOutput: item.result };
  },
  meta: (item) => ({ mcp: { server: item.server, tool: item.tool } }),
};

/** How each kind of tool item becomes the fields of an ACP tool call. */
export const CODEX_TOOLS = { commandExecution, fileChange, mcpToolCall };
