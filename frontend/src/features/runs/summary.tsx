import { ModelTag } from "@/components/badge";
import { Link } from "@/components/link";
import { Progress } from "@/components/progress";
import { Ago } from "@/components/time";
import { useNow } from "@/hooks/use-now";
import { useProject } from "@/hooks/use-project";
import { promptHref } from "@/lib/api/prompts";
import { modelColor } from "@/lib/palette";
import type { Run } from "@/lib/api/types";

import { closedCount, factsOf } from "./progress";

/** How far the run is, how fast, and what it is made of. */
export function Summary({ run }: { run: Run }) {
  const { slug } = useProject();
  const now = useNow(1000);
  const parameters = Object.entries(run.parameters ?? {});
  return (
    <section className="run-summary" aria-label="Progress">
      <Progress done={run.done} failed={run.failed} total={run.total} label={`${closedCount(run)} of ${run.total} answered`} />
      <div className="run-facts">
        <dl>
          {factsOf(run, now).map((fact) => (
            <div key={fact.name} title={fact.title}>
              <dt>{fact.name}</dt>
              <dd data-tone={fact.tone}>{fact.value}</dd>
            </div>
          ))}
        </dl>
        <div className="run-made-of muted">
          <Link href={`${promptHref(slug, run.prompt.name)}?v=${run.prompt.version}`} className="table-name">
            {run.prompt.name} <span className="faint">v{run.prompt.version}</span>
          </Link>
          <ModelTag model={run.model} color={modelColor(run.model)} />
          {parameters.map(([name, value]) => (
            <span key={name} className="mono faint run-parameter">
              {name} {JSON.stringify(value)}
            </span>
          ))}
          <span className="faint">
            {run.author && `${run.author} · `}
            <Ago at={run.created_at} />
          </span>
        </div>
      </div>
    </section>
  );
}
