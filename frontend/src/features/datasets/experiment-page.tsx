import "./datasets.css";

import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Columns3, FileQuestion } from "lucide-react";
import { useLocation, useParams } from "wouter";

import { Button } from "@/components/button";
import { Page } from "@/components/page";
import { Empty, Loaded } from "@/components/states";
import { Ago } from "@/components/time";
import { useProject } from "@/hooks/use-project";
import { ApiError } from "@/lib/api/client";
import type { Experiment, ExperimentItem } from "@/lib/api/types";
import { formatCost, formatDuration, plural } from "@/lib/format";

import { AnswersTable, type AnswersRow } from "./answers-table";
import { executionsQuery, experimentQuery } from "./api";
import { RunScores } from "./runs";

/** One experiment: what it comes to, and each execution. */
export default function ExperimentPage() {
  const { slug } = useProject();
  const { runId = "" } = useParams<{ runId: string }>();
  const [, go] = useLocation();
  const query = useQuery(experimentQuery(slug, runId));
  const missing = query.error instanceof ApiError && query.error.status === 404;
  const dataset = query.data?.dataset;
  return (
    <Page
      title={query.data?.name ?? "Experiment"}
      path={[{ title: "Experiments", href: `/p/${slug}/datasets?tab=experiments` }]}
      actions={
        dataset && (
          <Button icon={<Columns3 size={15} />} onClick={() => go(`/p/${slug}/datasets/${dataset.id}?tab=runs&runs=${runId}`)}>
            Compare
          </Button>
        )
      }
    >
      {missing ? (
        <Empty icon={<FileQuestion size={24} />} title="There is no such experiment in this project">
          <p>Its spans may not have arrived yet.</p>
        </Empty>
      ) : (
        <Loaded query={query} what="The experiment">
          {(experiment) => (
            <>
              <Head experiment={experiment} />
              <Executions id={experiment.id} />
            </>
          )}
        </Loaded>
      )}
    </Page>
  );
}

function Head({ experiment: one }: { experiment: Experiment }) {
  return (
    <div className="ds-experiment">
      {one.description && <p className="muted">{one.description}</p>}
      {one.scores.length + one.run_scores.length > 0 && <RunScores run={one} />}
      <p className="faint">
        {one.dataset ? one.dataset.name : "Local data"} · {plural(one.execution_count, "execution")} · {plural(one.error_count, "error")} · {formatDuration(one.duration_ms)} median · {one.cost === null ? "cost unknown" : formatCost(one.cost)} · <Ago at={one.started_at} />
      </p>
    </div>
  );
}

function Executions({ id }: { id: string }) {
  const { slug } = useProject();
  const query = useInfiniteQuery(executionsQuery(slug, id));
  return <AnswersTable label="Executions" query={query} failure="The executions could not be loaded" more="More executions" columns={OUTPUT} rowOf={rowOf} />;
}

const OUTPUT = [{ id: "output", head: "Output" }];

const rowOf = ({ execution, input, expected_output, item_id }: ExperimentItem): AnswersRow => ({
  key: `${execution.trace_id}${execution.observation_id ?? ""}${item_id}`,
  input,
  expected: expected_output,
  answers: [[execution]],
});
