/** Code that people copy: it must run as it stands. */

export interface CallToCopy {
  baseUrl: string;
  model: string;
  messages: Record<string, unknown>[];
  parameters: Record<string, unknown>;
}

const shellQuoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

export function asCurl({ baseUrl, model, messages, parameters }: CallToCopy): string {
  const body = JSON.stringify({ model, messages, ...parameters }, null, 2);
  return [
    `curl ${baseUrl}/v1/chat/completions \\`,
    `  -H "Authorization: Bearer $HONE_SECRET_KEY" \\`,
    `  -H "Content-Type: application/json" \\`,
    `  -d ${shellQuoted(body)}`,
  ].join("\n");
}

/** JSON as Python source. */
function python(value: unknown, indent: string): string {
  if (value === null || value === undefined) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value !== "object") return JSON.stringify(value);
  const inner = `${indent}    `;
  const items = Array.isArray(value)
    ? value.map((item) => python(item, inner))
    : Object.entries(value).map(([key, item]) => `${JSON.stringify(key)}: ${python(item, inner)}`);
  const [open, close] = Array.isArray(value) ? "[]" : "{}";
  if (items.length === 0) return `${open}${close}`;
  return `${open}\n${items.map((item) => `${inner}${item},\n`).join("")}${indent}${close}`;
}

export function asPython({ baseUrl, model, messages, parameters }: CallToCopy): string {
  const known = Object.entries(parameters).filter(([name]) => OPENAI_ARGUMENTS.has(name));
  const extra = Object.fromEntries(Object.entries(parameters).filter(([name]) => !OPENAI_ARGUMENTS.has(name)));
  return [
    "import os",
    "",
    "from openai import OpenAI",
    "",
    `client = OpenAI(base_url="${baseUrl}/v1", api_key=os.environ["HONE_SECRET_KEY"])`,
    "answer = client.chat.completions.create(",
    `    model=${python(model, "    ")},`,
    `    messages=${python(messages, "    ")},`,
    ...known.map(([name, value]) => `    ${name}=${python(value, "    ")},`),
    ...(Object.keys(extra).length > 0 ? [`    extra_body=${python(extra, "    ")},`] : []),
    ")",
    "print(answer.choices[0].message.content)",
  ].join("\n");
}

const OPENAI_ARGUMENTS = new Set(
  "temperature top_p max_tokens n stop seed presence_penalty frequency_penalty logprobs top_logprobs user tools tool_choice response_format".split(" "),
);

/** The three lines that bring a first trace. */
export function firstCall(baseUrl: string, model: string, key: string): string {
  return [
    "from openai import OpenAI",
    `client = OpenAI(base_url="${baseUrl}/v1", api_key="${key}")`,
    `print(client.chat.completions.create(model="${model}", messages=[{"role": "user", "content": "Hi"}]))`,
  ].join("\n");
}
