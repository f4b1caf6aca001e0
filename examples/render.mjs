import { extensionOf } from "@amalgm/chat-native/acp";

const styles = { dim: 2, bold: 1, green: 32, red: 31, yellow: 33, cyan: 36 };

export function style(name, text) {
  return process.stdout.isTTY ? `\u001b[${styles[name]}m${text}\u001b[0m` : text;
}

/** Prints a turn as its updates arrive. */
export class Renderer {
  #tools = new Map();
  #open = null;

  show(update) {
    const extension = extensionOf(update);
    if (extension?.sessionUpdate === "usage_step") return this.#line(`  tokens    ${tokens(extension.step)}`);
    switch (update.sessionUpdate) {
      case "agent_message_chunk":
        return this.#append("answer", textOf(update.content));
      case "agent_thought_chunk":
        return this.#append("thinking", style("dim", textOf(update.content)));
      case "tool_call":
      case "tool_call_update":
        return this.#tool(update);
      case "plan":
        return this.#line(`  plan      ${update.entries.map(({ content, status }) => `${content} (${status})`).join("; ")}`);
      case "usage_update":
        return this.#line(`  context   ${number(update.used)} of ${number(update.size)} tokens`);
      case "notice":
        return this.#line(`  notice    ${style("dim", firstLine(update.title, 100))}`);
    }
  }

  end() {
    if (this.#open !== null) process.stdout.write("\n");
    this.#open = null;
  }

  /** Text of one kind goes on in its line; another kind begins a new one. */
  #append(kind, text) {
    if (this.#open !== kind) {
      this.end();
      process.stdout.write(`  ${kind.padEnd(9)} `);
      this.#open = kind;
    }
    process.stdout.write(text.replaceAll("\n", `\n${" ".repeat(12)}`));
  }

  #tool(update) {
    const tool = { ...this.#tools.get(update.toolCallId) };
    const before = tool.status;
    for (const field of ["title", "status", "kind"]) tool[field] = update[field] ?? tool[field];
    this.#tools.set(update.toolCallId, tool);

    const output = update._meta.amalgm.delta?.output;
    if (output) this.#append("output", style("dim", output.trimEnd()));
    if (tool.status === before) return;
    const result = tool.status === "completed" || tool.status === "failed" ? resultOf(update) : "";
    this.#line(`  tool      ${style("cyan", tool.title ?? update.toolCallId)} ${statusWord(tool.status)}${result && `: ${firstLine(result, 60)}`}`);
  }

  #line(text) {
    this.end();
    console.log(text);
  }
}

/** The text that a tool gave back. */
function resultOf(update) {
  return (update.content ?? []).map((part) => (part.type === "content" ? textOf(part.content) : part.type)).join(" ");
}

function firstLine(text, length) {
  const [line] = text.split("\n");
  return line.length > length ? `${line.slice(0, length - 1)}…` : line;
}

function statusWord(status) {
  const color = { completed: "green", failed: "red" }[status] ?? "yellow";
  return style(color, status);
}

function textOf(block) {
  return block.type === "text" ? block.text : `[${block.type}]`;
}

const number = (count) => (count === null || count === undefined ? "unknown" : count.toLocaleString("en"));

/** A count that nobody reported is unknown, not 0. */
export function tokens({ inputTokens, cacheReadTokens, cacheWriteTokens, outputTokens, reasoningTokens }) {
  return (
    `input ${number(inputTokens)}, cache read ${number(cacheReadTokens)}, cache write ${number(cacheWriteTokens)}, ` +
    `output ${number(outputTokens)} (of it reasoning ${number(reasoningTokens)})`
  );
}
