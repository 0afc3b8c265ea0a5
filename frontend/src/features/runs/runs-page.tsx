import "@/components/table.css";
import "./runs.css";

import { ListVideo, Plus } from "lucide-react";
import { useState } from "react";
import { useLocation } from "wouter";

import { Button } from "@/components/button";
import { Code } from "@/components/code";
import { Page } from "@/components/page";
import { Empty, Failure, Skeleton } from "@/components/states";
import { useHotkey } from "@/hooks/use-hotkey";
import { useMay, useProject } from "@/hooks/use-project";
import { useUrl } from "@/hooks/use-url";

import { useRuns } from "./api";
import { NewRunPage } from "./new-run";
import { RunsList } from "./runs-list";

export default function RunsPage() {
  const [params] = useUrl();
  return params.get("new") === "1" ? <NewRunPage /> : <ListPage />;
}

function ListPage() {
  const { slug } = useProject();
  const may = useMay("member");
  const [, go] = useLocation();
  const [, change] = useUrl();
  const [active, setActive] = useState<number | null>(null);
  const query = useRuns();
  const rows = (query.data?.pages ?? []).flatMap((page) => page.data);
  const more = query.hasNextPage && !query.isFetchingNextPage;
  const create = () => change({ new: "1" }, true);
  useHotkey("n", "New run", create, { enabled: may });
  return (
    <Page
      title="Runs"
      actions={
        may &&
        rows.length > 0 && (
          <Button variant="primary" icon={<Plus size={15} />} keys="n" onClick={create}>
            New run
          </Button>
        )
      }
    >
      {rows.length === 0 ? (
        <Without query={query} onCreate={may ? create : undefined} />
      ) : (
        <RunsList
          rows={rows}
          active={active}
          onActive={setActive}
          onOpen={(run) => go(`/p/${slug}/runs/${run.id}`)}
          onNearEnd={more ? () => void query.fetchNextPage() : undefined}
        />
      )}
    </Page>
  );
}

/** What stands where the list would be: nothing yet, a failure, or what to do. */
function Without({ query, onCreate }: { query: ReturnType<typeof useRuns>; onCreate?: () => void }) {
  if (query.isPending) return <Skeleton height={40} />;
  if (query.isError) return <Failure what="The runs could not be loaded" error={query.error} retry={() => void query.refetch()} />;
  return <NoRuns onCreate={onCreate} />;
}

function NoRuns({ onCreate }: { onCreate?: () => void }) {
  return (
    <div className="page-body">
      <Empty icon={<ListVideo size={24} />} title="Answer one prompt for many inputs">
        <p className="run-balance">A run takes a version of a prompt and a list of inputs, and the local engine answers them in one batch. Each answer has its trace.</p>
        {onCreate && (
          <Button variant="primary" icon={<Plus size={15} />} keys="n" onClick={onCreate}>
            New run
          </Button>
        )}
        <div className="run-code">
          <p>Inputs are lines of JSON, or a table with a column for each variable:</p>
          <Code text={'{"question": "Where is my parcel?"}\n{"question": "How do I send back shoes?"}'} label="Copy the example" />
        </div>
      </Empty>
    </div>
  );
}
