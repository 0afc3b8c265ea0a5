import { useQuery } from "@tanstack/react-query";

import { useProject } from "@/hooks/use-project";
import { engineQuery } from "@/lib/api/queries";
import type { Engine } from "@/lib/api/types";
import { formatBytes, formatCompact, formatCount, formatRate } from "@/lib/format";

import type { Connection } from "@/lib/api/types";

const STATES = { ready: "Ready", starting: "Starting", down: "Not running" };

/** The engine on this machine: it is set up by the command line, so here it is only told of. */
export function LocalEngine({ connection }: { connection: Connection }) {
  const { slug } = useProject();
  const engine = useQuery(engineQuery(slug)).data;
  const mine = engine && (engine.model === null || connection.models.includes(engine.model)) ? engine : undefined;
  return (
    <li className="connection connection-local" aria-label={connection.name}>
      <div className="connection-head">
        <i className="connection-dot" data-state={connection.status} />
        <h3>{connection.name}</h3>
        <span className="muted">{STATES[connection.status]}</span>
        <span className="faint connection-note">On this machine; set up by “hone up”</span>
      </div>
      <div className="connection-body">
        <code className="ellipsis" title={connection.models.join(", ")}>
          {connection.models.join(", ") || "no model"}
        </code>
        {mine && <EngineFacts engine={mine} />}
      </div>
    </li>
  );
}

function EngineFacts({ engine }: { engine: Engine }) {
  const facts = [
    engine.device,
    engine.context_length === null ? null : `${formatCompact(engine.context_length)} tokens of context`,
    engine.memory_bytes === null ? null : `${formatBytes(engine.memory_bytes)} of memory`,
    load(engine),
    engine.tokens_per_second ? formatRate(engine.tokens_per_second) : null,
  ];
  return <span className="muted connection-facts">{facts.filter(Boolean).join(" · ")}</span>;
}

function load({ running, waiting }: Engine): string | null {
  if (running === null) return null;
  return running === 0 && !waiting ? "idle" : `${formatCount(running)} running, ${formatCount(waiting)} waiting`;
}
