import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useLocation } from "wouter";

import Confirm from "@/components/confirm";
import { useProject } from "@/hooks/use-project";
import { announce } from "@/lib/announce";
import { api, inProject, messageOf } from "@/lib/api/client";
import type { Trace } from "@/lib/api/types";

export default function DeleteTrace({ trace, onClose }: { trace: Trace; onClose: () => void }) {
  const { slug } = useProject();
  const queries = useQueryClient();
  const [, go] = useLocation();
  const remove = useMutation({
    mutationFn: () => api.delete(inProject(slug, "traces", trace.id)),
    onSuccess: () => {
      go(`/p/${slug}/traces`);
      queries.removeQueries({ queryKey: ["project", slug, "traces"] });
      announce("Trace deleted");
    },
    onError: (error) => announce(`Not deleted: ${messageOf(error)}`, "error"),
  });
  return <Confirm title="Delete this trace?" description="Its observations go with it. This cannot be undone." action="Delete trace" busy={remove.isPending} onConfirm={() => remove.mutate()} onClose={onClose} />;
}
