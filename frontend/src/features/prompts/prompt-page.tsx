import "./prompts.css";
import "./workspace.css";

import { useQuery } from "@tanstack/react-query";
import { FileQuestion } from "lucide-react";
import { useLocation, useParams } from "wouter";

import { Button } from "@/components/button";
import { Page } from "@/components/page";
import { Empty, Loaded } from "@/components/states";
import { useProject } from "@/hooks/use-project";
import { ApiError } from "@/lib/api/client";
import { allVersionsQuery } from "@/lib/api/prompts";

import { promptQuery } from "./api";
import { keptDraft } from "./draft";
import { PromptActions } from "./prompt-actions";
import { PromptWorkspace } from "./prompt-workspace";

export default function PromptPage() {
  const { "*": name = "" } = useParams<{ "*": string }>();
  return <OnePrompt key={name} name={name} />;
}

function OnePrompt({ name }: { name: string }) {
  const { slug } = useProject();
  const prompt = useQuery(promptQuery(slug, name));
  const versions = useQuery(allVersionsQuery(slug, name));
  const missing = versions.error instanceof ApiError && versions.error.status === 404;
  const latest = versions.data?.[0];
  return (
    <Page
      title={name}
      path={[{ title: "Prompts", href: `/p/${slug}/prompts` }]}
      actions={latest && !missing && <PromptActions name={name} version={latest.version} prompt={prompt.data} />}
    >
      <Archived at={prompt.data?.archived_at} />
      {missing ? (
        <NoPrompt name={name} />
      ) : (
        <Loaded query={versions} what="The prompt">
          {(list) => <PromptWorkspace name={name} versions={list} />}
        </Loaded>
      )}
    </Page>
  );
}

function Archived({ at }: { at: string | null | undefined }) {
  if (!at) return null;
  return <p className="p-archived">Archived: code that names it still gets it; nothing is written to it until it is taken out of the archive.</p>;
}

function NoPrompt({ name }: { name: string }) {
  const { slug } = useProject();
  const [, go] = useLocation();
  return (
    <Empty icon={<FileQuestion size={24} />} title={`There is no prompt “${name}”`}>
      <p>It may have been deleted, or the address has a slip in it.{keptDraft(slug, name) && " Unsaved text for it is still kept in this browser."}</p>
      <div className="form-actions">
        <Button onClick={() => go(`/p/${slug}/prompts`)}>All prompts</Button>
        <Button onClick={() => go(`/p/${slug}/prompts?new=1&name=${encodeURIComponent(name)}`)}>Create it</Button>
      </div>
    </Empty>
  );
}
