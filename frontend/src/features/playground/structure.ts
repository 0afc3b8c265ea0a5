/** Tools and the form of the answer: JSON that is typed, what is wrong with it, what is sent. */

import { fromText } from "@/lib/json-text";
import { problemsOf } from "@/lib/json-schema";

interface Typed {
  tools: string;
  format: string;
}

interface Structure {
  request: { tools?: unknown; response_format?: unknown };
  /** What answers are to fit, where that is known. */
  schema: unknown;
  problems: { tools: string | null; format: string | null };
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null && !Array.isArray(value);
const FORMATS = new Set(["text", "json_object", "json_schema"]);

export function structureOf({ tools, format }: Typed): Structure {
  const given = fromText(tools);
  const wanted = fromText(format);
  const problems = { tools: given.problem ?? toolsProblem(given.value), format: wanted.problem ?? (wanted.value === null || isObject(wanted.value) ? null : "Write a JSON object") };
  const responseFormat = problems.format === null && isObject(wanted.value) ? formatOf(wanted.value) : null;
  return {
    request: {
      ...(problems.tools === null && given.value !== null && { tools: given.value }),
      ...(responseFormat && { response_format: responseFormat }),
    },
    schema: schemaIn(responseFormat),
    problems,
  };
}

function toolsProblem(value: unknown): string | null {
  if (value === null) return null;
  if (!Array.isArray(value)) return "Write a list of tools: [{…}]";
  const nameless = value.findIndex((tool) => !isObject(tool) || !isObject(tool.function) || typeof tool.function.name !== "string");
  return nameless < 0 ? null : `Tool ${nameless + 1} has no function with a name`;
}

/** A schema alone becomes the format that asks for it. */
function formatOf(value: Record<string, unknown>): Record<string, unknown> {
  if (typeof value.type === "string" && FORMATS.has(value.type)) return value;
  return { type: "json_schema", json_schema: { name: "answer", schema: value } };
}

function schemaIn(format: Record<string, unknown> | null): unknown {
  const inside = format?.json_schema;
  return isObject(inside) ? inside.schema : undefined;
}

export interface Read {
  value: unknown;
  /** Empty: it fits, or nothing was asked. */
  problems: string[];
}

/** An answer that was asked for as JSON; null where it is none. */
export function readAnswer(text: string, schema: unknown): Read | null {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== "object" || value === null) return null;
    return { value, problems: schema === undefined ? [] : problemsOf(schema, value) };
  } catch {
    return null;
  }
}
