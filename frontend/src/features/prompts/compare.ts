/** Two versions side by side: config by keys, text by words, messages that only moved recognised. */

import { diffMessages, diffWords, type MessageDiff } from "@/lib/diff";

import { messagesIn, stable, toSend, type Content } from "./content";

export interface ComparedMessage extends MessageDiff {
  state: "same" | "changed" | "added" | "removed" | "moved";
}

export interface ComparedSetting {
  name: string;
  before: string | null;
  after: string | null;
}

export interface Comparison {
  messages: ComparedMessage[];
  settings: ComparedSetting[];
  changed: boolean;
}

export function compared(before: Content, after: Content): Comparison {
  const messages = comparedMessages(before, after);
  const settings = comparedSettings(toSend(before).config, toSend(after).config);
  return { messages, settings, changed: settings.length > 0 || messages.some((m) => m.state !== "same") };
}

function comparedMessages(before: Content, after: Content): ComparedMessage[] {
  if (before.type === "text" && after.type === "text") {
    const changes = diffWords(String(before.prompt), String(after.prompt));
    const changed = changes.some((c) => c.kind !== "same");
    return [{ role: "text", changes, changed, state: changed ? "changed" : "same" }];
  }
  return withMoves(diffMessages(messagesIn(before), messagesIn(after)).map((m) => ({ ...m, state: stateOf(m) })));
}

function stateOf({ changes, changed }: MessageDiff): ComparedMessage["state"] {
  if (!changed) return "same";
  if (changes.every((c) => c.kind === "add")) return "added";
  if (changes.every((c) => c.kind === "del")) return "removed";
  return "changed";
}

const textOf = (m: ComparedMessage): string => m.changes.map((c) => c.text).join("");

/** A message that went from one place to another is one thing that happened, not two. */
function withMoves(messages: ComparedMessage[]): ComparedMessage[] {
  const gone = new Set<ComparedMessage>();
  const result = messages.map((message): ComparedMessage => {
    if (message.state !== "added" || textOf(message) === "") return message;
    const origin = messages.find((m) => m.state === "removed" && !gone.has(m) && m.role === message.role && textOf(m) === textOf(message));
    if (!origin) return message;
    gone.add(origin);
    return { role: message.role, changed: true, state: "moved", changes: [{ kind: "same", text: textOf(message) }] };
  });
  return result.filter((message) => !gone.has(message));
}

function comparedSettings(before: Record<string, unknown>, after: Record<string, unknown>): ComparedSetting[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  const shown = (config: Record<string, unknown>, name: string) => (name in config ? stable(config[name]) : null);
  return names
    .map((name) => ({ name, before: shown(before, name), after: shown(after, name) }))
    .filter((setting) => setting.before !== setting.after);
}
