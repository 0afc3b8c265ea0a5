/** Values as people type them: JSON where it is an object or a list, plain text otherwise. */

export function toText(value: unknown): string {
  if (value === null || value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}

/** The value that a text spells, null for an empty one; what looks like JSON and is none has a problem. */
export function fromText(text: string): { value: unknown; problem: string | null } {
  const trimmed = text.trim();
  if (trimmed === "") return { value: null, problem: null };
  if (trimmed[0] !== "{" && trimmed[0] !== "[") return { value: text, problem: null };
  try {
    return { value: JSON.parse(trimmed) as unknown, problem: null };
  } catch (error) {
    return { value: text, problem: `Not valid JSON: ${error instanceof Error ? error.message : String(error)}` };
  }
}

/** One line of real text for a table. */
export function toLine(value: unknown): string {
  const text = typeof value === "string" ? value : value === null || value === undefined ? "" : JSON.stringify(value);
  return text.replace(/\s+/g, " ").slice(0, 300);
}
