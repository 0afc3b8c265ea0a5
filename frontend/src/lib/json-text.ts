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

/** One line of real text for a table: of an object its fields, without quotes and braces. */
export function toLine(value: unknown): string {
  const text = isFlat(value) ? Object.entries(value).map(([name, field]) => `${name}: ${String(field)}`).join(" · ") : toText(value);
  return text.replace(/\s+/g, " ").slice(0, 300);
}

/** As text where it is read whole: of an object of plain fields one line each. */
export const toReading = (value: unknown): string =>
  isFlat(value) ? Object.entries(value).map(([name, field]) => `${name}: ${String(field)}`).join("\n") : toText(value);

const isFlat = (value: unknown): value is Record<string, string | number | boolean | null> =>
  typeof value === "object" && value !== null && !Array.isArray(value) && Object.values(value).every((field) => typeof field !== "object" || field === null);

/** The value that a text is in JSON; undefined where it is none. */
export function valueIn(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
