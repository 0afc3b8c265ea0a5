/** Inputs and outputs of any dialect as messages with parts; what cannot be read so stays JSON. */

export type Part =
  | { kind: "text"; text: string }
  | { kind: "image"; url: string }
  | { kind: "tool_call"; name: string; arguments: string; id: string | null }
  | { kind: "json"; value: unknown };

export interface Turn {
  role: string;
  name: string | null;
  parts: Part[];
}

type Fields = Record<string, unknown>;

const isObject = (value: unknown): value is Fields => typeof value === "object" && value !== null && !Array.isArray(value);
const isMessage = (value: unknown): value is Fields & { role: string } => isObject(value) && typeof value.role === "string";
const text = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));

/** Turns of a value, or null where it is no conversation. */
export function turnsOf(value: unknown, fallbackRole: string): Turn[] | null {
  if (typeof value === "string") return [{ role: fallbackRole, name: null, parts: [{ kind: "text", text: value }] }];
  if (Array.isArray(value)) return value.length > 0 && value.every(isMessage) ? value.map(turnOf) : null;
  if (!isObject(value)) return null;
  if (isMessage(value)) return [turnOf(value)];
  const messages = value.messages ?? messagesOfChoices(value.choices);
  if (messages !== undefined) return turnsOf(messages, fallbackRole);
  if (typeof value.prompt === "string") return turnsOf(value.prompt, fallbackRole);
  return null;
}

function messagesOfChoices(choices: unknown): unknown[] | undefined {
  if (!Array.isArray(choices) || choices.length === 0) return undefined;
  return choices.map((choice: unknown) => {
    if (!isObject(choice)) return choice;
    return choice.message ?? { role: "assistant", content: choice.text ?? "" };
  });
}

function turnOf(message: Fields): Turn {
  const parts = partsOf(message.content);
  if (Array.isArray(message.tool_calls)) parts.push(...message.tool_calls.map(toolCall));
  return { role: String(message.role), name: typeof message.name === "string" ? message.name : null, parts };
}

function partsOf(content: unknown): Part[] {
  if (content === null || content === undefined || content === "") return [];
  if (typeof content === "string") return [{ kind: "text", text: content }];
  if (Array.isArray(content)) return content.map(partOf);
  return [{ kind: "json", value: content }];
}

function partOf(part: unknown): Part {
  if (typeof part === "string") return { kind: "text", text: part };
  if (!isObject(part)) return { kind: "json", value: part };
  if (typeof part.text === "string") return { kind: "text", text: part.text };
  const image = isObject(part.image_url) ? part.image_url.url : part.image_url;
  if (typeof image === "string" && /^(https?:|data:image\/)/.test(image)) return { kind: "image", url: image };
  return { kind: "json", value: part };
}

function toolCall(call: unknown): Part {
  const fn = isObject(call) && isObject(call.function) ? call.function : undefined;
  if (!fn) return { kind: "json", value: call };
  const id = isObject(call) && typeof call.id === "string" ? call.id : null;
  return { kind: "tool_call", name: text(fn.name), arguments: text(fn.arguments ?? ""), id };
}

/** Plain messages for the playground; parts that are no text are left out. */
export function plainMessages(value: unknown): { role: string; content: string }[] | null {
  const turns = turnsOf(value, "user");
  return (
    turns?.map((turn) => ({
      role: turn.role,
      content: turn.parts.flatMap((part) => (part.kind === "text" ? [part.text] : [])).join("\n"),
    })) ?? null
  );
}

/** Only text leaves the clipboard's hands: everything a reader would see, in order. */
export function asText(value: unknown, fallbackRole: string): string {
  const turns = turnsOf(value, fallbackRole);
  if (!turns) return JSON.stringify(value, null, 2);
  const body = (turn: Turn) => turn.parts.map(partText).join("\n");
  return turns.length === 1 ? body(turns[0]!) : turns.map((turn) => `${turn.role}: ${body(turn)}`).join("\n\n");
}

function partText(part: Part): string {
  if (part.kind === "text") return part.text;
  if (part.kind === "image") return part.url;
  if (part.kind === "tool_call") return `${part.name}(${part.arguments})`;
  return JSON.stringify(part.value);
}
