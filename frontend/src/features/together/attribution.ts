/** Who wrote which letters of a document: each one names the Yjs client that typed it. */

import * as Y from "yjs";

export interface Piece {
  client: number;
  text: string;
}

export interface PastMessage {
  role: string;
  pieces: Piece[];
}

export interface Past {
  isChat: boolean;
  messages: PastMessage[];
  config: Record<string, unknown>;
}

/** Stretches of one client each, `same` joins those of one person. */
export function piecesOf(text: Y.Text, same: (a: number, b: number) => boolean): Piece[] {
  const pieces: Piece[] = [];
  for (let item = text._start; item; item = item.right) {
    if (item.deleted || !(item.content instanceof Y.ContentString)) continue;
    const latest = pieces.at(-1);
    if (latest && same(latest.client, item.id.client)) latest.text += item.content.str;
    else pieces.push({ client: item.id.client, text: item.content.str });
  }
  return pieces;
}

/** What a stored state says, with its writers. */
export function pastOf(state: string, same: (a: number, b: number) => boolean): Past {
  const document = new Y.Doc();
  Y.applyUpdate(document, Uint8Array.from(atob(state), (c) => c.charCodeAt(0)));
  const isChat = document.getMap("meta").get("type") === "chat";
  const config = document.getMap("config").toJSON();
  const messages = isChat ? document.getArray<Y.Map<unknown>>("messages").toArray().map((m) => messageOf(m, same)) : [{ role: "", pieces: piecesOf(document.getText("text"), same) }];
  document.destroy();
  return { isChat, messages, config };
}

function messageOf(message: Y.Map<unknown>, same: (a: number, b: number) => boolean): PastMessage {
  const content = message.get("content");
  const role = String(message.get("role") ?? message.get("type") ?? "");
  if (content instanceof Y.Text) return { role, pieces: piecesOf(content, same) };
  const item = message._item;
  return { role, pieces: [{ client: item?.id.client ?? 0, text: JSON.stringify(message.toJSON(), null, 2) }] };
}
