import "./datasets.css";

import { useQuery } from "@tanstack/react-query";
import { Database, Plus } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import { Redirect, useLocation } from "wouter";

import { Button } from "@/components/button";
import { Code } from "@/components/code";
import { Grid, type Column } from "@/components/grid";
import { Link } from "@/components/link";
import { Page } from "@/components/page";
import { SearchField } from "@/components/search-field";
import { Empty, Loaded, Skeleton } from "@/components/states";
import { Tabs } from "@/components/tabs";
import { Ago } from "@/components/time";
import { useHotkey } from "@/hooks/use-hotkey";
import { useMedia } from "@/hooks/use-media";
import { useMay, useProject } from "@/hooks/use-project";
import { useUrl, useUrlValue } from "@/hooks/use-url";
import { datasetsQuery } from "@/lib/api/queries";
import type { Dataset } from "@/lib/api/types";
import { formatCount } from "@/lib/format";

import { Experiments } from "./experiments";

const NewDataset = lazy(() => import("./new-dataset"));

export default function DatasetsPage() {
  const { slug } = useProject();
  const [params] = useUrl();
  const baseline = params.get("baseline"); // links that SDKs print name an experiment so
  if (baseline) return <Redirect to={`/p/${slug}/experiments/${encodeURIComponent(baseline)}`} replace />;
  return <AllDatasets experiments={params.get("tab") === "experiments"} />;
}

function AllDatasets({ experiments }: { experiments: boolean }) {
  const { slug } = useProject();
  const may = useMay("member");
  const query = useQuery(datasetsQuery(slug));
  const [asking, ask] = useUrlValue("new");
  const create = () => ask("1", true);
  useHotkey("n", "New dataset", create, { enabled: may });
  return (
    <Page
      title="Datasets"
      actions={
        may &&
        Boolean(query.data?.length) && (
          <Button variant="primary" icon={<Plus size={15} />} keys="n" onClick={create}>
            New dataset
          </Button>
        )
      }
    >
      <Tabs
        label="Datasets and experiments"
        current={experiments ? "experiments" : "datasets"}
        tabs={[
          { id: "datasets", label: "Datasets", count: query.data?.length },
          { id: "experiments", label: "Experiments" },
        ]}
      />
      {experiments ? (
        <Experiments />
      ) : (
        <Loaded query={query} what="The datasets" skeleton={<Skeleton height={40} />}>
          {(rows) => (rows.length === 0 ? <NoDatasets onCreate={may ? create : undefined} /> : <List rows={rows} />)}
        </Loaded>
      )}
      <Suspense>{asking === "1" && may && <NewDataset onClose={() => ask(null)} />}</Suspense>
    </Page>
  );
}

function List({ rows }: { rows: Dataset[] }) {
  const { slug } = useProject();
  const [, go] = useLocation();
  const [q, setQ] = useUrlValue("q");
  const [active, setActive] = useState<number | null>(null);
  const wide = useMedia("(min-width: 820px)");
  const shown = q ? rows.filter((row) => row.name.toLowerCase().includes(q.toLowerCase())) : rows;
  const open = (row: Dataset | undefined) => row && go(`/p/${slug}/datasets/${row.id}`);
  return (
    <>
      <div className="ds-bar">
        <SearchField label="Search datasets" placeholder="Name or folder" value={q ?? ""} onChange={(value) => setQ(value || null)} onEnter={() => open(shown[0])} />
      </div>
      {shown.length === 0 ? (
        <Empty title={`No dataset is called “${q}”`} />
      ) : (
        <Grid label="Datasets" columns={COLUMNS.filter(({ id }) => wide || ["name", "items"].includes(id))} rows={shown} keyOf={(row) => row.id} active={active} onActive={setActive} onOpen={open} />
      )}
    </>
  );
}

const COLUMNS: Column<Dataset>[] = [
  { id: "name", title: "Name", width: "minmax(180px, 3fr)", cell: (row) => <Name row={row} /> },
  { id: "items", title: "Items", width: "80px", end: true, cell: (row) => formatCount(row.item_count) },
  { id: "runs", title: "Runs", width: "80px", end: true, cell: (row) => formatCount(row.run_count) },
  { id: "latest", title: "Latest run", width: "110px", end: true, cell: (row) => <span className="muted"><Ago at={row.latest_run_at} /></span> },
  { id: "updated", title: "Changed", width: "110px", end: true, cell: (row) => <span className="muted"><Ago at={row.updated_at} /></span> },
];

function Name({ row }: { row: Dataset }) {
  const { slug } = useProject();
  const folders = row.name.split("/");
  const last = folders.pop();
  return (
    <Link href={`/p/${slug}/datasets/${row.id}`} className="table-name ellipsis ds-name" title={row.description || row.name}>
      {folders.length > 0 && <span className="faint">{folders.join(" / ")} / </span>}
      {last}
    </Link>
  );
}

const EXAMPLE = `from langfuse import get_client

langfuse = get_client()
langfuse.create_dataset(name="capitals")
langfuse.create_dataset_item(dataset_name="capitals", input={"country": "France"}, expected_output="Paris")`;

function NoDatasets({ onCreate }: { onCreate?: () => void }) {
  return (
    <div className="page-body">
      <Empty icon={<Database size={24} />} title="Keep the inputs that matter">
        <p className="ds-balance">A dataset holds inputs with what is expected of them. Run every change of a prompt or a model over it, and compare the runs item by item. In a trace, press d to add what you see.</p>
        {onCreate && (
          <Button variant="primary" icon={<Plus size={15} />} keys="n" onClick={onCreate}>
            New dataset
          </Button>
        )}
        <div className="ds-code">
          <p>The Langfuse SDK fills one, too:</p>
          <Code text={EXAMPLE} label="Copy the example" />
        </div>
      </Empty>
    </div>
  );
}
