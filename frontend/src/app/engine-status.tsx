import { useQuery } from "@tanstack/react-query";

import { useProject } from "@/hooks/use-project";
import { engineQuery } from "@/lib/api/queries";
import type { Engine } from "@/lib/api/types";
import { formatBytes, formatRate } from "@/lib/format";

const STATES: Record<Engine["state"], string> = { ready: "ready", starting: "starting", down: "not running" };

/** The local engine at a glance: which model, whether it is there, what it does now. */
export function EngineStatus() {
  const { slug } = useProject();
  const { data: engine } = useQuery(engineQuery(slug));
  if (!engine) return null;
  return (
    <section className="engine" data-state={engine.state} aria-label="Local engine" title={details(engine)}>
      <div className="engine-name">
        <i className="engine-dot" />
        <span className="ellipsis">{engine.model ?? "Local engine"}</span>
      </div>
      <div className="engine-facts">
        <span>{doing(engine)}</span>
        {engine.state === "ready" && Boolean(engine.tokens_per_second) && <span>{formatRate(engine.tokens_per_second)}</span>}
      </div>
    </section>
  );
}

function doing(engine: Engine): string {
  if (engine.state !== "ready" || !engine.running) return STATES[engine.state];
  return engine.waiting ? `${engine.running} running, ${engine.waiting} waiting` : `${engine.running} running`;
}

function details(engine: Engine): string {
  const kv = engine.kv_tokens_total ? `KV cache ${engine.kv_tokens_used ?? 0} of ${engine.kv_tokens_total} tokens` : null;
  const memory = engine.memory_bytes ? `${formatBytes(engine.memory_bytes)} resident` : null;
  return [engine.device, kv, memory].filter(Boolean).join(" · ");
}
