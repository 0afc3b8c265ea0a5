/** Code that calls a stored prompt through the gateway: it must run as it stands. */

export interface StoredCall {
  baseUrl: string;
  model: string;
  /** "name@label" or "name@3". */
  prompt: string;
  variables: Record<string, string>;
}

export type Language = "python" | "javascript" | "curl";

export const LANGUAGES: { value: Language; label: string }[] = [
  { value: "python", label: "Python" },
  { value: "javascript", label: "JavaScript" },
  { value: "curl", label: "curl" },
];

const json = (value: unknown, indent: string): string => JSON.stringify(value, null, 4).replaceAll("\n", `\n${indent}`);

function python({ baseUrl, model, prompt, variables }: StoredCall): string {
  return `import os

from openai import OpenAI

client = OpenAI(
    base_url="${baseUrl}/v1",
    api_key=os.environ["HONE_SECRET_KEY"],
)
answer = client.chat.completions.create(
    model=${JSON.stringify(model)},
    messages=[],
    extra_body={
        "prompt": ${JSON.stringify(prompt)},
        "variables": ${json(variables, "        ")},
    },
)
print(answer.choices[0].message.content)`;
}

function javascript({ baseUrl, model, prompt, variables }: StoredCall): string {
  return `import OpenAI from "openai";

const client = new OpenAI({
    baseURL: "${baseUrl}/v1",
    apiKey: process.env.HONE_SECRET_KEY,
});
const answer = await client.chat.completions.create({
    model: ${JSON.stringify(model)},
    messages: [],
    prompt: ${JSON.stringify(prompt)},
    variables: ${json(variables, "    ")},
});
console.log(answer.choices[0].message.content);`;
}

function curl({ baseUrl, model, prompt, variables }: StoredCall): string {
  const body = JSON.stringify({ model, prompt, variables, messages: [] }, null, 2).replaceAll("'", `'\\''`);
  return `curl ${baseUrl}/v1/chat/completions \\
  -H "Authorization: Bearer $HONE_SECRET_KEY" \\
  -H "Content-Type: application/json" \\
  -d '${body}'`;
}

export function codeFor(language: Language, call: StoredCall): string {
  return { python, javascript, curl }[language](call);
}
