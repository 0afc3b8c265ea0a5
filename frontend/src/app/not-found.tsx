import { FileQuestion } from "lucide-react";
import { useLocation } from "wouter";

import { Button } from "@/components/button";
import { Page } from "@/components/page";
import { Empty } from "@/components/states";
import { useProject } from "@/hooks/use-project";

/** An address below a project at which there is no page. */
export default function NotFound() {
  const { slug } = useProject();
  const [, go] = useLocation();
  return (
    <Page title="No such page">
      <Empty icon={<FileQuestion size={24} />} title="There is no page at this address">
        <p>The link may be old, or it has a slip in it.</p>
        <Button onClick={() => go(`/p/${slug}/traces`)}>Go to the traces</Button>
      </Empty>
    </Page>
  );
}
