import { useEffect, useMemo, useState, useSyncExternalStore } from "react";

import type { Draft } from "@/lib/api/types";

import { Room, type RoomState } from "./room";

interface Opened {
  room: Room;
  state: RoomState;
}

/** A draft's room, open while somebody looks at it. */
class RoomDoor {
  readonly #draft: Draft;
  readonly #listeners = new Set<() => void>();
  #opened: Opened | null = null;
  #stop = () => {};

  constructor(draft: Draft) {
    this.#draft = draft;
  }

  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    if (this.#listeners.size === 1) this.#open();
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.#close();
    };
  };

  snapshot = (): Opened | null => this.#opened;

  #open(): void {
    const room = new Room(this.#draft.id, this.#draft.you);
    const changed = () => {
      this.#opened = { room, state: room.state };
      for (const listener of this.#listeners) listener();
    };
    this.#stop = room.subscribe(changed);
    changed();
  }

  #close(): void {
    this.#stop();
    this.#opened?.room.leave();
    this.#opened = null;
  }
}

/** The draft's room for as long as the page is there; null for a moment before. */
export function useRoom(draft: Draft): Opened | null {
  const door = useMemo(() => new RoomDoor(draft), [draft]);
  return useSyncExternalStore(door.subscribe, door.snapshot);
}

interface Shared {
  observeDeep: (f: () => void) => void;
  unobserveDeep: (f: () => void) => void;
}

/** Draws anew whenever the shared value (or what is in it) changes. */
export function useShared(value: Shared): void {
  const [, setCount] = useState(0);
  useEffect(() => {
    const changed = () => setCount((n) => n + 1);
    value.observeDeep(changed);
    return () => value.unobserveDeep(changed);
  }, [value]);
}
