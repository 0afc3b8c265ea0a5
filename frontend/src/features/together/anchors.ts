/** Ranges of a draft that move with its text: relative positions of Yjs, as the server keeps them. */

import * as Y from "yjs";

import type { DraftComment } from "@/lib/api/types";

import type { Room } from "./room";

export interface Place {
  text: Y.Text;
  from: number;
  to: number;
}

/** Shorter quotes are in too many places to be found again by what they say. */
const FOUND_AGAIN = 12;
const QUOTE_LEN = 2000;

const base64 = (bytes: Uint8Array): string => btoa(String.fromCharCode(...bytes));
const bytesOf = (text: string): Uint8Array => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));

/** The start clings to what follows it, the end to what stands before: typing at the edge stays outside. */
export function anchorsOf({ text, from, to }: Place): { start: string; end: string; quote: string } {
  const at = (index: number, assoc: number) => base64(Y.encodeRelativePosition(Y.createRelativePositionFromTypeIndex(text, index, assoc)));
  return { start: at(from, 0), end: at(to, -1), quote: text.toString().slice(from, to).slice(0, QUOTE_LEN) };
}

/** Every text of the draft, in order. */
export function textsOf(room: Room): Y.Text[] {
  if (!room.state.isChat) return [room.text];
  return room.messages.toArray().flatMap((message) => {
    const content = message.get("content");
    return content instanceof Y.Text ? [content] : [];
  });
}

/** Where a comment's range is now; null where its text is gone. */
export function placeOf(room: Room, comment: DraftComment): Place | null {
  if (!comment.start || !comment.end) return null;
  return resolved(room, comment.start, comment.end) ?? foundAgain(room, comment.quote);
}

function resolved(room: Room, start: string, end: string): Place | null {
  const [from, to] = [start, end].map((anchor) => {
    try {
      return Y.createAbsolutePositionFromRelativePosition(Y.decodeRelativePosition(bytesOf(anchor)), room.document);
    } catch {
      return null; // stored by another client, and no position of this document
    }
  });
  if (!from || !to || from.type !== to.type || from.index >= to.index) return null;
  const text = from.type as Y.Text;
  return textsOf(room).includes(text) ? { text, from: from.index, to: to.index } : null;
}

/** A message that was moved is a new text to Yjs: what was said of it is found by its quote, if that stands there once. */
function foundAgain(room: Room, quote: string): Place | null {
  if (quote.length < FOUND_AGAIN) return null;
  const places = textsOf(room).flatMap((text) => {
    const said = text.toString();
    const from = said.indexOf(quote);
    if (from < 0) return [];
    return said.includes(quote, from + 1) ? [null, null] : [{ text, from, to: from + quote.length }];
  });
  return places.length === 1 ? places[0]! : null;
}
