import "@/components/table.css";

import { useQuery } from "@tanstack/react-query";
import { Columns3 } from "lucide-react";

import { Button } from "@/components/button";
import { Code } from "@/components/code";
import { MeanChip } from "@/components/score-chip";
import { Empty, Loaded } from "@/components/states";
import { Ago } from "@/components/time";
import { useHotkey } from "@/hooks/use-hotkey";
import { useProject } from "@/hooks/use-project";
import { useUrl } from "@/hooks/use-url";
import type { Dataset, DatasetRun } from "@/lib/api/types";
import { formatCost, formatCount, formatDuration, plural } from "@/lib/format";

import { datasetRunsQuery } from "./api";

export const MOST_RUNS = 6;

/** The runs of a dataset; some of them are chosen to stand side by side. */
export function Runs({ dataset, chosen }: { dataset: Dataset; chosen: string[] }) {
  const { slug } = useProject();
  const [, change] = useUrl();
  const query = useQuery(datasetRunsQuery(slug, dataset.id));
  const compare = () => change({ tab: "compare" }, true);
  useHotkey("c", "Compare the chosen runs", compare, { enabled: chosen.length > 0 });
  const toggle = (id: string) => change({ runs: (chosen.includes(id) ? chosen.filter((one) => one !== id) : [...chosen, id]).join(",") || null });
  return (
    <Loaded query={query} what="The runs">
      {(runs) =>
        runs.length === 0 ? (
          <NoRuns name={dataset.name} />
        ) : (
          <>
            <div className="ds-bar">
              <Button icon={<Columns3 size={15} />} keys="c" disabled={chosen.length === 0} onClick={compare}>
                {chosen.length === 0 ? "Choose runs to compare" : `Compare ${plural(chosen.length, "run")}`}
              </Button>
            </div>
            <RunsTable runs={runs} chosen={chosen} onToggle={toggle} />
          </>
        )
      }
    </Loaded>
  );
}

function RunsTable({ runs, chosen, onToggle }: { runs: DatasetRun[]; chosen: string[]; onToggle: (id: string) => void }) {
  return (
    <div className="table-scroll ds-scroll" tabIndex={0} role="region" aria-label="Runs">
      <table className="table">
        <thead>
          <tr>
            <th scope="col">
              <span className="sr-only">Compare</span>
            </th>
            <th scope="col">Run</th>
            <th scope="col">Scores</th>
            <th scope="col" className="num">Items</th>
            <th scope="col" className="num">Errors</th>
            <th scope="col" className="num" title="Median of the executions">Latency</th>
            <th scope="col" className="num" title="USD of all executions whose cost is known">Cost</th>
            <th scope="col" className="num">Started</th>
          </tr>
        </thead>
        <tbody>
          {runs.map((run) => (
            <tr key={run.id} data-active={chosen.includes(run.id)}>
              <td className="ds-check">
                <input type="checkbox" aria-label={`Compare ${run.name}`} checked={chosen.includes(run.id)} disabled={!chosen.includes(run.id) && chosen.length >= MOST_RUNS} onChange={() => onToggle(run.id)} />
              </td>
              <td className="table-name" title={run.description || run.id}>
                {run.name}
              </td>
              <td>
                <RunScores run={run} />
              </td>
              <td className="num" title={plural(run.execution_count, "execution")}>{formatCount(run.item_count)}</td>
              <td className={`num ${run.error_count > 0 ? "ds-error" : "faint"}`}>{formatCount(run.error_count)}</td>
              <td className="num">{formatDuration(run.duration_ms)}</td>
              <td className="num" title={run.unpriced_count > 0 ? `The cost of ${plural(run.unpriced_count, "execution")} is not known` : undefined}>{formatCost(run.cost)}</td>
              <td className="num muted"><Ago at={run.started_at} /></td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Scores of the executions, then those of the run as a whole. */
export function RunScores({ run, most = 12 }: { run: DatasetRun; most?: number }) {
  const all = [...run.scores, ...run.run_scores];
  if (all.length === 0) return <span className="faint">—</span>;
  return (
    <span className="score-chips">
      {all.slice(0, most).map((mean, index) => (
        <MeanChip key={index} mean={mean} />
      ))}
      {all.length > most && <span className="faint">and {all.length - most} more</span>}
    </span>
  );
}

function NoRuns({ name }: { name: string }) {
  const example = `dataset = langfuse.get_dataset(${JSON.stringify(name)})\ndataset.run_experiment(name="first try", task=answer, evaluators=[exact])`;
  return (
    <Empty title="This dataset has not been run yet">
      <div className="ds-code">
        <p>An experiment of the Langfuse SDK makes a run:</p>
        <Code text={example} label="Copy the example" />
      </div>
    </Empty>
  );
}
