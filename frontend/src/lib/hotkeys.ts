/** Keys of the whole app: single keys, sequences ("g t") and chords ("mod+k"), with their names for `?`. */

export interface Hotkey {
  keys: string;
  label: string;
  group: string;
  run: (event: KeyboardEvent) => void;
  /** Also while a text field has the focus. */
  inFields?: boolean;
}

const registered = new Set<Hotkey>();
const SEQUENCE_MS = 900;
const isMac = /Mac|iPhone|iPad/.test(globalThis.navigator?.platform ?? "");

let pending = "";
let pendingUntil = 0;

export function register(hotkey: Hotkey): () => void {
  registered.add(hotkey);
  return () => registered.delete(hotkey);
}

export function listed(): Hotkey[] {
  const seen = new Set<string>();
  return [...registered].filter((h) => h.label !== "" && !seen.has(h.keys + h.label) && seen.add(h.keys + h.label));
}

/** "mod+Enter" -> ["⌘", "↵"] as printed on the reader's keyboard. */
export function keyCaps(keys: string): string[] {
  const caps: Record<string, string> = { mod: isMac ? "⌘" : "Ctrl", Enter: "↵", Escape: "Esc", Space: "Space", shift: "⇧" };
  const chord = keys.includes("+");
  return keys.split(/[+ ]/).map((key) => caps[key] ?? (chord ? key.toUpperCase() : key));
}

/** For `aria-keyshortcuts`: "mod+Enter" -> "Control+Enter". */
export const ariaKeys = (keys: string): string => keys.replace("mod", isMac ? "Meta" : "Control");

function nameOf(event: KeyboardEvent): string {
  const key = event.key === " " ? "Space" : event.key;
  return event.metaKey || event.ctrlKey ? `mod+${key.length === 1 ? key.toLowerCase() : key}` : key;
}

function isField(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target.isContentEditable || target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement) return true;
  return target instanceof HTMLInputElement && !["checkbox", "radio", "button", "range", "file"].includes(target.type);
}

/** A focused button or link keeps its own Enter and Space; an open dialog keeps every key but chords. */
function belongsElsewhere(event: KeyboardEvent, key: string): boolean {
  const target = event.target instanceof HTMLElement ? event.target : null;
  if (!target) return false;
  if (target.closest('[role="dialog"], [role="menu"], [role="listbox"]') && !key.startsWith("mod+")) return true;
  return (key === "Enter" || key === "Space") && target.closest("button, a, summary, [role='tab']") !== null;
}

const MODIFIERS = new Set(["Shift", "mod+Control", "mod+Meta", "mod+Shift"]);

const isNotOurs = (event: KeyboardEvent, key: string): boolean =>
  event.defaultPrevented || event.altKey || event.isComposing || MODIFIERS.has(key) || belongsElsewhere(event, key);

export function handle(event: KeyboardEvent): void {
  const key = nameOf(event);
  if (isNotOurs(event, key)) return;
  const inField = isField(event.target);
  const sequence = pending && event.timeStamp < pendingUntil && !inField ? `${pending} ${key}` : "";
  pending = "";
  // The latest registered wins: a panel's keys go before its page's.
  const usable = [...registered].reverse().filter((h) => !inField || h.inFields);
  const match = usable.find((h) => h.keys === sequence) ?? usable.find((h) => h.keys === key);
  if (match) {
    event.preventDefault();
    match.run(event);
  } else if (!inField && usable.some((h) => h.keys.startsWith(`${key} `))) {
    pending = key;
    pendingUntil = event.timeStamp + SEQUENCE_MS;
  }
}
