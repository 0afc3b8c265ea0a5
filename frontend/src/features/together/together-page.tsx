import "./together.css";

import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense } from "react";
import { useParams } from "wouter";

import { Page } from "@/components/page";
import { Loaded, Skeleton } from "@/components/states";
import { useProject } from "@/hooks/use-project";
import { useUrlValue } from "@/hooks/use-url";

import { mainDraftQuery } from "./api";
import { pathOf } from "./links";
import { draftQuery } from "./review-api";

const OpenDraft = lazy(() => import("./open-draft"));

export default function TogetherPage() {
  const { "*": name = "" } = useParams<{ "*": string }>();
  const [draft] = useUrlValue("draft");
  return <OneDraft key={`${name} ${draft}`} name={name} id={draft} />;
}

/** The draft of an id, else the one in which everybody meets. */
function OneDraft({ name, id }: { name: string; id: string | null }) {
  const { slug } = useProject();
  const main = useQuery({ ...mainDraftQuery(slug, name), enabled: id === null });
  const other = useQuery({ ...draftQuery(slug, id ?? ""), enabled: id !== null });
  const draft = id === null ? main : other;
  const waiting = (
    <Page title="Write together" path={pathOf(slug, name)}>
      {draft.data ? <Skeleton rows={6} /> : <Loaded query={draft} what="The draft">{() => null}</Loaded>}
    </Page>
  );
  if (!draft.data) return waiting;
  return (
    <Suspense fallback={waiting}>
      <OpenDraft name={name} draft={draft.data} />
    </Suspense>
  );
}
