import { lazy, Suspense, useMemo } from "react";

import { Badge, ModelTag } from "@/components/badge";
import { CopyButton } from "@/components/copy";
import { JsonTree } from "@/components/json-tree";
import { Link } from "@/components/link";
import { Turn, type Reading } from "@/components/turn";
import { ViewPanel, ViewTabs } from "@/components/view-tabs";
import { useHotkey } from "@/hooks/use-hotkey";
import { useProject } from "@/hooks/use-project";
import { useRemembered } from "@/hooks/use-remembered";
import { useUrl } from "@/hooks/use-url";
import type { Observation, Trace } from "@/lib/api/types";
import { turnsOf } from "@/lib/conversation";
import { mediaIn } from "@/lib/media";
import { modelColor } from "@/lib/palette";

import { Figures } from "./figures";
import { Timeline } from "./timeline";
import { TypeIcon } from "./type-icon";
import { isHere, useSaid } from "./use-said";

const Chips = lazy(() => import("./score-chips"));
const Files = lazy(() => import("@/components/media"));
const SaidView = lazy(() => import("./said-view"));
const Details = lazy(async () => ({ default: (await import("./details")).Details }));
const Json = lazy(() => import("./json-view"));
const Graph = lazy(() => import("./graph-view"));

const VIEWS = { conversation: "Conversation", json: "JSON", details: "Details", graph: "Graph", said: "Scores and comments" } as const;

export function ObservationView({ trace, observation, all }: { trace: Trace; observation: Observation; all: Observation[] }) {
  const [params, change] = useUrl();
  const asked = params.get("view") ?? "";
  const view = asked in VIEWS ? (asked as keyof typeof VIEWS) : "conversation";
  const [reading, setReading] = useRemembered<Reading>("reading", "markdown");
  const said = useSaid(trace.id);
  useHotkey("s", "Scores and comments", () => change({ view: "said" }), { enabled: view !== "said" });
  return (
    <section className="observation" aria-label={observation.name}>
      <header className="observation-head">
        <div className="observation-name">
          <TypeIcon type={observation.type} failed={observation.status === "error"} />
          <h2 className="ellipsis" title={observation.name}>
            {observation.name}
          </h2>
          {observation.model && observation.model !== observation.name && <ModelTag model={observation.model} color={modelColor(observation.model)} />}
          <PromptLink observation={observation} />
        </div>
        <Figures observation={observation} />
        <Timeline observation={observation} all={all} />
        <Suspense>{said.scores.data && <Chips scores={said.scores.data.filter((score) => isHere(score, observation))} />}</Suspense>
        {observation.status_message && <p className="observation-error">{observation.status_message}</p>}
      </header>
      <div className="tab-bar">
        <ViewTabs label="Views" views={VIEWS} current={view} onChange={(next) => change({ view: next === "conversation" ? null : next })} />
        <Beside view={view} observation={observation} reading={reading} onReading={setReading} />
      </div>
      <ViewPanel current={view} className="tab-body">
        <Suspense>
          {view === "said" ? (
            <SaidView key={observation.id} traceId={trace.id} observation={observation} said={said} />
          ) : view === "graph" ? (
            <Graph observations={all} selected={observation.id} onSelect={(id) => change({ o: id })} />
          ) : (
            <Recorded key={observation.id} view={view} trace={trace} observation={observation} reading={reading} />
          )}
        </Suspense>
      </ViewPanel>
    </section>
  );
}

interface BesideProps {
  view: keyof typeof VIEWS;
  observation: Observation;
  reading: Reading;
  onReading: (reading: Reading) => void;
}

/** What can be done with the view, at the end of its tabs. */
function Beside({ view, observation, reading, onReading }: BesideProps) {
  if (view === "said" || view === "graph") return null;
  if (view !== "conversation") return <CopyButton text={() => JSON.stringify(observation, null, 2)} label="Copy as JSON" />;
  return (
    <button type="button" className="reading" aria-pressed={reading === "markdown"} onClick={() => onReading(reading === "markdown" ? "plain" : "markdown")}>
      Markdown
    </button>
  );
}

function Recorded({ view, trace, observation, reading }: { view: "conversation" | "json" | "details"; trace: Trace; observation: Observation; reading: Reading }) {
  if (view === "json") return <Json observation={observation} />;
  return view === "details" ? <Details trace={trace} observation={observation} /> : <Conversation observation={observation} reading={reading} />;
}

function PromptLink({ observation }: { observation: Observation }) {
  const { slug } = useProject();
  const prompt = observation.prompt;
  if (!prompt) return null;
  const version = prompt.version === null ? "" : `?v=${prompt.version}`;
  return (
    <Link href={`/p/${slug}/prompts/${prompt.name}${version}`} className="observation-prompt" title="The prompt of this call">
      <Badge tone="accent">
        {prompt.name}
        {prompt.version !== null && ` v${prompt.version}`}
      </Badge>
    </Link>
  );
}

function Conversation({ observation, reading }: { observation: Observation; reading: Reading }) {
  const { input, output } = observation;
  const asked = useMemo(() => turnsOf(input, "user"), [input]);
  const answered = useMemo(() => turnsOf(output, "assistant"), [output]);
  const nothing = isNothing(input) && isNothing(output);
  if (nothing) return <p className="tab-empty faint">This observation recorded no input and no output.</p>;
  return (
    <>
      <Side turns={asked} value={input} name="Input" reading={reading} />
      {mediaIn(input).length > 0 && <Files value={input} />}
      <Side turns={answered} value={output} name="Output" reading={reading} />
      {mediaIn(output).length > 0 && <Files value={output} />}
    </>
  );
}

const isNothing = (value: unknown) => value === null || value === undefined;

function Side({ turns, value, name, reading }: { turns: ReturnType<typeof turnsOf>; value: unknown; name: string; reading: Reading }) {
  if (isNothing(value)) return null;
  if (turns) return turns.map((turn, index) => <Turn key={index} turn={turn} reading={reading} />);
  return (
    <div className="observation-json">
      <h3>{name}</h3>
      <JsonTree value={value} open={3} />
    </div>
  );
}
