import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { handle, keyCaps, listed, register } from "@/lib/hotkeys";

class Element {
  isContentEditable = false;
  constructor(
    readonly role: string | null = null,
    readonly type = "text",
  ) {}
  closest = (selectors: string) => (this.role && selectors.includes(this.role) ? this : null);
}
class Input extends Element {}
class Absent extends Element {}

/** Just enough of a browser for the handler: it only asks what kind of element has the focus. */
const globals = globalThis as unknown as Record<string, unknown>;
beforeEach(() => Object.assign(globals, { HTMLElement: Element, HTMLInputElement: Input, HTMLTextAreaElement: Absent, HTMLSelectElement: Absent }));

const undo: (() => void)[] = [];
afterEach(() => undo.splice(0).forEach((off) => off()));

function pressed(keys: string, inFields = false) {
  const calls: string[] = [];
  undo.push(register({ keys, label: keys, group: "g", inFields, run: () => calls.push(keys) }));
  return calls;
}

function press(key: string, { target = new Element(), at = 0, ...modifiers }: { target?: Element; at?: number; ctrlKey?: boolean } = {}) {
  handle({ key, target, timeStamp: at, preventDefault: () => undefined, ...modifiers } as unknown as KeyboardEvent);
}

describe("keys", () => {
  it("runs single keys, sequences and chords", () => {
    const calls = [pressed("j"), pressed("g t"), pressed("mod+k")];
    press("j");
    press("g");
    press("t", { at: 100 });
    press("k", { ctrlKey: true });
    expect(calls.map((c) => c.length)).toEqual([1, 1, 1]);
  });
  it("forgets a sequence that takes too long", () => {
    const calls = pressed("g t");
    press("g");
    press("t", { at: 5000 });
    expect(calls).toEqual([]);
  });
  it("leaves text fields alone, but for keys that say otherwise", () => {
    const typed = pressed("j");
    const run = pressed("mod+Enter", true);
    press("j", { target: new Input() });
    press("Enter", { target: new Input(), ctrlKey: true });
    expect([typed, run]).toEqual([[], ["mod+Enter"]]);
  });
  it("leaves Enter to a focused button and all keys to a dialog", () => {
    const enter = pressed("Enter");
    const row = pressed("j");
    press("Enter", { target: new Element("button") });
    press("j", { target: new Element('[role="dialog"]') });
    expect([enter, row]).toEqual([[], []]);
  });
  it("gives a key to the latest who asked, and back", () => {
    const page = pressed("Escape");
    const off = register({ keys: "Escape", label: "", group: "", run: () => undefined });
    press("Escape");
    expect(page).toEqual([]);
    off();
    press("Escape");
    expect(page).toEqual(["Escape"]);
  });
  it("lists names and prints caps", () => {
    pressed("x");
    expect(listed().map((h) => h.label)).toEqual(["x"]);
    expect(keyCaps("mod+k")).toEqual(["Ctrl", "K"]);
    expect(keyCaps("g t")).toEqual(["g", "t"]);
  });
});
