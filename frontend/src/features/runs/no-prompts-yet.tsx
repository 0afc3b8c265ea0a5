import { MessageSquareText } from "lucide-react";
import { useLocation } from "wouter";

import { Button } from "@/components/button";
import { Empty } from "@/components/states";
import { useProject } from "@/hooks/use-project";

export function NoPromptsYet() {
  const { slug } = useProject();
  const [, go] = useLocation();
  return (
    <Empty icon={<MessageSquareText size={24} />} title="A run needs a prompt">
      <p>There is none in this project yet.</p>
      <Button variant="primary" onClick={() => go(`/p/${slug}/prompts?new=1`)}>
        Write the first prompt
      </Button>
    </Empty>
  );
}
