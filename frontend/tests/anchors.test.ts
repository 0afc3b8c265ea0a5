import { describe, expect, it } from "vitest";
import * as Y from "yjs";

import { anchorsOf, placeOf } from "@/features/together/anchors";
import type { Room } from "@/features/together/room";
import type { DraftComment } from "@/lib/api/types";

function roomOf(...contents: string[]): Room {
  const document = new Y.Doc();
  const messages = document.getArray<Y.Map<unknown>>("messages");
  messages.push(contents.map((content) => new Y.Map<unknown>([["content", new Y.Text(content)]])));
  return { document, messages, text: document.getText("text"), state: { isChat: true } } as unknown as Room;
}

const textAt = (room: Room, index: number) => room.messages.get(index).get("content") as Y.Text;

function commentOn(room: Room, index: number, words: string): DraftComment {
  const text = textAt(room, index);
  const from = text.toString().indexOf(words);
  return { ...anchorsOf({ text, from, to: from + words.length }) } as DraftComment;
}

const said = (room: Room, comment: DraftComment) => {
  const place = placeOf(room, comment);
  return place && place.text.toString().slice(place.from, place.to);
};

describe("a comment's place", () => {
  it("moves with the text and does not grow at its edges", () => {
    const room = roomOf("Be kind to all.");
    const comment = commentOn(room, 0, "kind");
    expect(comment.quote).toBe("kind");
    textAt(room, 0).insert(0, "Always: ");
    const place = placeOf(room, comment)!;
    place.text.insert(place.to, "er");
    place.text.insert(place.from, "very ");
    expect(said(room, comment)).toBe("kind");
  });

  it("is nowhere once its words are gone", () => {
    const room = roomOf("Be kind to all.");
    const comment = commentOn(room, 0, "kind");
    textAt(room, 0).delete(3, 4);
    expect(placeOf(room, comment)).toBeNull();
  });

  it("is found again by its quote in a message that was moved", () => {
    const room = roomOf("Never invent prices.", "Hi");
    const comment = commentOn(room, 0, "invent prices");
    const copy = room.messages.get(0).clone();
    room.messages.delete(0);
    room.messages.push([copy]);
    expect(said(room, comment)).toBe("invent prices");
    textAt(room, 1).insert(0, "Do not invent prices. ");
    expect(placeOf(room, comment)).toBeNull();
  });

  it("is nowhere where another client stored no position", () => {
    const room = roomOf("Hi");
    expect(placeOf(room, { start: btoa("nonsense"), end: btoa("nonsense"), quote: "" } as DraftComment)).toBeNull();
  });
});
