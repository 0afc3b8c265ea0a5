/** What a version declares of its variables. */

export const TYPES = ["text", "number", "boolean", "list", "object", "messages"] as const;
export type VariableType = (typeof TYPES)[number];

export interface Declaration {
  type: VariableType;
  example?: unknown;
  description?: string;
}

export type Inputs = Record<string, Declaration>;

/** The declared names; null where nothing is declared, so that nothing is marked as missing. */
export function declaredIn(inputs: Inputs | undefined): ReadonlySet<string> | null {
  const names = Object.keys(inputs ?? {});
  return names.length === 0 ? null : new Set(names);
}

/** An example as it stands in a field: texts as they are, all else as JSON. */
export const exampleText = (example: unknown): string => (example === undefined || example === null ? "" : typeof example === "string" ? example : JSON.stringify(example));

/** What was typed, as the declared type; null where it is none. */
export function parsedExample(type: VariableType, text: string): { value: unknown } | null {
  if (text === "") return { value: undefined };
  if (type === "text") return { value: text };
  if (type === "number") return Number.isFinite(Number(text)) ? { value: Number(text) } : null;
  try {
    const value: unknown = JSON.parse(text);
    return FITS[type](value) ? { value } : null;
  } catch {
    return null;
  }
}

const FITS: Record<Exclude<VariableType, "text" | "number">, (value: unknown) => boolean> = {
  boolean: (value) => typeof value === "boolean",
  list: Array.isArray,
  messages: (value) => Array.isArray(value) && value.every((item) => typeof item === "object" && item !== null),
  object: (value) => typeof value === "object" && value !== null && !Array.isArray(value),
};

/** The declarations with one changed; what says nothing is left out. */
export function withDeclared(inputs: Inputs, name: string, declaration: Declaration): Inputs {
  const { type, example, description } = declaration;
  const rest = Object.fromEntries(Object.entries(inputs).filter(([key]) => key !== name));
  if (type === "text" && example === undefined && !description) return rest;
  return { ...rest, [name]: { type, ...(example !== undefined && { example }), ...(description && { description }) } };
}
