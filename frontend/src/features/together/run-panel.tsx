import { useQuery } from "@tanstack/react-query";
import { Play, Square } from "lucide-react";
import { lazy, Suspense, useEffect } from "react";

import { Badge } from "@/components/badge";
import { Button } from "@/components/button";
import { Link } from "@/components/link";
import { Ago } from "@/components/time";
import { useHotkey } from "@/hooks/use-hotkey";
import { useMay, useProject } from "@/hooks/use-project";
import { isRunning } from "@/lib/answer-stream";
import { modelsQuery } from "@/lib/api/queries";
import { formatCount, formatRate } from "@/lib/format";
import { valueIn } from "@/lib/json-text";
import { raisedLimit } from "@/lib/parameters";

import type { PanelProps } from "./panels";
import type { Present, Room } from "./room";
import type { KeptRun, SharedRun } from "./runs";
import { isInterrupted, keptRuns, limitOf, settle, useRun } from "./use-run";
import { useShared } from "./use-room";

const RunSaid = lazy(() => import("./run-said"));

/** Runs the draft as it stands, with the variables' examples; the whole room sees the answer come. */
export function RunPanel({ room, state }: PanelProps) {
  const { slug } = useProject();
  const may = useMay("member");
  const models = useQuery(modelsQuery(slug));
  const { running, run, stop } = useRun(room);
  useShared(room.runs);
  useShared(room.config);
  const model = String(room.config.get("model") ?? models.data?.[0]?.id ?? "");
  const you = state.people[0];
  const start = (limit: number | null = null) => {
    if (model && you && !running) void run(model, { id: you.id, name: you.name, color: you.color }, limit);
  };
  useHotkey("r", "Run the draft", () => start(), { enabled: may });
  const isOpen = state.line === "open";
  useEffect(() => {
    if (may && you && isOpen && state.isSynced) settle(room, you.id);
  }, [room, may, you, isOpen, state.isSynced]);
  const live = state.people.filter((person): person is Present & { run: SharedRun } => person.run !== null);
  const kept = keptRuns(room).filter(({ id }) => !live.some((person) => person.run.id === id));
  return (
    <section className="t-runs" aria-labelledby="t-runs">
      <h2 id="t-runs" className="sr-only">
        Runs
      </h2>
      {may ? <RunBar room={room} model={model} ready={you !== undefined} running={running} onRun={() => start()} onStop={stop} /> : <p className="faint">You see what others run; running needs the role member.</p>}
      {live.map((person) => (
        <RunCard key={person.run.id} run={person.run} by={person} />
      ))}
      {kept.map((each, index) => (
        <RunCard key={each.id} run={isOpen && isInterrupted(room, each) ? { ...each, state: "interrupted" } : each} by={each.by} at={each.at} onRaise={may && index === 0 && !running ? start : undefined} />
      ))}
      {live.length + kept.length === 0 && <p className="faint">The draft runs with the examples of its variables. Everybody here sees the answer as it comes; the latest eight stay.</p>}
    </section>
  );
}

function RunBar({ room, model, ready, running, onRun, onStop }: { room: Room; model: string; ready: boolean; running: boolean; onRun: () => void; onStop: () => void }) {
  const { tokens, isOwn } = limitOf(room);
  return (
    <div className="t-run-bar">
      <span className="ellipsis mono" title={model}>
        {model || "No model answers yet"}
      </span>
      <span className="faint num t-run-limit" title={isOwn ? "The draft sets no max tokens, so an answer ends here; set it under Settings" : "Max tokens of the draft"}>
        at most {formatCount(tokens)} tokens
      </span>
      {running ? (
        <Button size="small" icon={<Square size={13} />} onClick={onStop}>
          Stop
        </Button>
      ) : (
        <Button size="small" icon={<Play size={13} />} keys="r" disabled={!model || !ready} onClick={onRun}>
          Run
        </Button>
      )}
    </div>
  );
}

interface CardProps {
  run: SharedRun;
  by: Pick<KeptRun["by"], "name" | "color">;
  at?: number;
  /** Runs the draft once more, with at most so many tokens. */
  onRaise?: (tokens: number) => void;
}

function RunCard({ run, by, at, onRaise }: CardProps) {
  const { slug } = useProject();
  return (
    <article className="t-run" aria-label={`Run of ${by.name}`} aria-busy={isRunning(run)}>
      <header>
        <i style={{ background: by.color }} aria-hidden="true" />
        <span className="ellipsis">{by.name}</span>
        <Ending run={run} onRaise={onRaise} />
        <span className="faint">{at === undefined || isRunning(run) ? stateOf(run) : <Ago at={new Date(at).toISOString()} />}</span>
      </header>
      {run.error ? <p className="field-error">{run.error}</p> : <Said run={run} />}
      <footer className="faint num">
        <span className="ellipsis mono" title={run.model}>
          {run.model}
        </span>
        <Figures run={run} />
        {run.traceId && !isRunning(run) && (
          <Link className="source-link" href={`/p/${slug}/traces/${run.traceId}`}>
            Trace
          </Link>
        )}
      </footer>
    </article>
  );
}

/** Words as they come; JSON and calls of tools as such, once they are whole. */
function Said({ run }: { run: SharedRun }) {
  const { text, toolCalls } = run;
  const value = isRunning(run) || !/^\s*[[{]/.test(text) ? undefined : valueIn(text);
  const plain = <p className="t-answer">{text || (isRunning(run) ? "" : run.state === "interrupted" ? "Its page was closed before the answer was whole." : toolCalls.length > 0 ? "" : "No text came.")}</p>;
  if (value === undefined && toolCalls.length === 0) return plain;
  return (
    <Suspense fallback={plain}>
      <RunSaid value={value} text={text} calls={toolCalls} />
    </Suspense>
  );
}

/** That an answer is not whole, and why. */
function Ending({ run, onRaise }: Pick<CardProps, "run" | "onRaise">) {
  if (run.state === "interrupted" || run.state === "stopped") {
    return (
      <Badge tone="warning" title={run.state === "interrupted" ? "The page that ran it was closed" : undefined}>
        {run.state}
      </Badge>
    );
  }
  if (run.finishReason !== "length" || isRunning(run)) return null;
  const tokens = raisedLimit(run.tokens);
  return (
    <>
      <Badge tone="warning" title="max_tokens was reached">
        cut at the limit
      </Badge>
      {onRaise && (
        <Button variant="quiet" size="small" title="Runs the draft once more; its settings stay" onClick={() => onRaise(tokens)}>
          Run with {formatCount(tokens)}
        </Button>
      )}
    </>
  );
}

function Figures({ run }: { run: SharedRun }) {
  if (run.tokens === 0) return null;
  return (
    <span title={run.tokensPerSecond === null ? undefined : `${run.tokensPerSecond} tokens a second`}>
      {formatCount(run.tokens)} tokens{run.tokensPerSecond !== null && ` · ${formatRate(run.tokensPerSecond)}`}
    </span>
  );
}

const stateOf = ({ state }: SharedRun): string => (state === "waiting" ? "waits" : state === "streaming" ? "answers" : state);
