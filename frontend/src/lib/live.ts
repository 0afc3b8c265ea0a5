/** The project's live feed: one EventSource a tab and project, shared by all who listen. */

import type { Run, TraceRow } from "@/lib/api/types";

export interface LiveEvents {
  traces: { seq: number; rows: TraceRow[] };
  "traces.deleted": { traces: string[]; many?: boolean };
  run: Run;
  "scores.changed": { traces: string[] };
  "comments.changed": { object_type: string; object_id: string; trace_id: string };
  "review.changed": { draft: string; prompt: string };
  state: "connecting" | "open" | "closed";
}

type Listener<K extends keyof LiveEvents> = (data: LiveEvents[K]) => void;

const RETRY_MS = [1000, 3000, 10_000, 30_000];

class Feed {
  readonly #address: string;
  readonly #listeners = new Map<keyof LiveEvents, Set<Listener<never>>>();
  #source: EventSource;
  #retry: ReturnType<typeof setTimeout> | undefined;
  #failures = 0;
  state: LiveEvents["state"] = "connecting";

  constructor(project: string) {
    this.#address = `/api/projects/${encodeURIComponent(project)}/live`;
    this.#source = this.#connect();
  }

  #connect(): EventSource {
    const source = new EventSource(this.#address);
    source.onopen = () => {
      this.#failures = 0;
      this.#setState("open");
    };
    source.onerror = () => this.#failed(source);
    for (const kind of ["traces", "traces.deleted", "run", "scores.changed", "comments.changed", "review.changed"] as const) {
      source.addEventListener(kind, (event) => this.#emit(kind, JSON.parse((event as MessageEvent<string>).data)));
    }
    return source;
  }

  /** A broken connection the browser mends by itself (and resumes); a refused one it gives up, so we try again. */
  #failed(source: EventSource): void {
    if (source.readyState !== EventSource.CLOSED) {
      this.#setState("connecting");
      return;
    }
    this.#setState("closed");
    const wait = RETRY_MS[Math.min(this.#failures++, RETRY_MS.length - 1)];
    this.#retry = setTimeout(() => (this.#source = this.#connect()), wait);
  }

  #setState(state: LiveEvents["state"]): void {
    this.state = state;
    this.#emit("state", state);
  }

  #emit<K extends keyof LiveEvents>(kind: K, data: LiveEvents[K]): void {
    for (const listener of this.#listeners.get(kind) ?? []) (listener as unknown as Listener<K>)(data);
  }

  on<K extends keyof LiveEvents>(kind: K, listener: Listener<K>): () => void {
    const listeners = this.#listeners.get(kind) ?? new Set();
    listeners.add(listener as unknown as Listener<never>);
    this.#listeners.set(kind, listeners);
    return () => listeners.delete(listener as unknown as Listener<never>);
  }

  close(): void {
    clearTimeout(this.#retry);
    this.#source.close();
  }
}

let current: { project: string; feed: Feed } | null = null;

function feedOf(project: string): Feed {
  if (current?.project !== project) {
    current?.feed.close();
    current = { project, feed: new Feed(project) };
  }
  return current.feed;
}

/** Opens the project's feed if it is not, and calls the listener until the returned function is called. */
export function listen<K extends keyof LiveEvents>(project: string, kind: K, listener: Listener<K>): () => void {
  return feedOf(project).on(kind, listener);
}

export function liveState(project: string): LiveEvents["state"] {
  return current?.project === project ? current.feed.state : "connecting";
}
