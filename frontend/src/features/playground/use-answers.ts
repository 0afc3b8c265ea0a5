import { useCallback, useEffect, useRef, useState } from "react";

import { answerBegun, answerStream, isRunning, type Answer as Streamed } from "@/lib/answer-stream";
import { messageOf } from "@/lib/api/client";

export interface Answer extends Streamed {
  id: number;
  column: number;
}

const KEPT = 60;

export { isRunning };

/** Runs one request a column at a time and keeps the answers, newest first. */
export function useAnswers(project: string) {
  const [answers, setAnswers] = useState<Answer[]>([]);
  const aborts = useRef(new Map<number, AbortController>());
  const nextId = useRef(1);
  const running = answers.some(isRunning);

  const stop = useCallback(() => {
    for (const controller of aborts.current.values()) controller.abort();
  }, []);
  useEffect(() => stop, [stop]);

  const run = useCallback(
    async (column: number, body: Record<string, unknown>) => {
      aborts.current.get(column)?.abort();
      const controller = new AbortController();
      aborts.current.set(column, controller);
      const id = nextId.current++;
      const answer: Answer = { id, column, ...answerBegun(String(body.model)) };
      setAnswers((list) => [answer, ...list].slice(0, KEPT));
      const show = painter((shown) => setAnswers((list) => list.map((a) => (a.id === id ? shown : a))));
      try {
        await answerStream(project, body, controller.signal, answer, () => show(answer));
        answer.state = "done";
      } catch (error) {
        answer.state = controller.signal.aborted ? "stopped" : "failed";
        answer.error = controller.signal.aborted ? null : messageOf(error);
      }
      show(answer, true);
    },
    [project],
  );
  return { answers, running, run, stop };
}

/** Tokens come faster than screens draw: at most one update a frame. */
function painter(paint: (answer: Answer) => void): (answer: Answer, now?: boolean) => void {
  let frame = 0;
  return (answer, now = false) => {
    cancelAnimationFrame(frame);
    if (now || document.hidden) paint({ ...answer });
    else frame = requestAnimationFrame(() => paint({ ...answer }));
  };
}
