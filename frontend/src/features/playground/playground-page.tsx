import "./playground.css";

import { Page } from "@/components/page";
import { Failure, Skeleton } from "@/components/states";

import { Playground } from "./playground";
import { useSource } from "./use-source";

/** A place to try: a prompt, a past call, or a blank sheet. */
export default function PlaygroundPage() {
  const source = useSource();
  if (source.draft) return <Playground key={source.key} sourceKey={source.key} initial={source.draft} />;
  return (
    <Page title="Playground">
      {source.error ? <Failure what="What was to be opened here could not be loaded" error={source.error} retry={source.retry} /> : <Skeleton rows={8} />}
    </Page>
  );
}
