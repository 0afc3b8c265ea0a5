import "./prompts.css";

import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Archive, Plus } from "lucide-react";
import { lazy, Suspense, useMemo, useState } from "react";
import { useLocation } from "wouter";

import { Button } from "@/components/button";
import { Page } from "@/components/page";
import { SearchField } from "@/components/search-field";
import { Empty, Loaded, Skeleton } from "@/components/states";
import { useHotkey } from "@/hooks/use-hotkey";
import { useMay, useProject } from "@/hooks/use-project";
import { useRemembered } from "@/hooks/use-remembered";
import { useUrl } from "@/hooks/use-url";
import type { Prompt } from "@/lib/api/types";
import { allPromptsQuery, promptHref } from "@/lib/api/prompts";

import { archivedQuery, sayingQuery } from "./api";
import { found, rowsOf, type ListRow } from "./folders";
import { NoneFound, NoPrompts } from "./no-prompts";
import { PromptsList } from "./prompts-list";

const NewPrompt = lazy(async () => ({ default: (await import("./new-prompt")).NewPrompt }));

export default function PromptsPage() {
  const [params, change] = useUrl();
  if (params.get("new") === "1") {
    return (
      <Suspense fallback={<Page title="New prompt">{null}</Page>}>
        <NewPrompt onClose={() => change({ new: null })} />
      </Suspense>
    );
  }
  return <ListPage />;
}

function ListPage() {
  const { slug } = useProject();
  const may = useMay("member");
  const [params, change] = useUrl();
  const archived = params.get("archived") === "1";
  const listed = useQuery(allPromptsQuery(slug));
  const kept = useQuery({ ...archivedQuery(slug), enabled: archived });
  const query = archived ? kept : listed;
  const create = () => change({ new: "1", q: null }, true);
  useHotkey("n", "New prompt", create, { enabled: may });
  const some = query.data !== undefined && query.data.length > 0;
  return (
    <Page
      title="Prompts"
      aside={some && <span className="p-page-count">{query.data.length.toLocaleString("en-US")}</span>}
      actions={
        may &&
        some && (
          <Button variant="primary" icon={<Plus size={15} />} keys="n" onClick={create}>
            New prompt
          </Button>
        )
      }
    >
      {(archived || query.data?.length !== 0) && <Search prompts={query.data ?? []} archived={archived} />}
      <Loaded query={query} what="The prompts" skeleton={<Skeleton height={40} />}>
        {(prompts) => (archived && prompts.length === 0 ? <Empty icon={<Archive size={24} />} title="The archive is empty" /> : prompts.length === 0 ? <NoPrompts onCreate={may ? create : undefined} /> : <Found prompts={prompts} />)}
      </Loaded>
    </Page>
  );
}

/** Stands where it will be before the list is there, so that nothing moves. */
function Search({ prompts, archived }: { prompts: Prompt[]; archived: boolean }) {
  const { slug } = useProject();
  const [, go] = useLocation();
  const [params, change] = useUrl();
  const q = params.get("q") ?? "";
  const openFirst = () => {
    const first = q ? found(prompts, q)[0] : undefined;
    if (first) go(promptHref(slug, first.name));
  };
  return (
    <div className="list-bar">
      <SearchField label="Search prompts" placeholder="Name, words of the text, tag:support, label:production" value={q} onChange={(text) => change({ q: text })} onEnter={openFirst} />
      <Button variant="quiet" icon={<Archive size={15} />} aria-pressed={archived} onClick={() => change({ archived: archived ? null : "1" })}>
        {archived ? "In use" : "Archive"}
      </Button>
    </div>
  );
}

/** The rows that fit the search, or all of them in their folders. */
function Found({ prompts }: { prompts: Prompt[] }) {
  const { slug } = useProject();
  const [, go] = useLocation();
  const [params, change] = useUrl();
  const q = params.get("q") ?? "";
  const [closed, setClosed] = useRemembered<string[]>(`folders.${slug}`, []);
  const [cursor, setCursor] = useState<{ at: number; q: string } | null>(null);
  const active = cursor?.q === q ? cursor.at : null;
  const saying = useQuery({ ...sayingQuery(slug, q.trim()), placeholderData: keepPreviousData }).data;
  const rows = useMemo((): ListRow[] => {
    if (!q.trim()) return rowsOf(prompts, new Set(closed));
    const named = found(prompts, q);
    const said = prompts.filter((prompt) => saying?.includes(prompt.name) && !named.includes(prompt));
    return [...named, ...said].map((prompt) => ({ kind: "prompt", prompt, name: prompt.name, depth: 0 }));
  }, [prompts, q, closed, saying]);

  const fold = (path: string, open: boolean) => setClosed(open ? closed.filter((p) => p !== path) : [...closed, path]);
  const open = (row: ListRow) => (row.kind === "folder" ? fold(row.path, !row.open) : go(promptHref(slug, row.prompt.name)));
  const at = active === null ? undefined : rows[active];
  useHotkey("ArrowRight", "Open the folder", () => at?.kind === "folder" && fold(at.path, true), { enabled: at?.kind === "folder" });
  useHotkey("ArrowLeft", "Close the folder", () => at?.kind === "folder" && fold(at.path, false), { enabled: at?.kind === "folder" });

  if (rows.length === 0) return <NoneFound q={q} onClear={() => change({ q: null })} />;
  return <PromptsList rows={rows} active={active} onActive={(index) => setCursor({ at: index, q })} onOpen={open} />;
}
