/** Other prompts inside this one: `{{> name@label}}`, or Langfuse's tag. */

import { keepPreviousData, queryOptions, useQuery } from "@tanstack/react-query";

import { useProject } from "@/hooks/use-project";
import { api, inProject } from "@/lib/api/client";
import type { Message, Rendering } from "@/lib/api/types";

import { messagesIn, stable, type Content } from "./content";

const TAG = /\{\{>|@@@langfusePrompt:/;

export const hasParts = (content: Content): boolean => messagesIn(content).some((message) => TAG.test(message.content));

/** The text with what it contains; the server knows the other prompts, and what cannot be. */
const composedQuery = (project: string, name: string, content: Content) =>
  queryOptions({
    queryKey: ["project", project, "prompts", "composed", name, stable(content.prompt)],
    queryFn: () => api.post<Rendering>(inProject(project, "prompts", name, "render"), { type: content.type, prompt: content.prompt }),
    enabled: hasParts(content),
    retry: false,
    placeholderData: keepPreviousData,
    staleTime: 10_000,
  });

export interface Composed {
  messages: Message[];
  parts: Rendering["parts"];
  error: unknown;
}

/** The messages as they are sent, before variables are filled in; as written while the server has not said. */
export function useComposed(name: string, content: Content): Composed {
  const { slug } = useProject();
  const { data, error } = useQuery(composedQuery(slug, name, content));
  const written = messagesIn(content);
  if (!hasParts(content) || !data || error) return { messages: written, parts: [], error: hasParts(content) ? error : null };
  const messages = data.text === null ? ((data.messages ?? []) as unknown as Message[]) : [{ role: "user", content: data.text }];
  return { messages: messagesIn({ ...content, prompt: data.text ?? messages }), parts: data.parts, error: null };
}
