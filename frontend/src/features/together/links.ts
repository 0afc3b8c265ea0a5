import { promptHref } from "@/lib/api/prompts";

/** The pages above a prompt's room. */
export const pathOf = (slug: string, name: string) => [
  { title: "Prompts", href: `/p/${slug}/prompts` },
  { title: name, href: promptHref(slug, name) },
];
