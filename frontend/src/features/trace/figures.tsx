import type { ReactNode } from "react";

import type { Observation } from "@/lib/api/types";
import { formatCost, formatCount, formatDuration, formatMoment, formatRate, UNKNOWN } from "@/lib/format";

/** The figures of one call; each says on hover what it means and its exact value. */
export function Figures({ observation }: { observation: Observation }) {
  const { usage, cost, duration_ms, ttft_ms, tokens_per_second } = observation;
  const generation = observation.type.toLowerCase() === "generation";
  return (
    <dl className="figures">
      <Figure name="Latency" meaning={`From start to end: ${duration_ms ?? UNKNOWN} ms. Began ${formatMoment(observation.started_at)}`}>
        {formatDuration(duration_ms)}
      </Figure>
      {generation && (
        <>
          <Figure name="First token" meaning={ttft_ms === null ? "Known for streamed answers and for the local engine" : `Wait until the first token: ${ttft_ms} ms`}>
            {formatDuration(ttft_ms)}
          </Figure>
          <Figure name="Speed" meaning={`Output tokens a second after the first: ${tokens_per_second ?? UNKNOWN}`}>
            {formatRate(tokens_per_second)}
          </Figure>
          <Figure name="Input" meaning="Tokens of the prompt">
            <Tokens count={usage?.input} />
          </Figure>
          <Figure name="Output" meaning="Tokens of the answer">
            <Tokens count={usage?.output} />
          </Figure>
          <Figure name="Cost" meaning={costMeaning(cost)}>
            {formatCost(cost?.total)}
          </Figure>
        </>
      )}
    </dl>
  );
}

function Tokens({ count }: { count: number | undefined }) {
  if (count === undefined) return UNKNOWN;
  return (
    <>
      {formatCount(count)} <small>tok</small>
    </>
  );
}

function costMeaning(cost: Observation["cost"]): string {
  if (cost?.total === null || cost?.total === undefined) return "No price is known for this model";
  return `$${cost.total}: $${cost.input ?? UNKNOWN} input, $${cost.output ?? UNKNOWN} output`;
}

function Figure({ name, meaning, children }: { name: string; meaning: string; children: ReactNode }) {
  return (
    <div title={meaning}>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
