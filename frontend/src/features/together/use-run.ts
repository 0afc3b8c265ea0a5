import { useCallback, useSyncExternalStore } from "react";

import { useProject } from "@/hooks/use-project";
import { answerBegun, answerStream, isRunning, type Answer } from "@/lib/answer-stream";
import { messageOf } from "@/lib/api/client";
import { limitIn, MOST_TOKENS, PARAMETERS } from "@/lib/parameters";
import { render, variablesIn } from "@/lib/template";

import type { Room } from "./room";
import { KEPT_RUNS, keptRun, keptRunOf, liveRun, type KeptRun, type Runner } from "./runs";
import { messagesOf, variableOf } from "./variables";

const TOLD_MS = 250;

/** The longest answer that is in force: the draft's own limit, or the room's. */
export function limitOf(room: Room): { tokens: number; isOwn: boolean } {
  const set = limitIn(room.config.toJSON());
  return { tokens: set ?? MOST_TOKENS, isOwn: set === null };
}

/** The request that the draft makes now, with the variables' examples; `limit` in place of the draft's longest answer. */
export function requestOf(room: Room, model: string, limit: number | null = null): Record<string, unknown> {
  const messages = messagesOf(room);
  const examples = Object.fromEntries(variablesIn(messages).map((name) => [name, variableOf(room, name).example]));
  const config = Object.fromEntries([...room.config.entries()].filter(([name, value]) => sent(name, value) && !(limit !== null && LIMITS.has(name))));
  const most = limit ?? (limitOf(room).isOwn ? MOST_TOKENS : null);
  return { model, messages: messages.map((m) => ({ ...m, content: render(m.content, examples) })), ...config, ...(most !== null && { max_tokens: most }), stream: true, stream_options: { include_usage: true } };
}

const LIMITS = new Set(["max_tokens", "max_completion_tokens"]);
const NAMES = new Set<string>([...PARAMETERS.map(({ name }) => name), ...LIMITS, "tools", "tool_choice", "response_format", "stop"]);
const sent = (name: string, value: unknown): boolean => NAMES.has(name) && value !== null;

/** One's own run in a room: it goes on while another panel is looked at, and ends with the room. */
class OwnRun {
  readonly #room: Room;
  readonly #listeners = new Set<() => void>();
  #abort: AbortController | null = null;

  constructor(room: Room) {
    this.#room = room;
    room.document.on("destroy", this.stop);
  }

  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  isRunning = (): boolean => this.#abort !== null;

  stop = (): void => this.#abort?.abort();

  /** Runs the draft; everybody in the room sees the answer come, and the latest ones stay in the document. */
  async run(project: string, request: Record<string, unknown>, by: Runner): Promise<void> {
    this.stop();
    const controller = new AbortController();
    this.#set(controller);
    const id = crypto.randomUUID();
    const answer = answerBegun(String(request.model));
    const told = teller(() => this.#room.share(liveRun(id, answer)));
    const kept = keeper(this.#room, id, answer, by);
    told(true);
    kept(); // from the beginning: whoever closes the page tells nobody how it ended
    try {
      await answerStream(project, request, controller.signal, answer, () => {
        kept(answer.traceId);
        told();
      });
      answer.state = "done";
    } catch (error) {
      answer.state = controller.signal.aborted ? "stopped" : "failed";
      answer.error = controller.signal.aborted ? null : messageOf(error);
    }
    kept(answer.state);
    if (this.#abort !== controller) return; // another one has begun
    told(true);
    this.#room.share(null);
    this.#set(null);
  }

  #set(controller: AbortController | null): void {
    this.#abort = controller;
    for (const listener of this.#listeners) listener();
  }
}

const runs = new WeakMap<Room, OwnRun>();

function ownRun(room: Room): OwnRun {
  const found = runs.get(room) ?? new OwnRun(room);
  runs.set(room, found);
  return found;
}

export function useRun(room: Room) {
  const { slug } = useProject();
  const own = ownRun(room);
  const running = useSyncExternalStore(own.subscribe, own.isRunning);
  const run = useCallback((model: string, by: Runner, limit: number | null) => own.run(slug, requestOf(room, model, limit), by), [own, room, slug]);
  return { running, run, stop: own.stop };
}

/** Calls at most every quarter of a second, and at once where that is asked for. */
function teller(tell: () => void): (now?: boolean) => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  return (now = false) => {
    if (!now) {
      timer ??= setTimeout(() => {
        timer = undefined;
        tell();
      }, TOLD_MS);
      return;
    }
    clearTimeout(timer);
    timer = undefined;
    tell();
  };
}

export const keptRuns = (room: Room): KeptRun[] =>
  [...room.runs.values()]
    .map(keptRunOf)
    .filter((run) => run !== null)
    .sort((a, b) => b.at - a.at);

/** Writes the run down in the place of the oldest, once for each thing to tell: there are never more than a few. */
function keeper(room: Room, id: string, answer: Answer, by: Runner): (what?: string | null) => void {
  let told: string | null | undefined;
  return (what = null) => {
    if (what === told) return;
    told = what;
    const slots = Array.from({ length: KEPT_RUNS }, (_, slot) => String(slot));
    const kept = (slot: string) => keptRunOf(room.runs.get(slot));
    const age = (slot: string) => kept(slot)?.at ?? 0;
    const oldest = slots.reduce((best, slot) => (age(slot) < age(best) ? slot : best));
    room.runs.set(slots.find((slot) => kept(slot)?.id === id) ?? oldest, keptRun(id, answer, by, room.document.clientID));
  };
}

/** Whether the page that runs it is in the room. */
const isHere = (room: Room, run: KeptRun): boolean => run.client !== null && room.awareness.getStates().has(run.client);

/** Whether nobody will say any more how a run ended. */
export const isInterrupted = (room: Room, run: KeptRun): boolean => run.state === "interrupted" || (isRunning(run) && !isHere(room, run));

/** Marks one's own runs of pages that are gone, for good. */
export function settle(room: Room, you: string): void {
  for (const [slot, value] of room.runs.entries()) {
    const run = keptRunOf(value);
    if (run?.by.id === you && isRunning(run) && !isHere(room, run)) room.runs.set(slot, { ...run, state: "interrupted" });
  }
}
