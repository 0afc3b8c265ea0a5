/** Values of variables out of a row: its fields by name, and for a single variable the row as a whole. */
export function valuesOf(input: unknown, names: readonly string[]): Record<string, string> {
  if (typeof input === "object" && input !== null && !Array.isArray(input)) {
    const fields = input as Record<string, unknown>;
    const found = names.filter((name) => fields[name] !== undefined && fields[name] !== null);
    if (found.length > 0) return Object.fromEntries(found.map((name) => [name, textOf(fields[name])]));
  }
  return names.length === 1 && input !== null && input !== undefined ? { [names[0]!]: textOf(input) } : {};
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value, null, 2));
