import "./compare.css";

import { useQuery } from "@tanstack/react-query";
import { ArrowLeftRight } from "lucide-react";
import { useMemo } from "react";
import { useLocation } from "wouter";

import { Button } from "@/components/button";
import { Keys } from "@/components/keys";
import { Link } from "@/components/link";
import { Page } from "@/components/page";
import { Empty, Loaded, Skeleton } from "@/components/states";
import { TypeIcon } from "@/components/type-icon";
import { useHotkey } from "@/hooks/use-hotkey";
import { useProject } from "@/hooks/use-project";
import { useUrl } from "@/hooks/use-url";
import { traceQuery } from "@/lib/api/queries";
import type { Observation, Trace, TraceDetail } from "@/lib/api/types";
import { diffWords, type Change } from "@/lib/diff";
import { formatCost, formatCount, formatDuration, formatMoment, formatPercent, formatTime } from "@/lib/format";

import { alignSteps } from "./align";

/** Two traces side by side: figures, steps, and what was said. */
export default function ComparePage() {
  const { slug } = useProject();
  const [, go] = useLocation();
  const [params, change] = useUrl();
  const [a, b] = [params.get("a"), params.get("b")];
  const swap = () => change({ a: b, b: a });
  useHotkey("x", "Swap the sides", swap);
  useHotkey("Escape", "Back to the traces", () => go(`/p/${slug}/traces`));
  return (
    <Page title="Compare traces" path={[{ title: "Traces", href: `/p/${slug}/traces` }]} actions={a && b && <Button icon={<ArrowLeftRight size={15} />} keys="x" onClick={swap}>Swap</Button>}>
      {a && b ? <Compared a={a} b={b} /> : <NoTwo />}
    </Page>
  );
}

function NoTwo() {
  const { slug } = useProject();
  const [, go] = useLocation();
  return (
    <Empty icon={<ArrowLeftRight size={24} />} title="Choose two traces">
      <p>
        In the list of traces, press <Keys keys="c" />
        <span className="sr-only">c</span> on one row and then on another.
      </p>
      <Button onClick={() => go(`/p/${slug}/traces`)}>Go to the traces</Button>
    </Empty>
  );
}

function Compared({ a, b }: { a: string; b: string }) {
  const { slug } = useProject();
  const one = useQuery(traceQuery(slug, a));
  const other = useQuery(traceQuery(slug, b));
  return (
    <Loaded query={one} what="The first trace" skeleton={<Skeleton rows={12} />}>
      {(left) => (
        <Loaded query={other} what="The second trace" skeleton={<Skeleton rows={12} />}>
          {(right) => (
            <div className="compare" tabIndex={0} role="region" aria-label="Comparison">
              <Figures a={left.trace} b={right.trace} />
              <Steps a={left} b={right} />
              <Texts name="Input" a={left.trace.input} b={right.trace.input} />
              <Texts name="Output" a={left.trace.output} b={right.trace.output} />
            </div>
          )}
        </Loaded>
      )}
    </Loaded>
  );
}

const FIGURES: { name: string; value: (t: Trace) => number | null; show: (value: number | null) => string }[] = [
  { name: "Latency", value: (t) => t.duration_ms, show: formatDuration },
  { name: "First token", value: (t) => t.ttft_ms, show: formatDuration },
  { name: "Observations", value: (t) => t.observation_count, show: formatCount },
  { name: "Errors", value: (t) => t.error_count, show: formatCount },
  { name: "Input tokens", value: (t) => t.input_tokens, show: formatCount },
  { name: "Output tokens", value: (t) => t.output_tokens, show: formatCount },
  { name: "Cost", value: (t) => (t.cost === null ? null : Number(t.cost)), show: formatCost },
];

function Figures({ a, b }: { a: Trace; b: Trace }) {
  const { slug } = useProject();
  return (
    <table className="compare-figures">
      <thead>
        <tr>
          <th scope="col">Trace</th>
          {[a, b].map((trace, index) => (
            <td key={index} className="num">
              <Link href={`/p/${slug}/traces/${trace.id}`} className="table-name" title={trace.name}>
                {trace.name}
              </Link>{" "}
              <time className="faint" dateTime={trace.started_at} title={formatMoment(trace.started_at)}>
                {formatTime(trace.started_at)}
              </time>
            </td>
          ))}
          <td className="num faint">Change</td>
        </tr>
      </thead>
      <tbody>
        {FIGURES.map(({ name, value, show }) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td className="num">{show(value(a))}</td>
            <td className="num">{show(value(b))}</td>
            <td className={`num ${(value(b) ?? 0) > (value(a) ?? 0) ? "worse" : "muted"}`}>{changeOf(value(a), value(b))}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function changeOf(a: number | null, b: number | null): string {
  if (a === null || b === null) return "—";
  if (a === b) return "same";
  if (a === 0) return "new";
  const times = b / a;
  if (times >= 10) return `× ${formatCount(times)}`;
  return `${times > 1 ? "+" : "−"}${formatPercent(Math.abs(times - 1))}`;
}

function Steps({ a, b }: { a: TraceDetail; b: TraceDetail }) {
  const steps = useMemo(() => alignSteps(a.observations, b.observations), [a, b]);
  return (
    <section className="compare-steps" aria-label="Steps">
      <h2>Steps</h2>
      {steps.map((step, index) => (
        <div className="compare-step" key={index}>
          <StepSide step={step.a} trace={a.trace.id} />
          <StepSide step={step.b} trace={b.trace.id} />
        </div>
      ))}
    </section>
  );
}

function StepSide({ step, trace }: { step: Observation | undefined; trace: string }) {
  const { slug } = useProject();
  if (!step) return <div data-missing="true">not here</div>;
  return (
    <div>
      <TypeIcon type={step.type} failed={step.status === "error"} />
      <Link href={`/p/${slug}/traces/${trace}?o=${step.id}`} className="table-name ellipsis">
        {step.name}
      </Link>
      {step.model && step.model !== step.name && <span className="faint ellipsis">{step.model}</span>}
      <span className="num">{formatDuration(step.duration_ms)}</span>
    </div>
  );
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : value === null || value === undefined ? "" : JSON.stringify(value, null, 2));

function Texts({ name, a, b }: { name: string; a: unknown; b: unknown }) {
  const changes = useMemo(() => diffWords(textOf(a), textOf(b)), [a, b]);
  const same = changes.every((change) => change.kind === "same");
  return (
    <section className="compare-texts" aria-label={name}>
      <h2>
        {name} {same && <small className="faint">the same in both</small>}
      </h2>
      <div className="compare-sides">
        <Side changes={changes} without="add" />
        <Side changes={changes} without="del" />
      </div>
    </section>
  );
}

function Side({ changes, without }: { changes: Change[]; without: Change["kind"] }) {
  return (
    <pre>
      {changes
        .filter((change) => change.kind !== without)
        .map((change, index) => (change.kind === "same" ? <span key={index}>{change.text}</span> : change.kind === "add" ? <ins key={index}>{change.text}</ins> : <del key={index}>{change.text}</del>))}
    </pre>
  );
}
