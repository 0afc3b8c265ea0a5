import { useQuery } from "@tanstack/react-query";

import { Skeleton } from "@/components/states";
import { useProject } from "@/hooks/use-project";

import { CommentThreads } from "./comments";
import type { PanelProps } from "./panels";
import { ReviewChanges } from "./review-changes";
import { Proposal } from "./review-proposal";
import { proposalQuery } from "./review-api";

/** What is proposed, what changed, and what people say of it. */
export default function ReviewPanel(props: PanelProps) {
  const { slug } = useProject();
  const proposal = useQuery(proposalQuery(slug, props.draft.id));
  return (
    <>
      {proposal.data === undefined ? <Skeleton rows={3} /> : <Proposal {...props} stand={proposal.data} />}
      <CommentThreads {...props} />
      <ReviewChanges {...props} />
    </>
  );
}
