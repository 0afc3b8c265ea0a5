/** What is being tried, and how it becomes a request. */

import type { Message, Observation, PromptVersion } from "@/lib/api/types";
import { sentMessages } from "@/lib/call";
import { plainMessages } from "@/lib/conversation";
import { toText } from "@/lib/json-text";
import { limitIn, MOST_TOKENS, PARAMETERS } from "@/lib/parameters";
import { messagesOf, render, variablesIn } from "@/lib/template";
import { valuesOfMessages } from "@/lib/template-values";

import { structureOf } from "./structure";

export interface DraftMessage extends Message {
  key: number;
  /** What else was sent with it: tool calls, the id of the call that it answers. */
  rest?: Record<string, unknown>;
}

export interface PromptSource {
  name: string;
  version: number;
  type: "text" | "chat";
  messages: Message[];
}

/** Who answers: a model with its parameters. Several answer side by side. */
export interface Column {
  key: number;
  model: string | null; // the project's first model
  parameters: Record<string, string>; // as typed
  /** Another version of the prompt; null: what stands in the editor. */
  version: number | null;
}

export interface Draft {
  messages: DraftMessage[];
  variables: Record<string, string>;
  columns: Column[];
  source: PromptSource | null;
  /** JSON as typed: a list of tools, and a response format or the schema alone. */
  tools: string;
  format: string;
}

export { PARAMETERS };

const KNOWN = new Set<string>(PARAMETERS.map((p) => p.name));

let nextKey = 1;
export const keyed = ({ role, content, rest }: Omit<DraftMessage, "key">): DraftMessage => ({ role, content, key: nextKey++, ...(rest && { rest }) });

export const blank = (): Draft => ({
  messages: [keyed({ role: "system", content: "You are a helpful assistant." }), keyed({ role: "user", content: "" })],
  variables: {},
  columns: [column(null, {})],
  source: null,
  tools: "",
  format: "",
});

export const column = (model: string | null, parameters: Record<string, string>, version: number | null = null): Column => ({ key: nextKey++, model, parameters, version });

function parametersOf(config: Record<string, unknown> | null): Record<string, string> {
  const entries = Object.entries(config ?? {}).filter(([name, value]) => KNOWN.has(name) && value !== null);
  return Object.fromEntries(entries.map(([name, value]) => [name, String(value)]));
}

export function fromVersion(name: string, version: PromptVersion): Draft {
  const messages = messagesOf(version.prompt);
  return {
    messages: messages.map(keyed),
    variables: {},
    columns: [column(typeof version.config.model === "string" ? version.config.model : null, parametersOf(version.config))],
    source: { name, version: version.version, type: version.type, messages },
    tools: toText(version.config.tools),
    format: toText(version.config.response_format),
  };
}

/** A past call opens as it was sent; its variables are already filled in. */
export function fromObservation(observation: Observation): Draft {
  const given = observation.model_parameters;
  return {
    messages: sentIn(observation.input),
    variables: {},
    columns: [column(observation.model, parametersOf(given))],
    source: null,
    tools: toText(given?.tools),
    format: toText(given?.response_format),
  };
}

/** A past call of a prompt's version opens as that version with the values it was made with, where they can be read. */
export function fromCall(observation: Observation, versions: readonly PromptVersion[]): Draft {
  const sent = fromObservation(observation);
  const used = observation.prompt;
  const version = used && versions.find((one) => String(one.version) === String(used.version));
  const values = version && valuesOfMessages(messagesOf(version.prompt), sent.messages);
  if (!values) return sent;
  const prompt = fromVersion(used.name, version);
  const { columns, tools, format } = sent;
  return { ...prompt, columns, tools, format, variables: values, messages: [...prompt.messages, ...sent.messages.slice(prompt.messages.length)] };
}

export function sentIn(input: unknown): DraftMessage[] {
  const messages = plainMessages(input) ?? [{ role: "user", content: JSON.stringify(input, null, 2) }];
  const sent = sentMessages(input);
  return messages.map((message, index) => {
    const rest = Object.fromEntries(Object.entries(sent?.[index] ?? {}).filter(([name]) => name !== "role" && name !== "content"));
    return keyed({ ...message, ...(Object.keys(rest).length > 0 && { rest }) });
  });
}

/** The messages of a version that a column asks for by its number. */
export function messagesIn(versions: readonly PromptVersion[], wanted: number | null): Message[] | undefined {
  const found = wanted === null ? undefined : versions.find(({ version }) => version === wanted);
  return found && messagesOf(found.prompt);
}

export const plain = (messages: readonly Message[]): Message[] => messages.map(({ role, content }) => ({ role, content }));

/** Whether the messages still are those of the prompt's version. */
export function isPrompt(draft: Draft): draft is Draft & { source: PromptSource } {
  return draft.source !== null && JSON.stringify(plain(draft.messages)) === JSON.stringify(plain(draft.source.messages));
}

export function missingVariables(messages: readonly Message[], given: Record<string, string>): string[] {
  return variablesIn(messages).filter((name) => given[name] === undefined);
}

export function numbersOf(parameters: Record<string, string>): Record<string, number> {
  const entries = Object.entries(parameters).filter(([, text]) => text.trim() !== "");
  return Object.fromEntries(entries.map(([name, text]) => [name, Number(text)]));
}

/** The version that a column's request names; null: it sends the messages as they stand in the editor. */
const namedIn = (draft: Draft, version: number | null): number | null => (draft.source === null ? null : (version ?? (isPrompt(draft) ? draft.source.version : null)));

/** The limit that is in force while none is typed: the prompt's, which the server knows, or the playground's own. */
export function limitOf(draft: Draft, version: number | null, versions: readonly PromptVersion[]): { tokens: number; isOwn: boolean } {
  const named = namedIn(draft, version);
  const config = named === null ? undefined : versions.find((one) => one.version === named)?.config;
  const set = config ? limitIn(config) : null;
  return { tokens: set ?? MOST_TOKENS, isOwn: set === null };
}

/** An unchanged prompt is named, so that its trace counts for that version; anything else is sent as messages. */
export function requestOf(draft: Draft, model: string, { parameters, version }: Pick<Column, "parameters" | "version">, versions: readonly PromptVersion[] = []): Record<string, unknown> {
  const used = (messages: readonly Message[]) => Object.fromEntries(variablesIn(messages).map((name) => [name, draft.variables[name] ?? ""]));
  const named = namedIn(draft, version);
  const other = messagesIn(versions, version);
  const limit = limitOf(draft, version, versions);
  const what = named
    ? { prompt: `${draft.source!.name}@${named}`, variables: used(other ?? draft.messages) }
    : { messages: draft.messages.map(({ role, content, rest }) => ({ role, content: render(content, used(draft.messages)), ...rest })) };
  return { model, ...what, ...(limit.isOwn && { max_tokens: limit.tokens }), ...numbersOf(parameters), ...structureOf(draft).request, stream: true, stream_options: { include_usage: true } };
}
