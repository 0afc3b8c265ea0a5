import "./measures.css";

import { useQuery } from "@tanstack/react-query";
import { ChartNoAxesColumn } from "lucide-react";

import { Segmented } from "@/components/segmented";
import { Empty, Loaded, Skeleton } from "@/components/states";
import { useProject } from "@/hooks/use-project";
import { useUrlValue } from "@/hooks/use-url";
import type { PromptFigures } from "@/lib/api/types";

import { CallsOf } from "./measures-calls";
import { Comparison } from "./measures-comparison";
import { axisOf, panelsOf, placeOf, type Mark, type Panel } from "./measures";
import { measuresQuery } from "./measures-api";
import type { Workspace } from "./use-workspace";

const RANGES = [
  { value: "1", label: "24 h" },
  { value: "7", label: "7 d" },
  { value: "30", label: "30 d" },
  { value: "90", label: "90 d" },
] as const;

/** What each version did: a panel a measure, two versions tested against each other, and the calls. */
export default function MeasuresTab({ name, work }: { name: string; work: Workspace }) {
  const { slug } = useProject();
  const [asked, setAsked] = useUrlValue("days");
  const range = RANGES.find(({ value }) => value === asked)?.value ?? "30";
  const query = useQuery(measuresQuery(slug, name, Number(range)));
  return (
    <div className="pm">
      <div className="p-preview-head">
        <h2 className="sr-only">Measures</h2>
        <span className="faint">Calls that name this prompt</span>
        <Segmented label="Time" options={RANGES} value={range} onChange={(value) => setAsked(value === "30" ? null : value)} />
      </div>
      <Loaded query={query} what="The measures" skeleton={<Skeleton rows={10} />}>
        {({ versions }) => <Measured name={name} work={work} days={Number(range)} figures={versions} />}
      </Loaded>
    </div>
  );
}

function Measured({ name, work, days, figures }: { name: string; work: Workspace; days: number; figures: PromptFigures[] }) {
  const called = figures.filter((of) => of.calls > 0).map((of) => of.version);
  if (called.length === 0) {
    return (
      <Empty icon={<ChartNoAxesColumn size={24} />} title={`No calls in ${days === 1 ? "24 hours" : `${days} days`}`}>
        <p className="p-balance">Call it through Hone (the Code tab has the lines), or name the prompt and its version in your own traces.</p>
      </Empty>
    );
  }
  return (
    <>
      <div className="pm-panels">
        {panelsOf(figures).map((panel) => (
          <PanelView key={panel.id} panel={panel} />
        ))}
      </div>
      {called.length > 1 && <Comparison name={name} work={work} days={days} called={called} />}
      <CallsOf name={name} days={days} called={called} />
    </>
  );
}

function PanelView({ panel }: { panel: Panel }) {
  const axis = axisOf(panel);
  return (
    <section className="pm-panel" aria-label={panel.title}>
      <h3 title={panel.meaning}>{panel.title}</h3>
      <ul>
        {panel.marks.map((mark) => (
          <li key={mark.version} title={tip(panel, mark)}>
            <span className="pm-version">v{mark.version}</span>
            <Track panel={panel} mark={mark} axis={axis} />
            <span className="pm-figure">{panel.kind === "range" ? ranged(panel, mark) : panel.format(mark.value)}</span>
          </li>
        ))}
      </ul>
      {panel.note && <p className="pm-note faint">{panel.note}</p>}
    </section>
  );
}

const ranged = ({ format }: Panel, { low, high }: Mark) => (low === null ? "—" : `${format(low)} – ${format(high)}`);

function tip(panel: Panel, mark: Mark): string {
  if (mark.value === null) return `Version ${mark.version}: not known`;
  const interval = panel.kind === "dot" && mark.low !== null ? `, 95 % interval ${panel.format(mark.low)} to ${panel.format(mark.high)}` : "";
  return `Version ${mark.version}: ${panel.kind === "range" ? ranged(panel, mark) : panel.format(mark.value)}${interval}, n = ${mark.n.toLocaleString("en-US")}`;
}

function Track({ panel: { kind }, mark: { value, low, high }, axis }: { panel: Panel; mark: Mark; axis: [number, number] }) {
  const at = (x: number) => placeOf(x, axis);
  return (
    <span className="pm-track" aria-hidden="true">
      {kind === "bar" && value !== null && <i className="pm-bar" style={{ width: `${at(value)}%` }} />}
      {kind !== "bar" && low !== null && high !== null && <i className="pm-interval" data-kind={kind} style={{ left: `${at(low)}%`, right: `${100 - at(high)}%` }} />}
      {kind === "dot" && value !== null && <i className="pm-dot" style={{ left: `${at(value)}%` }} />}
    </span>
  );
}
