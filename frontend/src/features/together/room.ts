/** One shared document and its connection: Yjs keeps the text, y-websocket the line to the server. */

import type { EditorView } from "@codemirror/view";
import { WebsocketProvider } from "y-websocket";
import * as Y from "yjs";

import { placeOf, type Place } from "./places";
import { sharedRunOf, type SharedRun } from "./runs";

export interface Person {
  id: string;
  name: string;
  color: string;
}

/** Somebody in the room: where they are, and what they are running. */
export interface Present extends Person {
  client: number;
  place: Place | null;
  run: SharedRun | null;
}

export interface RoomState {
  line: "connecting" | "open" | "offline" | "closed";
  /** Whether everything the server has is here; true once, true for good. */
  isSynced: boolean;
  /** Why the room sent us away for good. */
  reason: string | null;
  /** Whether the room is open to us all the same, with what it has. */
  mayReturn: boolean;
  /** What the room said when it let us in anew with another role. */
  roleSaid: string | null;
  people: Present[];
  isChat: boolean;
  /** The person whose screen this one goes along with. */
  following: string | null;
}

/** The server sends these once and means them: trying again would only be told the same. */
const SIGNED_OUT = 4401;
const ROLE_CHANGED = 4403;
const FULL = 4413;
const FINAL = new Set([SIGNED_OUT, 4404, 4410, FULL]);

const EMPTY: RoomState = { line: "connecting", isSynced: false, reason: null, mayReturn: false, roleSaid: null, people: [], isChat: false, following: null };

export class Room {
  readonly document = new Y.Doc();
  readonly provider: WebsocketProvider;
  /** Takes back one's own edits of everything that is shared, in the order in which they were made. */
  readonly undo: Y.UndoManager;
  /** The editors on the page, by what they show. */
  readonly views = new Map<Y.Text, EditorView>();
  readonly #listeners = new Set<() => void>();
  state: RoomState = EMPTY;
  /** Whether this connection was let in; what it was told when it was cut off. */
  #isIn = false;
  #farewell = "";

  constructor(draft: string, you: Person) {
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    this.provider = new WebsocketProvider(`${scheme}://${location.host}/ws/collab`, draft, this.document, { disableBc: true });
    this.provider.on("status", ({ status }) => this.#set({ line: this.#line(status) }));
    this.provider.on("sync", (isSynced) => isSynced && this.#entered());
    this.provider.on("connection-close", (event) => event && this.#closed(event.code, event.reason));
    this.undo = new Y.UndoManager([this.text, this.messages, this.config, this.variables]);
    this.awareness.on("change", () => this.#present());
    this.awareness.setLocalStateField("user", you); // heard from here on: one is present before anybody else is
    this.meta.observe(() => this.#set({ isChat: this.meta.get("type") === "chat" }));
  }

  get awareness() {
    return this.provider.awareness;
  }

  get text(): Y.Text {
    return this.document.getText("text");
  }

  get messages(): Y.Array<Y.Map<unknown>> {
    return this.document.getArray("messages");
  }

  get meta(): Y.Map<unknown> {
    return this.document.getMap("meta");
  }

  get config(): Y.Map<unknown> {
    return this.document.getMap("config");
  }

  get variables(): Y.Map<unknown> {
    return this.document.getMap("variables");
  }

  /** The latest runs, as whoever ran them wrote them down. */
  get runs(): Y.Map<unknown> {
    return this.document.getMap("runs");
  }

  /** Tell the others which field of a form one is in; null: none. */
  stand(place: { tab: string; field: string; label: string } | null): void {
    this.awareness.setLocalStateField("place", place);
  }

  share(run: SharedRun | null): void {
    this.awareness.setLocalStateField("run", run);
  }

  follow(id: string | null): void {
    if (id !== this.state.following) this.#set({ following: id });
  }

  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  leave(): void {
    this.undo.destroy();
    this.provider.destroy();
    this.document.destroy();
  }

  #set(changed: Partial<RoomState>): void {
    this.state = { ...this.state, ...changed };
    for (const listener of this.#listeners) listener();
  }

  #line(status: string): RoomState["line"] {
    if (this.state.line === "closed") return "closed";
    if (status === "connected") return "open";
    return this.state.isSynced ? "offline" : "connecting";
  }

  #entered(): void {
    this.#isIn = true;
    this.#farewell = "";
    this.#set({ isSynced: true, isChat: this.meta.get("type") === "chat" });
  }

  #closed(code: number, reason: string): void {
    const wasIn = this.#isIn;
    this.#isIn = false;
    if (code === ROLE_CHANGED && wasIn) this.#set({ roleSaid: reason });
    if (code === SIGNED_OUT && wasIn) this.#farewell = reason; // this browser may have signed in anew: it comes again once
    else if (FINAL.has(code)) {
      this.provider.disconnect();
      this.#set({ line: "closed", reason: this.#farewell || reason || "The room is closed", mayReturn: code === FULL });
    }
  }

  #present(): void {
    const people = this.#people();
    const { following } = this.state;
    this.#set({ people, following: people.some(({ id }) => id === following) ? following : null });
  }

  /** Everybody once, however many tabs they have open, as in the tab they are in; oneself first. */
  #people(): Present[] {
    const own = this.document.clientID;
    const states = [...this.awareness.getStates()].sort(([a], [b]) => Number(b === own) - Number(a === own));
    const found = new Map<string, Present>();
    for (const [client, state] of states) {
      const user = state.user as Partial<Person> | undefined;
      if (!user?.id || !user.name) continue;
      const here = { id: user.id, name: user.name, color: user.color ?? "", client, place: placeOf(this, state), run: sharedRunOf(state.run) };
      const known = found.get(user.id);
      if (!known) found.set(user.id, here);
      else found.set(user.id, { ...known, ...(known.place ? {} : { place: here.place, client }), run: known.run ?? here.run });
    }
    return [...found.values()];
  }
}
