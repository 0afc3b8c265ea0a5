import { describe, expect, it } from "vitest";
import * as Y from "yjs";

import type { Room } from "@/features/together/room";
import { watchMerge } from "@/features/together/undo-merge";

/** A room of one text without a line to a server, whose copy edits for it. */
function opened(said: string) {
  const document = new Y.Doc();
  const text = document.getText("text");
  const server = new Y.Doc();
  const provider = { name: "the room" };
  server.getText("text").insert(0, said);
  Y.applyUpdate(document, Y.encodeStateAsUpdate(server), provider);
  const undo = new Y.UndoManager([text], { captureTimeout: 500 });
  const edit = (change: (text: Y.Text) => void): Uint8Array => {
    const before = Y.encodeStateVector(server);
    server.transact(() => change(server.getText("text")));
    return Y.encodeStateAsUpdate(server, before);
  };
  const room = { document, undo, provider } as unknown as Pick<Room, "undo" | "provider" | "document">;
  return { text, undo, edit, room, arrives: (update: Uint8Array) => Y.applyUpdate(document, update, provider) };
}

const merge = (text: Y.Text) => {
  text.delete(0, 3);
  text.insert(0, "two");
  text.insert(text.length, "!");
};

describe("a merge", () => {
  it("is one step to undo, and to do again", () => {
    const { text, undo, edit, room, arrives } = opened("one");
    const watch = watchMerge(room);
    const update = edit(merge);
    arrives(update);
    watch.done(update);
    expect(text.toString()).toBe("two!");
    undo.undo();
    expect(text.toString()).toBe("one");
    undo.redo();
    expect(text.toString()).toBe("two!");
  });
  it("is so, too, where its answer comes before the room's word", () => {
    const { text, undo, edit, room, arrives } = opened("one");
    const watch = watchMerge(room);
    const update = edit(merge);
    watch.done(update);
    arrives(update);
    undo.undo();
    expect(text.toString()).toBe("one");
  });
  it("leaves what colleagues wrote meanwhile, and one's own step before it", () => {
    const { text, undo, edit, room, arrives } = opened("one");
    text.insert(3, " own");
    const watch = watchMerge(room);
    arrives(edit((shared) => shared.insert(0, "theirs ")));
    const update = edit((shared) => shared.insert(0, "merged "));
    arrives(update);
    arrives(edit((shared) => shared.insert(0, "later ")));
    watch.done(update);
    text.insert(text.length, " typed");
    expect(text.toString()).toBe("later merged theirs one own typed");
    undo.undo();
    expect(text.toString()).toBe("later merged theirs one own");
    undo.undo();
    expect(text.toString()).toBe("later theirs one own");
    undo.undo();
    expect(text.toString()).toBe("later theirs one");
    expect(undo.undoStack).toHaveLength(0);
  });
  it("that only deletes comes back", () => {
    const { text, undo, edit, room, arrives } = opened("one two");
    const watch = watchMerge(room);
    const update = edit((shared) => shared.delete(0, 4));
    arrives(update);
    watch.done(update);
    undo.undo();
    expect(text.toString()).toBe("one two");
  });
  it("that is refused leaves nothing to undo", () => {
    const { text, undo, edit, room, arrives } = opened("one");
    const watch = watchMerge(room);
    arrives(edit((shared) => shared.insert(0, "theirs ")));
    watch.failed();
    undo.undo();
    expect(text.toString()).toBe("theirs one");
  });
});
