import { useQuery } from "@tanstack/react-query";
import { MessageSquareText, Plus, SearchX } from "lucide-react";

import { Button } from "@/components/button";
import { Code } from "@/components/code";
import { Empty } from "@/components/states";
import { useProject } from "@/hooks/use-project";
import { modelsQuery } from "@/lib/api/queries";

import { codeFor } from "./code";

/** What a prompt is good for, and how code will name it. */
export function NoPrompts({ onCreate }: { onCreate?: () => void }) {
  const { slug } = useProject();
  const model = useQuery(modelsQuery(slug)).data?.[0]?.id ?? "MODEL";
  const call = { baseUrl: window.location.origin, model, prompt: "support/answer@production", variables: { question: "Where is my parcel?" } };
  return (
    <div className="page-body">
      <Empty icon={<MessageSquareText size={24} />} title="Keep prompts here, name them in code">
        <p className="p-balance">Each save is a version; a label such as “production” says which one your code gets. Changing a prompt needs no deployment.</p>
        {onCreate && (
          <Button variant="primary" icon={<Plus size={15} />} keys="n" onClick={onCreate}>
            New prompt
          </Button>
        )}
        <div className="p-empty-code">
          <p>Then call it through Hone:</p>
          <Code text={codeFor("python", call)} label="Copy the code" />
        </div>
      </Empty>
    </div>
  );
}

export function NoneFound({ q, onClear }: { q: string; onClear: () => void }) {
  return (
    <Empty icon={<SearchX size={24} />} title={`No prompt has “${q}” in its name, tags, labels or text`}>
      <Button onClick={onClear}>Clear the search</Button>
    </Empty>
  );
}
