/** A merge comes from the server like anybody's edit; whoever asked for it undoes it like their own. */

import * as Y from "yjs";

import type { Room } from "./room";

type StackItem = Room["undo"]["undoStack"][number];

/** The origin of a merge that its answer brought before the room did. */
const MERGED = { merged: true };

interface Watch {
  /** The merge was made, by this edit: it is the next step to undo. */
  done: (update: Uint8Array) => void;
  failed: () => void;
}

/** While a merge is under way, what comes from the room is noted as steps, of which the merge stays. */
export function watchMerge({ undo, provider, document }: Pick<Room, "undo" | "provider" | "document">): Watch {
  const seen = new Set<StackItem>();
  const captures = undo.captureTransaction;
  const added = ({ stackItem, origin }: { stackItem: StackItem; origin: unknown }) => {
    if (origin !== provider && origin !== MERGED) return;
    seen.add(stackItem);
    undo.stopCapturing(); // what is typed next is a step of its own
  };
  undo.on("stack-item-added", added);
  undo.trackedOrigins.add(provider).add(MERGED);
  undo.captureTransaction = (transaction) => {
    if (transaction.origin === provider || transaction.origin === MERGED) undo.stopCapturing();
    return captures(transaction);
  };
  const end = (kept: StackItem | null) => {
    undo.off("stack-item-added", added);
    undo.trackedOrigins.delete(provider);
    undo.trackedOrigins.delete(MERGED);
    undo.captureTransaction = captures;
    undo.undoStack = undo.undoStack.filter((item) => item === kept || !seen.has(item));
  };
  return {
    done: (update) => {
      if (!find(seen, update)) Y.applyUpdate(document, update, MERGED);
      end(find(seen, update));
    },
    failed: () => end(null),
  };
}

/** The step that holds the edit: the one with its first letter, or the latest that only deletes. */
function find(seen: Set<StackItem>, update: Uint8Array): StackItem | null {
  const first = Y.decodeUpdate(update).structs[0]?.id;
  const holds = ({ insertions }: StackItem) =>
    first ? (insertions.clients.get(first.client)?.some(({ clock, len }) => clock <= first.clock && first.clock < clock + len) ?? false) : insertions.clients.size === 0;
  return [...seen].findLast(holds) ?? null;
}
