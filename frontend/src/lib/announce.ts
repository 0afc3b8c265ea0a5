/** Short notices: shown for a moment and read out. */

export interface Notice {
  id: number;
  text: string;
  tone: "info" | "error";
}

type Listener = (notices: readonly Notice[]) => void;

let notices: readonly Notice[] = [];
let next = 1;
const listeners = new Set<Listener>();

function set(changed: readonly Notice[]): void {
  notices = changed;
  for (const listener of listeners) listener(notices);
}

export function announce(text: string, tone: Notice["tone"] = "info"): void {
  const notice = { id: next++, text, tone };
  set([...notices.slice(-2), notice]);
  setTimeout(() => dismiss(notice.id), tone === "error" ? 8000 : 2500);
}

export function dismiss(id: number): void {
  set(notices.filter((notice) => notice.id !== id));
}

export function onNotices(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export const currentNotices = (): readonly Notice[] => notices;
