import "./runs.css";

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { FileQuestion } from "lucide-react";
import { useLocation, useParams } from "wouter";

import { Button } from "@/components/button";
import { Page } from "@/components/page";
import { Empty, Loaded } from "@/components/states";
import { useLive } from "@/hooks/use-live";
import { useProject } from "@/hooks/use-project";
import { ApiError } from "@/lib/api/client";
import { runQuery } from "@/lib/api/queries";
import type { Run } from "@/lib/api/types";

import { takeRun } from "./api";
import { isOpen } from "./progress";
import { Items } from "./items";
import { RunActions } from "./run-actions";
import { State } from "./run-state";
import { Summary } from "./summary";

/** The live feed tells of progress; what it missed, as while it was opening, is asked for. */
const CHECK_MS = 5000;

export default function RunPage() {
  const { runId = "" } = useParams<{ runId: string }>();
  return <OneRun key={runId} id={runId} />;
}

function OneRun({ id }: { id: string }) {
  const { slug } = useProject();
  const queries = useQueryClient();
  const query = useQuery({ ...runQuery(slug, id), refetchInterval: ({ state }) => (state.data && isOpen(state.data) ? CHECK_MS : false) });
  useLive(slug, "run", (run) => String(run.id) === id && takeRun(queries, slug, run));
  const run = query.data as Run | undefined;
  const missing = query.error instanceof ApiError && query.error.status === 404;
  return (
    <Page
      title={run ? run.name || `Run ${id}` : "Run"}
      path={[{ title: "Runs", href: `/p/${slug}/runs` }]}
      aside={run && <State state={run.state} word />}
      actions={run && <RunActions run={run} />}
    >
      {missing ? (
        <NoRun id={id} />
      ) : (
        <Loaded query={query} what="The run">
          {(loaded) => (
            <>
              <Summary run={loaded} />
              <Items run={loaded} />
            </>
          )}
        </Loaded>
      )}
    </Page>
  );
}

function NoRun({ id }: { id: string }) {
  const { slug } = useProject();
  const [, go] = useLocation();
  return (
    <Empty icon={<FileQuestion size={24} />} title={`There is no run ${id} in this project`}>
      <Button onClick={() => go(`/p/${slug}/runs`)}>All runs</Button>
    </Empty>
  );
}
