import { useQuery } from "@tanstack/react-query";
import { GitBranchPlus, GitMerge, MoreHorizontal } from "lucide-react";
import { useState, type FormEvent } from "react";

import { Badge } from "@/components/badge";
import { Button, IconButton } from "@/components/button";
import { Input } from "@/components/field";
import Here, { HereLook } from "@/components/here";
import { Link } from "@/components/link";
import { Menu, MenuItem } from "@/components/menu";
import { Loaded } from "@/components/states";
import { Ago } from "@/components/time";
import { VersionGraph } from "@/components/version-graph";
import { useMay, useProject } from "@/hooks/use-project";
import { useUrl } from "@/hooks/use-url";
import { announce } from "@/lib/announce";
import { messageOf } from "@/lib/api/client";
import { graphQuery, togetherHref } from "@/lib/api/prompts";
import type { DraftRow } from "@/lib/api/types";

import type { PanelProps } from "./panels";
import { draftsQuery, useDrafts } from "./review-api";

/** The prompt's drafts: each a branch of a version, with a room of its own. */
export default function DraftsPanel({ draft, name }: PanelProps) {
  const { slug } = useProject();
  const drafts = useQuery(draftsQuery(slug, name));
  const graph = useQuery(graphQuery(slug, name));
  const may = useMay("member");
  return (
    <>
      <section aria-labelledby="rv-drafts">
        <h2 id="rv-drafts">Drafts</h2>
        <HereLook />
        <Loaded query={drafts} what="The drafts">
          {(all) => <DraftLists all={all} here={draft.id} name={name} />}
        </Loaded>
        {may && <NewDraft name={name} />}
      </section>
      <section aria-labelledby="rv-graph">
        <h2 id="rv-graph">Versions</h2>
        <Loaded query={graph} what="The versions">
          {(found) => <VersionGraph name={name} graph={found} current={draft.id} />}
        </Loaded>
      </section>
    </>
  );
}

function DraftLists({ all, here, name }: { all: DraftRow[]; here: string; name: string }) {
  const closed = all.filter(({ status }) => status === "closed");
  return (
    <>
      <ul className="rv-drafts">
        {all
          .filter(({ status }) => status === "open")
          .map((row) => (
            <OneDraft key={row.id} row={row} here={here} name={name} />
          ))}
      </ul>
      {closed.length > 0 && (
        <details className="rv-settled">
          <summary>{closed.length} closed</summary>
          <ul className="rv-drafts">
            {closed.map((row) => (
              <OneDraft key={row.id} row={row} here={here} name={name} />
            ))}
          </ul>
        </details>
      )}
    </>
  );
}

function OneDraft({ row, here, name }: { row: DraftRow; here: string; name: string }) {
  const { slug } = useProject();
  const may = useMay("member");
  const [renaming, setRenaming] = useState(false);
  if (renaming) return <Rename row={row} name={name} onDone={() => setRenaming(false)} />;
  const isHere = row.id === here;
  return (
    <li>
      <Link href={togetherHref(slug, name, row.name === "main" ? undefined : row.id)} aria-current={isHere ? "true" : undefined}>
        <span className="rv-draft-name ellipsis">{row.name}</span>
        {row.base_version !== null && <Badge>on v{row.base_version}</Badge>}
        <span className="faint rv-draft-by ellipsis">
          {row.people.length > 0 ? row.people.join(", ") : "nobody wrote yet"} · <Ago at={row.updated_at} />
        </span>
      </Link>
      {row.status === "open" && <Here prompt={name} draft={row.id} />}
      {may && <DraftMenu row={row} here={here} name={name} onRename={() => setRenaming(true)} />}
    </li>
  );
}

function DraftMenu({ row, here, name, onRename }: { row: DraftRow; here: string; name: string; onRename: () => void }) {
  const [, goTo] = useUrl();
  const { change } = useDrafts(name);
  const set = (status: "open" | "closed") =>
    change.mutate(
      { id: row.id, status },
      {
        onSuccess: () => announce(status === "open" ? `${row.name} is open again` : `${row.name} is closed; it can be opened again`),
        onError: (error) => announce(`Not changed: ${messageOf(error)}`, "error"),
      },
    );
  return (
    <Menu align="end" trigger={<IconButton label={`What to do with ${row.name}`} icon={<MoreHorizontal size={14} />} />}>
      {row.id !== here && (
        <MenuItem icon={<GitMerge size={14} />} onSelect={() => goTo({ merge: `draft:${row.id}` }, true)}>
          Merge into this draft…
        </MenuItem>
      )}
      {row.name !== "main" && <MenuItem onSelect={onRename}>Rename</MenuItem>}
      {row.status === "closed" ? (
        <MenuItem onSelect={() => set("open")}>Open again</MenuItem>
      ) : (
        <MenuItem onSelect={() => set("closed")}>Close</MenuItem>
      )}
    </Menu>
  );
}

function Rename({ row, name, onDone }: { row: DraftRow; name: string; onDone: () => void }) {
  const [text, setText] = useState(row.name);
  const { change } = useDrafts(name);
  const save = (event: FormEvent) => {
    event.preventDefault();
    change.mutate({ id: row.id, name: text }, { onSuccess: onDone });
  };
  return (
    <li>
      <form className="rv-row" onSubmit={save}>
        <Input autoFocus aria-label={`New name of ${row.name}`} maxLength={80} value={text} onChange={(event) => setText(event.target.value)} onKeyDown={(event) => event.key === "Escape" && onDone()} />
        <Button type="submit" size="small" busy={change.isPending}>
          Rename
        </Button>
      </form>
      {change.error && <p className="field-error">{messageOf(change.error)}</p>}
    </li>
  );
}

function NewDraft({ name }: { name: string }) {
  const [text, setText] = useState("");
  const [, goTo] = useUrl();
  const { make } = useDrafts(name);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!text.trim()) return;
    make.mutate(
      { name: text },
      {
        onSuccess: (row) => {
          setText("");
          announce(`Draft ${row.name} made`);
          goTo({ draft: row.id }, true);
        },
      },
    );
  };
  return (
    <form className="rv-row" onSubmit={submit}>
      <Input aria-label="Name of a new draft" placeholder="New draft" title="It starts from the latest version" maxLength={80} value={text} onChange={(event) => setText(event.target.value)} />
      <Button type="submit" icon={<GitBranchPlus size={14} />} busy={make.isPending}>
        Branch
      </Button>
      {make.error && (
        <p className="field-error" role="alert">
          {messageOf(make.error)}
        </p>
      )}
    </form>
  );
}
