import { checkBoolean, checkCount, checkMembers, checkRecord, checkText, optional } from "./checks.js";
import type { ListOptions } from "./conversations.js";

export function checkListOptions(value: unknown): ListOptions {
  if (value === undefined) return {};
  const options = checkRecord(value, "options");
  checkMembers(options, "", ["includeArchived", "limit", "cursor"]);
  return {
    includeArchived: optional(options.includeArchived, (given) => checkBoolean(given, "includeArchived")),
    limit: optional(options.limit, (given) => checkCount(given, "limit", 1)),
    cursor: optional(options.cursor, (given) => (given === null ? null : checkText(given, "cursor"))),
  };
}
