/** What a prompt's config holds besides the model: known parameters with their bounds, and anything else as JSON. */

export type Config = Record<string, unknown>;

interface Parameter {
  kind: "number" | "integer" | "text-list";
  min?: number;
  max?: number;
  hint: string;
}

export const PARAMETERS: Record<string, Parameter> = {
  temperature: { kind: "number", min: 0, max: 2, hint: "0 always takes the likeliest token; higher is more varied" },
  max_tokens: { kind: "integer", min: 1, hint: "The most tokens of the answer" },
  top_p: { kind: "number", min: 0, max: 1, hint: "Only the likeliest tokens that make up this share" },
  top_k: { kind: "integer", min: 0, hint: "Only this many likeliest tokens; 0 is all" },
  min_p: { kind: "number", min: 0, max: 1, hint: "Only tokens at least this share as likely as the likeliest" },
  repetition_penalty: { kind: "number", min: 0, hint: "Above 1 makes repeated tokens less likely" },
  presence_penalty: { kind: "number", min: -2, max: 2, hint: "Lowers tokens that occurred at all" },
  frequency_penalty: { kind: "number", min: -2, max: 2, hint: "Lowers tokens by how often they occurred" },
  seed: { kind: "integer", hint: "The same seed gives the same answer" },
  stop: { kind: "text-list", hint: "The answer ends before any of these, separated by |" },
};

/** A value as it stands in its field. */
export function fieldText(name: string, value: unknown): string {
  if (typeof value === "string") return value;
  if (PARAMETERS[name]?.kind === "text-list" && Array.isArray(value)) return value.map(escaped).join(" | ");
  return JSON.stringify(value);
}

const escaped = (text: unknown): string => String(text).replaceAll("\n", "\\n");

/** What is sent: numbers out of the fields' text, lists out of "a | b"; raises where `problemOf` would tell. */
export function normalized(config: Config): Config {
  const entries = Object.entries(config).filter(([, value]) => value !== "" && value !== undefined);
  return Object.fromEntries(entries.map(([name, value]) => [name, parsed(name, value)]));
}

function parsed(name: string, value: unknown): unknown {
  const parameter = PARAMETERS[name];
  if (!parameter || typeof value !== "string") return value;
  if (parameter.kind === "text-list") {
    const parts = value.split("|").map((part) => part.trim().replaceAll("\\n", "\n"));
    return parts.filter((part) => part !== "");
  }
  return Number.isNaN(Number(value)) ? value : Number(value);
}

/** What is wrong with a parameter, in the reader's words, or null. */
export function problemOf(name: string, value: unknown): string | null {
  const parameter = PARAMETERS[name];
  if (!parameter || parameter.kind === "text-list" || value === "") return null;
  const number = typeof value === "string" ? Number(value) : value;
  return fits(parameter, number) ? null : `Wanted ${wanted(parameter)}`;
}

function fits({ kind, min = -Infinity, max = Infinity }: Parameter, value: unknown): boolean {
  return typeof value === "number" && value >= min && value <= max && (kind === "number" || Number.isInteger(value));
}

function wanted({ kind, min, max }: Parameter): string {
  const what = kind === "integer" ? "a whole number" : "a number";
  if (min !== undefined && max !== undefined) return `${what} from ${min} to ${max}`;
  return min === undefined ? what : `${what}, ${min} or more`;
}

export const problemsOf = (config: Config): string[] =>
  Object.entries(config).flatMap(([name, value]) => {
    const problem = problemOf(name, value);
    return problem ? [`${name}: ${problem.toLowerCase()}`] : [];
  });

/** A config typed as JSON; raises an Error that says what was wanted. */
export function parseConfig(text: string): Config {
  let value: unknown;
  try {
    value = JSON.parse(text.trim() || "{}");
  } catch (cause) {
    throw new Error(`This is not JSON yet: ${(cause as Error).message}`, { cause });
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new Error('Wanted an object such as {"temperature": 0.2}');
  }
  return value as Config;
}
