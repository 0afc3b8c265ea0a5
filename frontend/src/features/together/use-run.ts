import { useCallback, useEffect, useRef, useState } from "react";

import { useProject } from "@/hooks/use-project";
import { answerBegun, answerStream, isRunning, type Answer } from "@/lib/answer-stream";
import { messageOf } from "@/lib/api/client";
import { PARAMETERS } from "@/lib/parameters";
import { render, variablesIn } from "@/lib/template";

import type { Room } from "./room";
import { KEPT_RUNS, keptRun, keptRunOf, liveRun, type KeptRun } from "./runs";
import { messagesOf, variableOf } from "./variables";

const TOLD_MS = 250;

/** The request that the draft makes now, with the variables' examples. */
export function requestOf(room: Room, model: string): Record<string, unknown> {
  const messages = messagesOf(room);
  const examples = Object.fromEntries(variablesIn(messages).map((name) => [name, variableOf(room, name).example]));
  const config = Object.fromEntries([...room.config.entries()].filter(([name, value]) => name !== "model" && sent(name, value)));
  return { model, messages: messages.map((m) => ({ ...m, content: render(m.content, examples) })), ...config, stream: true, stream_options: { include_usage: true } };
}

const NAMES = new Set<string>([...PARAMETERS.map(({ name }) => name), "tools", "tool_choice", "response_format", "stop"]);
const sent = (name: string, value: unknown): boolean => NAMES.has(name) && value !== null;

/** Runs the draft; everybody in the room sees the answer come, and the latest ones stay in the document. */
export function useRun(room: Room) {
  const { slug } = useProject();
  const [running, setRunning] = useState(false);
  const abort = useRef<AbortController>(null);
  useEffect(() => () => abort.current?.abort(), []);
  const run = useCallback(
    async (model: string, by: KeptRun["by"]) => {
      const controller = new AbortController();
      abort.current?.abort();
      abort.current = controller;
      const id = crypto.randomUUID();
      const answer = answerBegun(model);
      const told = teller(() => room.share(liveRun(id, answer)));
      setRunning(true);
      told(true);
      try {
        await answerStream(slug, requestOf(room, model), controller.signal, answer, told);
        answer.state = "done";
      } catch (error) {
        answer.state = controller.signal.aborted ? "stopped" : "failed";
        answer.error = controller.signal.aborted ? null : messageOf(error);
      }
      keep(room, id, answer, by);
      told(true);
      room.share(null);
      setRunning(false);
    },
    [room, slug],
  );
  return { running, run, stop: () => abort.current?.abort() };
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

/** In the place of the oldest: there are never more than a few. */
function keep(room: Room, id: string, answer: Answer, by: KeptRun["by"]): void {
  if (isRunning(answer)) return;
  const slots = Array.from({ length: KEPT_RUNS }, (_, slot) => String(slot));
  const age = (slot: string) => keptRunOf(room.runs.get(slot))?.at ?? 0;
  const oldest = slots.reduce((best, slot) => (age(slot) < age(best) ? slot : best));
  room.runs.set(oldest, keptRun(id, answer, by));
}
