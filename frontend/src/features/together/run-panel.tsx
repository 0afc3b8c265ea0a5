import { useQuery } from "@tanstack/react-query";
import { Play, Square } from "lucide-react";

import { Button } from "@/components/button";
import { Link } from "@/components/link";
import { Ago } from "@/components/time";
import { useHotkey } from "@/hooks/use-hotkey";
import { useMay, useProject } from "@/hooks/use-project";
import { isRunning } from "@/lib/answer-stream";
import { modelsQuery } from "@/lib/api/queries";

import type { PanelProps } from "./panels";
import type { Present } from "./room";
import type { KeptRun, SharedRun } from "./runs";
import { keptRuns, useRun } from "./use-run";
import { useShared } from "./use-room";

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
  const start = () => {
    if (model && you && !running) void run(model, { name: you.name, color: you.color });
  };
  useHotkey("r", "Run the draft", start, { enabled: may });
  const live = state.people.filter((person): person is Present & { run: SharedRun } => person.run !== null);
  const kept = keptRuns(room).filter(({ id }) => !live.some((person) => person.run.id === id));
  return (
    <section className="t-runs" aria-labelledby="t-runs">
      <h2 id="t-runs" className="sr-only">
        Runs
      </h2>
      {may ? (
        <div className="t-run-bar">
          <span className="ellipsis mono" title={model}>
            {model || "No model answers yet"}
          </span>
          {running ? (
            <Button size="small" icon={<Square size={13} />} onClick={stop}>
              Stop
            </Button>
          ) : (
            <Button size="small" icon={<Play size={13} />} keys="r" disabled={!model} onClick={start}>
              Run
            </Button>
          )}
        </div>
      ) : (
        <p className="faint">You see what others run; running needs the role member.</p>
      )}
      {live.map((person) => (
        <RunCard key={person.run.id} run={person.run} by={person} />
      ))}
      {kept.map((each) => (
        <RunCard key={each.id} run={each} by={each.by} at={each.at} />
      ))}
      {live.length + kept.length === 0 && <p className="faint">The draft runs with the examples of its variables. Everybody here sees the answer as it comes; the latest eight stay.</p>}
    </section>
  );
}

function RunCard({ run, by, at }: { run: SharedRun; by: KeptRun["by"]; at?: number }) {
  const { slug } = useProject();
  return (
    <article className="t-run" aria-label={`Run of ${by.name}`} aria-busy={isRunning(run)}>
      <header>
        <i style={{ background: by.color }} aria-hidden="true" />
        <span className="ellipsis">{by.name}</span>
        <span className="faint">{at === undefined ? stateOf(run) : <Ago at={new Date(at).toISOString()} />}</span>
      </header>
      {run.error ? <p className="field-error">{run.error}</p> : <p className="t-answer">{run.text || (isRunning(run) ? "" : "No text came.")}</p>}
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

function Figures({ run }: { run: SharedRun }) {
  if (run.tokens === 0) return null;
  return (
    <span title={run.tokensPerSecond === null ? undefined : `${run.tokensPerSecond} tokens a second`}>
      {run.tokens} tokens{run.tokensPerSecond !== null && ` · ${run.tokensPerSecond.toPrecision(3)}/s`}
    </span>
  );
}

const stateOf = ({ state }: SharedRun): string => (state === "waiting" ? "waits" : state === "streaming" ? "answers" : state);
