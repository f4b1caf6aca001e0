/** What a host does with a turn: it reads every update and counts. With `onAgentText` it also hands on the answer's text. */
export async function consume(stream, onAgentText) {
  const seen = { updates: 0, kinds: {}, agentText: 0, thoughtText: 0, commandOutput: 0 };
  const ended = new Set();
  for await (const update of stream) {
    seen.updates += 1;
    seen.kinds[update.sessionUpdate] = (seen.kinds[update.sessionUpdate] ?? 0) + 1;
    switch (update.sessionUpdate) {
      case "agent_message_chunk":
        seen.agentText += update.content.text.length;
        onAgentText?.(update.content.text);
        break;
      case "agent_thought_chunk":
        seen.thoughtText += update.content.text.length;
        break;
      case "tool_call_update":
        if (update.status === "completed" || update.status === "failed") ended.add(update.toolCallId);
        else seen.commandOutput += update._meta.amalgm.delta?.output?.length ?? 0;
        break;
    }
  }
  return { ...seen, toolCalls: ended.size };
}
