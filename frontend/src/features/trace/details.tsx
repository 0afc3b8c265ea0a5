import type { ReactNode } from "react";

import { CopyButton } from "@/components/copy";
import { JsonTree } from "@/components/json-tree";
import type { Observation, Trace } from "@/lib/api/types";
import { formatCost, formatCount, formatMoment } from "@/lib/format";

/** Everything else that was recorded. */
export function Details({ trace, observation: o }: { trace: Trace; observation: Observation }) {
  return (
    <div className="details">
      <Group title="Identity">
        <Fact name="Id" value={o.id} copy />
        <Fact name="Type" value={o.type} />
        <Fact name="Started" value={formatMoment(o.started_at)} />
        <Fact name="Ended" value={o.ended_at ? formatMoment(o.ended_at) : "not yet"} />
        <Fact name="Level" value={o.level} />
      </Group>
      <Parameters parameters={o.model_parameters} />
      {o.usage && Object.keys(o.usage).length > 0 && (
        <Group title="Usage and cost">
          {Object.entries(o.usage).map(([kind, tokens]) => (
            <Fact key={kind} name={kind} value={`${formatCount(tokens)} tokens`} aside={costOf(o, kind)} />
          ))}
        </Group>
      )}
      <Tree title="Metadata" value={o.metadata} />
      <Tree title="Attributes" value={o.attributes} />
      <Tree title="Events" value={o.events} />
      <Tree title="Metadata of the trace" value={trace.metadata} />
    </div>
  );
}

function costOf(o: Observation, kind: string): string | undefined {
  const cost = o.cost?.[kind as "input"];
  return cost === undefined || cost === null ? undefined : formatCost(cost);
}

function Parameters({ parameters }: { parameters: Observation["model_parameters"] }) {
  const entries = Object.entries(parameters ?? {});
  if (entries.length === 0) return null;
  return (
    <Group title="Parameters">
      {entries.map(([name, value]) => (
        <Fact key={name} name={name} value={typeof value === "string" ? value : JSON.stringify(value)} />
      ))}
    </Group>
  );
}

function Group({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section>
      <h3>{title}</h3>
      <dl>{children}</dl>
    </section>
  );
}

function Fact({ name, value, aside, copy }: { name: string; value: string; aside?: string; copy?: boolean }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd className="mono">
        {value}
        {aside && <span className="faint"> {aside}</span>}
        {copy && <CopyButton text={value} label={`Copy ${name.toLowerCase()}`} />}
      </dd>
    </div>
  );
}

function Tree({ title, value }: { title: string; value: unknown }) {
  if (typeof value !== "object" || value === null || Object.keys(value).length === 0) return null;
  return (
    <section>
      <h3>{title}</h3>
      <JsonTree value={value} />
    </section>
  );
}
