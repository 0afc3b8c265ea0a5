import { useInfiniteQuery, useQuery } from "@tanstack/react-query";

import { useProject } from "@/hooks/use-project";
import type { ComparedItem, Dataset, DatasetRun } from "@/lib/api/types";
import { formatCost, formatDuration } from "@/lib/format";

import { AnswersTable, type AnswersRow } from "./answers-table";
import { comparisonQuery, datasetRunsQuery } from "./api";
import { RunScores } from "./runs";

/** Runs side by side: what each comes to, then its answers item by item. */
export function Comparison({ dataset, runs }: { dataset: Dataset; runs: string[] }) {
  const { slug } = useProject();
  const known = useQuery(datasetRunsQuery(slug, dataset.id)).data ?? [];
  const query = useInfiniteQuery(comparisonQuery(slug, dataset.id, runs));
  const columns = runs.map((id) => ({ id, head: <Head run={known.find((run) => run.id === id)} id={id} /> }));
  return <AnswersTable label="Comparison" query={query} failure="The runs could not be compared" more="More items" columns={columns} rowOf={rowOf} />;
}

const rowOf = ({ item, runs }: ComparedItem): AnswersRow => ({
  key: item.id,
  input: item.input,
  expected: item.expected_output,
  answers: runs.map(({ executions }) => executions),
});

function Head({ run, id }: { run: DatasetRun | undefined; id: string }) {
  if (!run) return <span className="mono">{id}</span>;
  return (
    <div className="ds-head">
      <b>{run.name}</b>
      <RunScores run={run} />
      <span className="faint">
        {formatDuration(run.duration_ms)} median · {formatCost(run.cost)}
      </span>
    </div>
  );
}
